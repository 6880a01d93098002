package sz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/inflate"
)

// workspace is what decoding needs beside its output, kept for the next chunk.
type workspace struct {
	stream []byte
	tree   tree
	codes  []byte // of the types, in the stream
	types  []int32
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// decoders make no more output than the room they are given.
var decoders = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil,
		zstd.WithDecoderConcurrency(1),
		zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderMaxMemory(1<<32))
	if err != nil {
		panic(err) // the options are constants
	}
	return d
}}

// The library gives a stream at least so much room: with few elements the code's tree may
// take more than they do.
const (
	leastRoom  = 1_000_000
	headerRoom = 64
)

// unpack undoes the lossless stage, if there is one. A chunk takes size bytes decoded.
func (w *workspace) unpack(src []byte, size int) ([]byte, error) {
	if len(src) < 4 {
		return nil, corrupt.Errorf("sz: %d bytes are no stream", len(src))
	}
	room := max(size, leastRoom) + headerRoom
	switch {
	case binary.LittleEndian.Uint32(src) == 0xfd2fb528:
		var err error
		w.stream, err = unzstd(w.stream, src, room)
		return w.stream, err
	case src[0] == 0x78 && (uint(src[0])<<8|uint(src[1]))%31 == 0, src[0] == 0x68 && (uint(src[0])<<8|uint(src[1]))%31 == 0:
		w.stream = grow(w.stream, room)
		n, err := inflate.Zlib(w.stream, src)
		if err != nil {
			return nil, fmt.Errorf("sz: %w", err)
		}
		return w.stream[:n], nil
	}
	return src, nil
}

// unzstd decodes at most room bytes, into buf if they fit there.
func unzstd(buf, src []byte, room int) ([]byte, error) {
	var frame zstd.Header
	if err := frame.Decode(src); err != nil {
		return nil, corrupt.Errorf("sz: zstd: %w", err)
	}
	if frame.HasFCS {
		room = int(min(uint64(room), frame.FrameContentSize))
	}
	buf = grow(buf, room)
	d := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(d)
	out, err := d.DecodeAll(src, buf[:0:room])
	if err != nil {
		return nil, corrupt.Errorf("sz: zstd: %w", err)
	}
	return out, nil
}

// grow returns a slice of n elements, in the room of s if there is enough. They hold anything.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// A stream's flags.
const (
	constant = 0x01
	clamped  = 0x04
	factors  = 0x08
	verbatim = 0x10
	relative = 0x20
	size64   = 0x40
	blocked  = 0x80
)

// Parameters' offsets, and the solutions that they name.
const (
	atMode     = 0
	atSolution = 14
	atRange    = 20

	pastri     = 103
	transposed = 104
)

// header is what stands before a stream's body.
type header struct {
	flags          byte
	sizeBytes      int    // of a size
	exactBytes     int    // of an integer that is stored
	valueRange     []byte // the least and the greatest value
	bodyOfVerbatim int    // offset of the body of a stream that is verbatim
}

// header reads a stream's start and returns it with the body.
func (c *Chunk) header(stream []byte) (header, []byte, error) {
	const fixed = 4
	parameters := 28
	if c.kind == float64s {
		parameters = 36
	}
	if len(stream) < fixed+parameters {
		return header{}, nil, corrupt.Errorf("sz: stream of %d bytes, its header alone takes %d", len(stream), fixed+parameters)
	}
	if err := checkVersion(stream); err != nil {
		return header{}, nil, err
	}
	p := stream[fixed : fixed+parameters]
	h := header{flags: stream[3], sizeBytes: 4, valueRange: p[atRange:]}
	if err := checkSolution(p); err != nil {
		return header{}, nil, err
	}
	if h.flags&size64 != 0 {
		h.sizeBytes = 8
	}
	h.bodyOfVerbatim = fixed + parameters + h.sizeBytes
	r := cursor{buf: stream, at: fixed + parameters}
	if c.kind > float64s && h.flags&(constant|verbatim) == 0 {
		h.exactBytes = int(r.u8())
	}
	if n := r.size(h.sizeBytes); n < c.count && r.err == nil {
		return header{}, nil, corrupt.Errorf("sz: stream of %d elements, the chunk has %d", n, c.count)
	}
	if r.err != nil {
		return header{}, nil, r.err
	}
	if len(stream) < h.bodyOfVerbatim {
		return header{}, nil, corrupt.Errorf("sz: stream of %d bytes ends in its header", len(stream))
	}
	return h, stream[r.at:], nil
}

// checkVersion accepts what the library does: anything since 2.1.8.
func checkVersion(stream []byte) error {
	major, minor, build := int(stream[0]), int(stream[1]), int(stream[2])
	if major == 0 || major > 3 {
		return corrupt.Errorf("sz: version %d.%d.%d at offset 0, and neither zstd nor zlib", major, minor, build)
	}
	if major*10000+minor*100+build < 20108 {
		return fmt.Errorf("sz: stream of version %d.%d.%d, older than 2.1.8: %w", major, minor, build, errors.ErrUnsupported)
	}
	return nil
}

func checkSolution(parameters []byte) error {
	switch parameters[atSolution] {
	case pastri:
		return fmt.Errorf("sz: Pastri: %w", errors.ErrUnsupported)
	case transposed:
		return fmt.Errorf("sz: transposed chunks: %w", errors.ErrUnsupported)
	}
	if parameters[atMode]>>2&3 == 3 {
		return fmt.Errorf("sz: prediction from earlier time steps: %w", errors.ErrUnsupported)
	}
	return nil
}

// cursor reads a stream's fields. After the first that is not there it reads zeros.
type cursor struct {
	buf []byte
	at  int
	err error
}

// bytes returns the next n bytes, or nothing if they are not there.
func (c *cursor) bytes(n int, what string) []byte {
	if n < 0 || n > len(c.buf)-c.at {
		if c.err == nil {
			c.err = corrupt.Errorf("sz: %s of %d bytes at offset %d, %d are left", what, n, c.at, len(c.buf)-c.at)
		}
		return nil
	}
	b := c.buf[c.at : c.at+n : c.at+n]
	c.at += n
	return b
}

func (c *cursor) u8() byte {
	if b := c.bytes(1, "field"); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4, "field"); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.bytes(8, "field"); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// size reads a size of 4 or 8 bytes; one that no chunk can have becomes the greatest int32.
func (c *cursor) size(n int) int {
	if n == 4 {
		return int(int32(min(c.u32(), math.MaxInt32)))
	}
	return int(min(c.u64(), MaxElements*8))
}
