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

// workspace is reusable memory for decoding.
type workspace struct {
	stream []byte
	tree   tree
	codes  []byte // codes of the types, a part of the stream
	types  []int32
}

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// decoders are zstd decoders that write no more than the capacity of the output.
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

// libSZ allocates at least this many bytes for a stream. With few elements, the Huffman tree may be larger
// than the elements.
const (
	leastRoom  = 1_000_000
	headerRoom = 64
)

// unpack decompresses the stream in a chunk if it is compressed with zstd or zlib. size is the decoded
// size of the chunk.
func (w *workspace) unpack(src []byte, size int) ([]byte, error) {
	if len(src) < 4 {
		return nil, corrupt.Errorf("sz: the chunk has %d bytes, must have at least 4", len(src))
	}
	// A stream is never larger than the elements, so this bounds memory on hostile input.
	room := max(size, leastRoom) + headerRoom
	switch {
	case binary.LittleEndian.Uint32(src) == 0xfd2fb528:
		var err error
		w.stream, err = unzstd(w.stream, src, room)
		return w.stream, err
	// The first byte of an uncompressed stream is the version, which is at most 3.
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

// unzstd decompresses src to at most room bytes, in buf if its capacity suffices.
func unzstd(buf, src []byte, room int) ([]byte, error) {
	var frame zstd.Header
	if err := frame.Decode(src); err != nil {
		return nil, corrupt.Errorf("sz: zstd: %w", err)
	}
	if frame.HasFCS { // a known size saves memory
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

// grow returns a slice of n elements of arbitrary content, in the memory of s if its capacity suffices.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Flags of a stream.
const (
	flagConstant = 0x01
	flagClamp    = 0x04
	flagFactors  = 0x08
	flagStored   = 0x10
	flagRelative = 0x20
	flagSize64   = 0x40
	flagBlocks   = 0x80
)

// Offsets in the parameters, and values of the solution.
const (
	atMode     = 0
	atSolution = 14
	atRange    = 20

	solutionPastri    = 103
	solutionTranspose = 104
)

// header holds the fields before a stream's body.
type header struct {
	flags      byte
	sizeBytes  int    // bytes per size
	exactBytes int    // bytes per stored integer
	valueRange []byte // the least and the greatest value
	atStored   int    // offset of the body if flagStored is set
}

// header reads the header of a stream. It returns the header and the body.
func (c *Chunk) header(stream []byte) (header, []byte, error) {
	const fixed = 4
	parameters := 28
	if c.kind == float64s {
		parameters = 36
	}
	if len(stream) < fixed+parameters {
		return header{}, nil, corrupt.Errorf("sz: the stream has %d bytes, fewer than its header (%d bytes)", len(stream), fixed+parameters)
	}
	if err := checkVersion(stream); err != nil {
		return header{}, nil, err
	}
	p := stream[fixed : fixed+parameters]
	h := header{flags: stream[3], sizeBytes: 4, valueRange: p[atRange:]}
	if err := checkSolution(p); err != nil {
		return header{}, nil, err
	}
	if h.flags&flagSize64 != 0 {
		h.sizeBytes = 8
	}
	h.atStored = fixed + parameters + h.sizeBytes
	r := cursor{buf: stream, at: fixed + parameters}
	if c.kind > float64s && h.flags&(flagConstant|flagStored) == 0 {
		h.exactBytes = int(r.u8())
	}
	if n := r.size(h.sizeBytes); n < c.count && r.err == nil {
		return header{}, nil, corrupt.Errorf("sz: the stream has %d elements, but the chunk has %d", n, c.count)
	}
	if r.err != nil {
		return header{}, nil, r.err
	}
	if len(stream) < h.atStored {
		return header{}, nil, corrupt.Errorf("sz: truncated at byte %d, in the header (%d bytes)", len(stream), h.atStored)
	}
	return h, stream[r.at:], nil
}

// checkVersion returns an error unless libSZ accepts the version: 2.1.8 and later.
func checkVersion(stream []byte) error {
	major, minor, build := int(stream[0]), int(stream[1]), int(stream[2])
	if major == 0 || major > 3 {
		return corrupt.Errorf("sz: the stream begins neither with a version (1 to 3) nor like zstd or zlib (%02x %02x %02x)", major, minor, build)
	}
	if major*10000+minor*100+build < 20108 {
		return fmt.Errorf("sz: stream of version %d.%d.%d, supported are 2.1.8 and later: %w", major, minor, build, errors.ErrUnsupported)
	}
	return nil
}

// checkSolution returns an error for methods of compression that are not supported.
func checkSolution(parameters []byte) error {
	switch parameters[atSolution] {
	case solutionPastri:
		return fmt.Errorf("sz: solution Pastri: %w", errors.ErrUnsupported)
	case solutionTranspose:
		return fmt.Errorf("sz: transposed chunks: %w", errors.ErrUnsupported)
	}
	if parameters[atMode]>>2&3 == 3 {
		return fmt.Errorf("sz: prediction from earlier time steps: %w", errors.ErrUnsupported)
	}
	return nil
}

// cursor reads the fields of a stream. After the first field that is missing it returns zeros, and err is
// set.
type cursor struct {
	buf []byte
	at  int
	err error
}

// bytes returns the next n bytes, or nil if fewer are left. name is the name of the field, for errors.
func (c *cursor) bytes(n int, name string) []byte {
	if n < 0 || n > len(c.buf)-c.at {
		if c.err == nil {
			c.err = corrupt.Errorf("sz: offset %d: %s of %d bytes, only %d are left", c.at, name, n, len(c.buf)-c.at)
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

// size reads a size of n bytes, 4 or 8. It limits the size, so that products with it cannot overflow.
func (c *cursor) size(n int) int {
	if n == 4 {
		return int(int32(min(c.u32(), math.MaxInt32)))
	}
	return int(min(c.u64(), MaxElements*8))
}
