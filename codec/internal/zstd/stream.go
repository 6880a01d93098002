package zstd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"varve/codec/internal/corrupt"
)

// A StreamSink receives the frames of a stream.
type StreamSink interface {
	// Frame receives the decoded bytes of a frame, and the number of bytes of the stream before it. The bytes are valid
	// during the call.
	Frame(b []byte, at int64) error
}

// maxStreamFrame is the largest frame of a stream, stored and decoded.
const maxStreamFrame = 128 << 20

// ScanFrames decodes the frames of a stream. It verifies their checksums, as Decode does. The memory is that of the
// largest frame.
func ScanFrames(r io.Reader, sink StreamSink) error {
	s := &scanner{r: r}
	for {
		at := s.at
		size, err := s.frame()
		switch {
		case err == io.EOF:
			if at == 0 {
				return corrupt.Errorf("zstd: the file is empty, must have at least one frame")
			}
			return nil
		case err != nil:
			return err
		case size < 0: // skippable
			continue
		}
		if cap(s.out) < size {
			s.out = make([]byte, size)
		}
		n, err := Decode(s.out[:size], s.buf)
		if err != nil {
			return fmt.Errorf("frame at offset %d: %w", at, err)
		}
		if err := sink.Frame(s.out[:n], at); err != nil {
			return err
		}
	}
}

// scanner reads one frame at a time.
type scanner struct {
	r   io.Reader
	at  int64  // offset of the byte after buf
	buf []byte // the frame
	out []byte
}

// frame reads a frame to s.buf, and returns its largest possible decoded size, or -1 for a skippable frame. The error at
// the end of the stream is io.EOF.
func (s *scanner) frame() (size int, err error) {
	begin := s.at
	s.buf = s.buf[:0]
	head, err := s.take(5)
	if err == io.EOF {
		return 0, err
	}
	if err != nil {
		return 0, s.failed(begin, err)
	}
	magic := binary.LittleEndian.Uint32(head)
	if magic&^15 == skipMagic {
		rest, err := s.take(3)
		if err != nil {
			return 0, s.failed(begin, err)
		}
		n := int64(binary.LittleEndian.Uint32(append(head[4:5:5], rest...)))
		done, err := io.CopyN(io.Discard, s.r, n)
		s.at += done
		return -1, s.failed(begin, err)
	}
	if magic != frameMagic {
		return 0, corrupt.Errorf("zstd: no frame at offset %d: magic %08x, must be %08x", begin, magic, uint32(frameMagic))
	}
	descriptor := head[4]
	isSingle := descriptor&0x20 != 0
	fields := []int{0, 1, 2, 4}[descriptor&3] // of the dictionary
	if !isSingle {
		fields++ // of the window
	}
	if descriptor>>6 > 0 {
		fields += 1 << (descriptor >> 6)
	} else if isSingle {
		fields++
	}
	if _, err := s.take(fields); err != nil {
		return 0, s.failed(begin, err)
	}
	for last := false; !last; {
		b, err := s.take(3)
		if err != nil {
			return 0, s.failed(begin, err)
		}
		h := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
		n, decoded := h>>3, h>>3
		last = h&1 != 0
		switch h >> 1 & 3 {
		case 1:
			n = 1
		case 2:
			decoded = maxBlock
		}
		// Decode returns a better error for blocks of more than maxBlock bytes.
		if size += min(decoded, maxBlock); size > maxStreamFrame || len(s.buf)+n > maxStreamFrame {
			return 0, fmt.Errorf("zstd: the frame at offset %d may have more than %d MiB, and decompression can start at frames only; "+
				"write smaller frames (pzstd, or zstd for parts of the file that are then concatenated), or unpack the file: %w", begin, maxStreamFrame>>20, errors.ErrUnsupported)
		}
		if _, err := s.take(n); err != nil {
			return 0, s.failed(begin, err)
		}
	}
	if descriptor&4 != 0 {
		if _, err := s.take(checksumBytes); err != nil {
			return 0, s.failed(begin, err)
		}
	}
	return size, nil
}

// take appends n bytes of the stream to s.buf, and returns them.
func (s *scanner) take(n int) ([]byte, error) {
	from := len(s.buf)
	for len(s.buf) < from+n {
		if len(s.buf) == cap(s.buf) {
			s.buf = append(s.buf, 0)[:len(s.buf)]
		}
		m, err := io.ReadFull(s.r, s.buf[len(s.buf):min(cap(s.buf), from+n)])
		s.at += int64(m)
		s.buf = s.buf[:len(s.buf)+m]
		if err == io.EOF && len(s.buf) > 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
	}
	return s.buf[from:], nil
}

// failed returns the error for a frame that cannot be read.
func (s *scanner) failed(begin int64, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return corrupt.Errorf("zstd: input ends at offset %d within the frame at offset %d", s.at, begin)
	}
	return err
}
