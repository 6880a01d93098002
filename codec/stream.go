package codec

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/inflate"
	"varve/codec/internal/zstd"
	"varve/grid"
)

// Stream is a kind of compressed stream: a whole file, which may be larger than memory, and not a chunk.
type Stream string

// The kinds of streams.
const (
	GzipStream    Stream = "gzip"    // all members of a gzip file
	DeflateStream Stream = "deflate" // without a header, as in zip files
	ZstdStream    Stream = "zstd"    // all frames of a zstd file
)

// streamCodec returns the codec whose access points a stream has.
func (s Stream) codec() string {
	if s == DeflateStream {
		return "zlib" // after the header of a zlib stream, the two are the same
	}
	return string(s)
}

// StreamPoints are the access points of a stream.
type StreamPoints struct {
	AccessPoints
	// Windows has the window of each point, or nil.
	Windows [][]byte
}

// Limits of the access points of a stream. After each pointsPerStep points, or windowsPerStep bytes of windows, the distance
// of points doubles. So their memory grows with the logarithm of the size of a large file.
const (
	pointsPerStep  = 1 << 10
	windowsPerStep = 16 << 20
	maxSteps       = 10
	maxStream      = 1 << 40 // 1 TiB
)

// ScanStream decodes a stream from r, and returns its access points. It verifies all checksums of the stream, and passes the decoded
// bytes to write, which may be nil.
//
// The memory does not depend on the size of the stream, but on its largest block of deflate (at most 64 MiB) or frame of zstd (at most
// 128 MiB), stored and decoded.
//
// The last access point of a deflate stream is its end, so other bytes must follow it in its file, as in a zip file.
func ScanStream(s Stream, r io.Reader, write func(b []byte) error) (*StreamPoints, error) {
	sink := &streamSink{write: write}
	found := &StreamPoints{AccessPoints: AccessPoints{Codecs: s.codec()}}
	var points []inflate.StreamPoint
	var stored int64 // bytes of a deflate stream
	var err error
	switch s {
	case GzipStream:
		points, err = inflate.ScanGzip(r, sink)
	case DeflateStream:
		points, stored, err = inflate.ScanDeflate(r, sink)
	case ZstdStream:
		err = zstd.ScanFrames(r, sink)
		points = sink.frames
	default:
		err = fmt.Errorf("stream %q: %w", s, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	sink.cut()
	if len(points) == 0 { // a zstd file with skippable frames only
		points = []inflate.StreamPoint{{}}
	}
	found.Size, found.Sums = sink.size, sink.sums
	for _, p := range points {
		found.Points = append(found.Points, AccessPoint{p.Out, p.Bit, p.Window != nil})
		found.Windows = append(found.Windows, p.Window)
	}
	if s == DeflateStream {
		// An empty span says where the bytes of the last one end. Other streams end with their file.
		found.Points = append(found.Points, AccessPoint{Out: found.Size, Bit: 8 * stored})
		found.Windows = append(found.Windows, nil)
	}
	return found, nil
}

// streamSink receives the decoded bytes of a stream, and computes checksums.
type streamSink struct {
	write   func([]byte) error
	size    int64
	sums    []uint32
	sum     uint32
	block   int // bytes in sum
	windows int64
	frames  []inflate.StreamPoint // of a zstd stream
}

// Begin implements inflate.StreamSink.
func (s *streamSink) Begin(points []inflate.StreamPoint) int {
	s.cut()
	if len(points) > 1 {
		s.windows += int64(len(points[len(points)-2].Window))
	}
	return s.every(len(points))
}

// every returns the distance of the next points.
func (s *streamSink) every(points int) int {
	return DefaultSpan << min(max(int64(points/pointsPerStep), s.windows/windowsPerStep), maxSteps)
}

// Frame implements zstd.StreamSink.
func (s *streamSink) Frame(b []byte, at int64) error {
	n := len(s.frames)
	if n == 0 || len(b) > 0 && s.size > s.frames[n-1].Out && s.size+int64(len(b))-s.frames[n-1].Out > int64(s.every(n)) {
		s.frames = append(s.frames, inflate.StreamPoint{Out: s.size, Bit: 8 * at})
		s.cut()
	}
	return s.Write(b)
}

// Write implements inflate.StreamSink.
func (s *streamSink) Write(b []byte) error {
	if s.size += int64(len(b)); s.size > maxStream {
		return fmt.Errorf("the file has more than %d TiB decompressed: %w", int64(maxStream)>>40, errors.ErrUnsupported)
	}
	for rest := b; len(rest) > 0; {
		n := min(len(rest), SumBlock-s.block)
		s.sum = crc32.Update(s.sum, castagnoli, rest[:n])
		if s.block += n; s.block == SumBlock {
			s.cut()
		}
		rest = rest[n:]
	}
	if s.write == nil {
		return nil
	}
	return s.write(b)
}

// cut ends a block with a checksum.
func (s *streamSink) cut() {
	if s.block > 0 {
		s.sums = append(s.sums, s.sum)
	}
	s.sum, s.block = 0, 0
}

// Cut returns the access points of a part of the decoded bytes, from spans that contain it, and the position of the part in
// their bytes. So a member of a tar file can be read without the others.
func (p *StreamPoints) Cut(from, to int64) (part *StreamPoints, skip int64) {
	first, last := 0, len(p.Points)
	for i := range p.Points {
		if p.Points[i].Out <= from {
			first = i
		}
		if p.Points[i].Out >= to && last == len(p.Points) && i > first {
			last = i
		}
	}
	part = &StreamPoints{AccessPoints: AccessPoints{Codecs: p.Codecs, Points: slices.Clone(p.Points[first:last])}, Windows: p.Windows[first:last:last]}
	sums := int64(0)
	for i := range first {
		sums += blocks(p.end(i) - p.Points[i].Out)
	}
	end, begin := p.Size, p.Points[first].Out
	if last < len(p.Points) {
		end = p.Points[last].Out
		part.Points = append(part.Points, AccessPoint{Out: end, Bit: p.Points[last].Bit})
		part.Windows = append(part.Windows, nil)
	}
	part.Size = end - begin
	for i := range part.Points {
		part.Points[i].Out -= begin
		if i < last-first {
			n := blocks(p.end(first+i) - p.Points[first+i].Out)
			part.Sums = append(part.Sums, p.Sums[sums:sums+n]...)
			sums += n
		}
	}
	return part, from - begin
}

// Moved returns the access points of a stream that begins at an offset of a file.
func (p *StreamPoints) Moved(offset int64) *StreamPoints {
	moved := *p
	moved.Points = slices.Clone(p.Points)
	for i := range moved.Points {
		moved.Points[i].Bit += 8 * offset
	}
	return &moved
}

// StreamReader reads decoded bytes of a stream from access points. Any number of goroutines may use it.
type StreamReader struct {
	pipe   *Pipeline
	points *AccessPoints
	stored int64
}

// NewStreamReader returns a reader of a stream in a file of stored bytes. It returns an ErrCorrupt if the access points do not
// fit the file.
func NewStreamReader(points *AccessPoints, stored int64) (*StreamReader, error) {
	name := points.Codecs
	if name == "zlib" {
		name = "numcodecs.zlib"
	}
	if !slices.Contains([]string{"gzip", "numcodecs.zlib", "zstd"}, name) {
		return nil, corrupt.Errorf("access points of a file: codecs are %.80q, must be gzip, zlib or zstd", points.Codecs)
	}
	if err := points.Check(stored); err != nil {
		return nil, err
	}
	pipe, err := New([]Spec{{Name: "bytes"}, {Name: name}}, Form{Type: Type{Kind: Uint, Size: 1}, Shape: []int64{points.Size}})
	if err != nil {
		return nil, err
	}
	return &StreamReader{pipe, points, stored}, nil
}

// keptSpan is the largest part of a span that every read of a stream keeps.
const keptSpan = 4 << 20

// Plan plans to decode bytes from an offset on; see SpanReader. cache, which may be nil, gets all spans that are not large: small
// reads of a file often follow one another.
func (r *StreamReader) Plan(off, n int64, cache SpanCache) (*SpanReader, error) {
	spans, err := r.pipe.NewSpanReader(r.points, r.stored, grid.Region{Origin: []int64{off}, Shape: []int64{n}}, cache)
	if err == nil {
		spans.keepBelow = keptSpan
	}
	return spans, err
}
