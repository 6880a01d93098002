package codec

import (
	"errors"
	"fmt"
	"strings"

	"varve/codec/internal/corrupt"
)

// AccessPoints describe the places of one stored chunk at which decompression can start. So a part of the chunk can be
// read without the bytes before it:
//
//	stored   ├──────────┼─────────────┼───────┤   the compressor's bytes
//	         point 0    point 1       point 2
//	decoded  ├──────────────┼──────────────┼──────────────┤
//	         span 0         span 1         span 2
//	sums     ├────┼────┼────┼────┼────┼────┼────┼────┼────┤   of 64 KiB each, the last of a span is shorter
//
// A compressor may need decoded bytes before a point, the point's window.
type AccessPoints struct {
	// Codecs identifies the decoding of the stored bytes up to the compressor's output.
	Codecs string
	// Size is the number of bytes of the compressor's output.
	Size int64
	// Points are in order. The first one is at the start.
	Points []AccessPoint
	// Sums are the CRC-32C of the decoded bytes, in blocks of SumBlock bytes from each point on.
	Sums []uint32
}

// AccessPoint is a place at which decompression can start.
type AccessPoint struct {
	Out       int64 // number of decoded bytes before it
	Bit       int64 // number of bits of the compressor's bytes before it
	HasWindow bool
}

const (
	// SumBlock is the number of decoded bytes that a checksum covers. A read decodes up to the end of such a block, so
	// that it can verify every byte that it returns.
	SumBlock = 64 << 10
	// MinSpan is the smallest distance of access points.
	MinSpan = 64 << 10
	// DefaultSpan is the default distance of access points.
	DefaultSpan = 1 << 20
	// leastSpans is the number of spans from which random access into a chunk is faster than decoding all of it. A
	// shuffled chunk of 4-byte elements needs a span for each byte of an element.
	leastSpans = 4
)

// LeastIndexed returns the smallest number of bytes of the elements of a chunk that gets access points, for a distance
// of them.
func LeastIndexed(every int64) int64 { return leastSpans * every }

// spanCodec is a BytesToBytes whose decoding can start at access points.
type spanCodec interface {
	BytesToBytes
	// findPoints decodes as Decode does. It returns points that are at least every bytes apart, and the window of each.
	findPoints(dst, src []byte, every int) (n int, points []AccessPoint, windows [][]byte, err error)
	// hasFewPoints reports whether most chunks have one access point only.
	hasFewPoints() bool
	// spanRoom returns the size of the buffer that decodeSpan needs for size bytes.
	spanRoom(size int) int
	// decodeSpan decodes size bytes from a point on, as a part of room. src begins with the byte that contains the point,
	// and bit is the position of the point in it.
	decodeSpan(room []byte, size int, window, src []byte, bit int) ([]byte, error)
}

// surrounder is a trimmer with a fixed number of bytes before and after the bytes that it returns.
type surrounder interface {
	trimmer
	surrounds() (before, after int64)
}

// compressor returns the index among the bytes-to-bytes codecs of the compressor at whose access points decoding
// starts. Its error wraps errors.ErrUnsupported, and names the codec that prevents random access.
//
// The other codecs must map ranges of bytes to ranges of bytes:
//
//	bytes ─ checksums, shuffle … ─ compressor ─ checksums … ─ stored bytes
func (p *Pipeline) compressor() (at int, err error) {
	if _, ok := p.toBytes.(*bytesCodec); !ok {
		return 0, p.noSpans(len(p.arrayCodecs))
	}
	for i, c := range p.arrayCodecs {
		if _, ok := c.(regionMapper); !ok {
			return 0, p.noSpans(i)
		}
	}
	at = -1
	for i := len(p.bytesCodecs) - 1; i >= 0; i-- {
		_, surrounds := p.bytesCodecs[i].(surrounder)
		_, shuffles := p.bytesCodecs[i].(*shuffleCodec)
		_, starts := p.bytesCodecs[i].(spanCodec)
		switch {
		case surrounds, shuffles && at >= 0:
		case shuffles && i == 0: // the error below says that there is no compressor
		case starts && at < 0:
			at = i
		default:
			return 0, p.noSpans(len(p.arrayCodecs) + 1 + i)
		}
	}
	if at < 0 {
		return 0, fmt.Errorf("codecs [%s]: there is no compressor with access points: %w", p.names(), errors.ErrUnsupported)
	}
	return at, nil
}

func (p *Pipeline) noSpans(i int) error {
	return fmt.Errorf("codec %q: its chunks have no access points: %w", p.specs[i].Name, errors.ErrUnsupported)
}

// CheckPoints returns nil if chunks of the pipeline can have access points. Otherwise the error names the codec that
// prevents it, and wraps errors.ErrUnsupported.
func (p *Pipeline) CheckPoints() error {
	_, err := p.compressor()
	return err
}

// HasFewPoints reports whether most writers make chunks with one access point, at the start. CheckPoints returned nil.
func (p *Pipeline) HasFewPoints() bool {
	at, err := p.compressor()
	return err == nil && p.bytesCodecs[at].(spanCodec).hasFewPoints()
}

// EstimatePoint returns about how many bytes are decompressed for one element, if access points are every bytes apart.
// CheckPoints returned nil.
func (p *Pipeline) EstimatePoint(every int64) int64 {
	at, err := p.compressor()
	if err != nil {
		return int64(p.Form().Bytes())
	}
	spans := int64(1)
	for _, c := range p.bytesCodecs[:at] {
		if s, ok := c.(*shuffleCodec); ok {
			spans *= int64(s.size) // the bytes of an element are in different places
		}
	}
	return min(spans*(every/2+SumBlock), int64(p.sizes[at]))
}

// pointsKey identifies the decoding of stored bytes up to the output of the compressor.
func (p *Pipeline) pointsKey(compressor int) string {
	keys := make([]string, 0, len(p.bytesCodecs)-compressor)
	for _, c := range p.bytesCodecs[compressor:] {
		keys = append(keys, c.DecodeKey())
	}
	return strings.Join(keys, "|")
}

// FindPoints decodes a stored chunk and returns access points that are about every bytes apart, and the window of
// each. It verifies all checksums of the chunk, which reading a span cannot do.
func (p *Pipeline) FindPoints(stored []byte, every int64) (*AccessPoints, [][]byte, error) {
	at, err := p.compressor()
	if err != nil {
		return nil, nil, err
	}
	if every < MinSpan || every > maxChunk {
		return nil, nil, fmt.Errorf("access points %d bytes apart: must be %d to %d", every, MinSpan, int64(maxChunk))
	}
	if err := p.Form().CheckSize(); err != nil {
		return nil, nil, err
	}
	a := getArena()
	defer a.release()
	src := stored
	for i := len(p.bytesCodecs) - 1; i > at; i-- {
		if src, err = p.decodeStage(a, i, nil, src); err != nil {
			return nil, nil, p.stageError(len(p.arrayCodecs)+1+i, err)
		}
	}
	out := a.bytes(p.sizes[at])
	n, points, windows, err := p.bytesCodecs[at].(spanCodec).findPoints(out, src, int(every))
	if err == nil && n != len(out) {
		err = &LengthError{Have: n, Need: len(out), form: p.innermost()}
	}
	if err != nil {
		return nil, nil, p.stageError(len(p.arrayCodecs)+1+at, err)
	}
	if err := p.verifyInner(a, at, out); err != nil {
		return nil, nil, err
	}
	found := &AccessPoints{Codecs: p.pointsKey(at), Size: int64(n), Points: points}
	for i := range points {
		for rest := out[points[i].Out:found.end(i)]; len(rest) > 0; {
			block := rest[:min(len(rest), SumBlock)]
			found.Sums = append(found.Sums, sumCRC32C(block))
			rest = rest[len(block):]
		}
	}
	return found, windows, nil
}

// verifyInner verifies the checksums that were compressed with the elements.
func (p *Pipeline) verifyInner(a *arena, compressor int, b []byte) (err error) {
	last := compressor // the innermost checksum
	for i := compressor - 1; i >= 0; i-- {
		if _, ok := p.bytesCodecs[i].(trimmer); ok {
			last = i
		}
	}
	for i := compressor - 1; i >= last; i-- {
		if b, err = p.decodeStage(a, i, nil, b); err != nil {
			return p.stageError(len(p.arrayCodecs)+1+i, err)
		}
	}
	return nil
}

// end returns the end of span i in the decoded bytes.
func (ap *AccessPoints) end(i int) int64 {
	if i+1 < len(ap.Points) {
		return ap.Points[i+1].Out
	}
	return ap.Size
}

// blocks returns the number of blocks with a checksum in size bytes.
func blocks(size int64) int64 { return (size + SumBlock - 1) / SumBlock }

// Check returns an ErrCorrupt unless the points are in order and within a stored chunk, and there is a checksum for all
// bytes.
func (ap *AccessPoints) Check(stored int64) error {
	if len(ap.Points) == 0 || ap.Points[0].Out != 0 || ap.Size < 0 {
		return corrupt.Errorf("access points: %d points of %d bytes, and the first must be at byte 0", len(ap.Points), ap.Size)
	}
	sums := int64(0)
	for i, pt := range ap.Points {
		if pt.Bit < 0 || pt.Bit/8 >= stored {
			return corrupt.Errorf("access point %d is at bit %d, but the stored chunk has %d bytes", i, pt.Bit, stored)
		}
		if pt.Out > ap.end(i) || ap.end(i) > ap.Size || i > 0 && pt.Bit <= ap.Points[i-1].Bit {
			return corrupt.Errorf("access point %d is at byte %d and bit %d, but the next is at byte %d of %d", i, pt.Out, pt.Bit, ap.end(i), ap.Size)
		}
		sums += blocks(ap.end(i) - pt.Out)
	}
	if sums != int64(len(ap.Sums)) {
		return corrupt.Errorf("access points: %d checksums, the spans need %d", len(ap.Sums), sums)
	}
	return nil
}
