package inflate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// A StreamPoint is an access point of a stream that may be larger than memory.
type StreamPoint struct {
	Out    int64  // number of decoded bytes before it
	Bit    int64  // number of bits of the stream before it, with headers
	Window []byte // as in access.Point
}

// A StreamSink receives the decoded bytes of a stream.
type StreamSink interface {
	// Begin is called where a point is: a span begins with the bytes of the next Write. It returns the decoded bytes from
	// this point to the next one; see access.Splitter.
	Begin(points []StreamPoint) (every int)
	// Write receives bytes. They are valid during the call.
	Write(b []byte) error
}

// Limits of the memory of a stream.
const (
	streamIn       = 1 << 20   // bytes of the stream that are read at once
	streamOut      = 2 << 20   // decoded bytes, with the window
	streamLow      = 128 << 10 // less input than this is filled up before a block or a header
	maxStreamBlock = 64 << 20  // largest block, in the stream and decoded
)

// ScanGzip decodes all members of a gzip file from r, and returns its access points. It verifies all checksums, as Gzip
// does. The memory does not depend on the size of the file.
func ScanGzip(r io.Reader, sink StreamSink) ([]StreamPoint, error) {
	s := newStream(r, sink)
	defer s.release()
	for {
		if err := s.member(); err != nil {
			return nil, err
		}
		if isEnd, err := s.skipZeros(); err != nil || isEnd {
			return s.points, err
		}
	}
}

// ScanDeflate decodes a DEFLATE stream without a header, and returns its access points and its length. r may have more
// bytes.
func ScanDeflate(r io.Reader, sink StreamSink) (points []StreamPoint, length int64, err error) {
	s := newStream(r, sink)
	defer s.release()
	if err := s.blocks(); err != nil {
		return nil, 0, err
	}
	return s.points, s.base + int64(s.d.aligned()), nil
}

// streamScan is the state of a scan. The decoder's buffers are parts of the stream:
//
//	stream    ──┬──────── src ────────┬──   base bytes are before src
//	decoded   ──┬─ window ─┬── new ───┬──   outBase bytes are before dst
//
// A block that does not fit in the buffers is decoded again after they were filled up or moved.
type streamScan struct {
	r       io.Reader
	sink    StreamSink
	isEOF   bool
	d       *decoder
	base    int64
	outBase int64

	splitter access.Splitter
	points   []StreamPoint
	used     *access.Used
	pending  bool // the last point waits for its window: bytes after it are not decoded yet

	crc  uint32 // of the member
	size uint32 // of the member, modulo 2^32
}

func newStream(r io.Reader, sink StreamSink) *streamScan {
	d := decoders.Get().(*decoder)
	d.src, d.dst, d.isPart = make([]byte, 0, streamIn), make([]byte, streamOut), true
	d.cursor = cursor{}
	return &streamScan{r: r, sink: sink, d: d, used: access.NewUsed(WindowSize)}
}

func (s *streamScan) release() {
	s.d.dst, s.d.src, s.d.isPart = nil, nil, false
	decoders.Put(s.d)
}

// bit returns the position of a cursor in the stream.
func (s *streamScan) bit(c cursor) int64 { return 8*(s.base+int64(c.ip)) - int64(c.n) }

// member decodes a member of a gzip file.
func (s *streamScan) member() error {
	d := s.d
	if err := s.need(streamLow); err != nil {
		return err
	}
	at, err := gzipBody(d.src, d.ip)
	if err != nil {
		return s.located(err)
	}
	// The window of a member is empty: matches must not reach the member before.
	s.outBase += int64(d.op)
	d.cursor = cursor{ip: at}
	s.crc, s.size = 0, 0
	if err := s.blocks(); err != nil {
		return err
	}
	d.cursor = cursor{op: d.op, ip: d.aligned()}
	if err := s.need(gzipTrailer); err != nil {
		return err
	}
	if len(d.src)-d.ip < gzipTrailer {
		return s.located(corrupt.Errorf("gzip: input ends at offset %d within the trailer", len(d.src)))
	}
	want, size := binary.LittleEndian.Uint32(d.src[d.ip:]), binary.LittleEndian.Uint32(d.src[d.ip+4:])
	if s.crc != want {
		return corrupt.Errorf("gzip: CRC-32 is %08x at offset %d, but the decoded bytes have %08x", want, s.base+int64(d.ip), s.crc)
	}
	if s.size != size {
		return corrupt.Errorf("gzip: ISIZE is %d at offset %d, but the member has %d bytes modulo 2^32", size, s.base+int64(d.ip)+4, s.size)
	}
	d.ip += gzipTrailer
	return nil
}

// skipZeros skips zero bytes after a member, and reports whether the stream ends there.
func (s *streamScan) skipZeros() (isEnd bool, err error) {
	d := s.d
	for {
		if d.ip = skipZeros(d.src, d.ip); d.ip < len(d.src) {
			return false, nil
		}
		if s.isEOF {
			return true, nil
		}
		if err := s.more(); err != nil {
			return false, err
		}
	}
}

// blocks decodes the blocks of a member.
func (s *streamScan) blocks() error {
	for final := false; !final; {
		var err error
		if final, err = s.block(); err != nil {
			return err
		}
	}
	return nil
}

// block decodes one block, and reports whether it is the last of the member.
func (s *streamScan) block() (final bool, err error) {
	d := s.d
	if err := s.need(streamLow); err != nil {
		return false, err
	}
	if len(d.dst)-d.op < streamOut/4 {
		s.slide(d.op)
	}
	for {
		begun := d.cursor
		final, err = d.block()
		if err == nil {
			return final, s.took(begun, final)
		}
		isShort := !s.isEOF && (isTruncated(err) || len(d.src)-d.ip < 16)
		isFull := errors.Is(err, errFull)
		if !isFull && !isShort {
			return false, s.located(err)
		}
		d.cursor = begun
		switch {
		case !isFull:
			err = s.more()
		case !s.slide(d.op):
			err = s.grow()
		default:
			err = nil
		}
		if err != nil {
			return false, err
		}
	}
}

// took passes on the bytes of a block.
func (s *streamScan) took(begun cursor, final bool) error {
	d := s.d
	out := s.outBase + int64(begun.op)
	if s.splitter.Splits(int(out), d.op-begun.op) {
		if s.pending {
			if err := s.addWindow(); err != nil {
				return err
			}
		}
		s.points = append(s.points, StreamPoint{Out: out, Bit: s.bit(begun)})
		s.splitter.Every = max(s.sink.Begin(s.points), WindowSize)
		s.pending = begun.op > 0
	}
	b := d.dst[begun.op:d.op]
	s.crc, s.size = crc32.Update(s.crc, crc32.IEEETable, b), s.size+uint32(len(b))
	if err := s.sink.Write(b); err != nil {
		return err
	}
	if s.pending && (final || s.outBase+int64(d.op) >= s.points[len(s.points)-1].Out+WindowSize) {
		return s.addWindow()
	}
	return nil
}

// addWindow sets the window of the last point.
func (s *streamScan) addWindow() error {
	d, p := s.d, &s.points[len(s.points)-1]
	here := d.cursor
	s.used.Reset()
	d.seek(int(p.Bit - 8*s.base))
	err := d.trace(s.used)
	d.cursor = here
	if err != nil {
		return s.located(err)
	}
	p.Window = s.used.AppendWindow(nil, d.dst[:p.Out-s.outBase])
	s.pending = false
	return nil
}

// slide removes decoded bytes that are no longer needed from the start of dst. It reports whether there are any.
func (s *streamScan) slide(op int) bool {
	d := s.d
	from := op
	if s.pending {
		from = int(s.points[len(s.points)-1].Out - s.outBase)
	}
	if from -= WindowSize; from <= 0 {
		return false
	}
	copy(d.dst, d.dst[from:op])
	d.op -= from
	s.outBase += int64(from)
	return true
}

// grow doubles dst.
func (s *streamScan) grow() error {
	if len(s.d.dst) >= maxStreamBlock {
		return s.tooLarge()
	}
	s.d.dst = append(s.d.dst, make([]byte, len(s.d.dst))...)
	return nil
}

func (s *streamScan) tooLarge() error {
	return fmt.Errorf("deflate: the block at offset %d has more than %d MiB; compress the file again, or unpack it: %w",
		s.bit(s.d.cursor)/8, maxStreamBlock>>20, errors.ErrUnsupported)
}

// need makes sure that src has n bytes from the cursor on, unless the stream ends before.
func (s *streamScan) need(n int) error {
	for len(s.d.src)-s.d.ip < n && !s.isEOF {
		if err := s.more(); err != nil {
			return err
		}
	}
	return nil
}

// more reads more of the stream. It drops bytes before the cursor, and before a point that waits for its window.
func (s *streamScan) more() error {
	d := s.d
	from := s.bit(d.cursor)/8 - s.base
	if s.pending {
		from = min(from, s.points[len(s.points)-1].Bit/8-s.base)
	}
	n := copy(d.src[:cap(d.src)], d.src[from:])
	d.src, d.ip, s.base = d.src[:n], d.ip-int(from), s.base+from
	if n > cap(d.src)*3/4 {
		if cap(d.src) >= 2*maxStreamBlock {
			return s.tooLarge()
		}
		d.src = append(make([]byte, 0, 2*cap(d.src)), d.src...)
	}
	n, err := io.ReadFull(s.r, d.src[len(d.src):cap(d.src)])
	d.src = d.src[:len(d.src)+n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		s.isEOF, err = true, nil
	}
	return err
}

// located adds the position in the stream to an error whose offsets count from the start of src.
func (s *streamScan) located(err error) error {
	if s.base == 0 {
		return err
	}
	return fmt.Errorf("offsets count from byte %d: %w", s.base, err)
}
