// Package sz decodes the HDF5 filter 32017, SZ 2: an error-bounded compressor of numbers.
//
// The filter's values say what a chunk holds, the axis that varies fastest first. An axis of
// length 1 counts for nothing.
//
//	[0] axes, 1 to 5   [1] type   [2…] lengths; of a single axis as high and low word
//	then, not always, what the encoder was asked for: mode, bounds (9 words)
//	type  0 float32, 1 float64, 2 uint8, 3 int8, 4 uint16, 5 int16, 6 uint32, 7 int32, 8 uint64, 9 int64
//
// A chunk of fewer than 20 elements is stored as it is. Any other is one stream, mostly inside
// zstd or zlib. Numbers are big-endian but for those marked le; "size" is 4 or 8 bytes long.
//
//	offset  0      3      4            32 or 40
//	       [version][flags][parameters][exact bytes]?[size elements] body
//	flags       0x01 constant   0x02, 0x08 relative: by factors   0x04 clamped to the parameters' range
//	            0x10 verbatim   0x20 relative   0x40 sizes of 8 bytes   0x80 blocks
//	parameters  28 bytes, 36 for float64; [14] the solution: 101 SZ, 103 Pastri, 104 transposed;
//	            [20…] the least and the greatest value
//	exact bytes only for integers that are not constant
//
// The bodies are:
//
//	constant    one value
//	verbatim    all values
//	classic     a type (Huffman code) per element; 0 is for a value that is stored, any other
//	            for a multiple of the bound to add to what the neighbours predict: see classic.go
//	relative    the same with factors, or of logarithms, and with signs: see relative.go
//	blocks      a plane fitted to the block predicts, or the neighbours do: see blocks.go
//
// There is no specification; this follows the library, version 2.1.12, bit by bit:
// TightDataPointStorage{F,D,I}.c, szd_*.c, Huffman.c, and its filter H5Z_SZ.c.
package sz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"varve/codec/internal/corrupt"
)

// kind is the type of a chunk's elements, as the filter's values name it.
type kind uint32

const (
	float32s kind = iota
	float64s
	uint8s
	int8s
	uint16s
	int16s
	uint32s
	int32s
	uint64s
	int64s
	kinds
)

// Chunk says what a filter's chunks hold. It is made by Parse, and may be used by any number
// of goroutines.
type Chunk struct {
	kind  kind
	size  int   // bytes an element
	count int   // elements
	dims  []int // lengths that are not 1, the axis that varies fastest last
}

// Parse reads the filter's values. Without any, chunks are stored as they are.
func Parse(values []uint32) (*Chunk, error) {
	if len(values) == 0 {
		return &Chunk{size: 1}, nil
	}
	l, err := ReadLayout("sz", values)
	if err != nil {
		return nil, err
	}
	c := &Chunk{kind: kind(l.Type), size: l.Size, count: l.Count}
	for _, n := range l.Lengths {
		if n > 1 {
			c.dims = append(c.dims, n)
		}
	}
	slices.Reverse(c.dims)
	if len(c.dims) == 0 {
		c.dims = []int{1}
	}
	if len(c.dims) > 4 {
		return nil, fmt.Errorf("sz: chunk of five axes: %w", errors.ErrUnsupported)
	}
	return c, nil
}

// Size returns how many bytes the filter's values say that a chunk takes. The chunk itself may
// take more where they are not told right, as of some with axes of length 1; such are stored as they are.
func (c *Chunk) Size() int { return c.count * c.size }

// leastCompressed is the number of elements from which on a chunk is compressed. The encoder
// still stores exactly as many floats as they are, which the library then cannot decode.
const leastCompressed = 20

// Decode writes a chunk's elements to dst, little-endian, and returns how many bytes that are.
func (c *Chunk) Decode(dst, src []byte) (int, error) {
	if c.count < leastCompressed || c.count == leastCompressed && c.kind <= float64s && len(src) == c.Size() {
		if len(src) > len(dst) {
			return 0, corrupt.Errorf("sz: %d bytes stored as they are, at most %d expected", len(src), len(dst))
		}
		return copy(dst, src), nil
	}
	if c.Size() > len(dst) {
		return 0, corrupt.Errorf("sz: %d elements of %d bytes, at most %d bytes expected", c.count, c.size, len(dst))
	}
	dst = dst[:c.Size()]
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	stream, err := w.unpack(src, len(dst))
	if err != nil {
		return 0, err
	}
	h, body, err := c.header(stream)
	if err != nil {
		return 0, err
	}
	switch {
	case h.flags&verbatim != 0:
		err = c.verbatim(dst, stream[h.bodyOfVerbatim:])
	case h.flags&constant != 0:
		err = c.constant(dst, body)
	case c.kind == float32s:
		err = decodeFloats(&floats[float32]{Chunk: c, header: h, workspace: w, body: body}, dst)
	case c.kind == float64s:
		err = decodeFloats(&floats[float64]{Chunk: c, header: h, workspace: w, body: body}, dst)
	default:
		err = (&integers{Chunk: c, header: h, workspace: w, body: body}).decode(dst)
	}
	if err != nil {
		return 0, err
	}
	return len(dst), nil
}

// verbatim turns big-endian elements around.
func (c *Chunk) verbatim(dst, src []byte) error {
	if len(src) < len(dst) {
		return corrupt.Errorf("sz: %d bytes are left, want %d elements of %d that are stored", len(src), c.count, c.size)
	}
	for i := 0; i < len(dst); i += c.size {
		reverse(dst[i:i+c.size], src[i:])
	}
	return nil
}

// constant fills the chunk with one value.
func (c *Chunk) constant(dst, src []byte) error {
	if len(src) < c.size {
		return corrupt.Errorf("sz: %d bytes are left, want a value of %d", len(src), c.size)
	}
	reverse(dst[:c.size], src)
	for n := c.size; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
	return nil
}

func reverse(dst, src []byte) {
	switch len(dst) {
	case 1:
		dst[0] = src[0]
	case 2:
		binary.LittleEndian.PutUint16(dst, binary.BigEndian.Uint16(src))
	case 4:
		binary.LittleEndian.PutUint32(dst, binary.BigEndian.Uint32(src))
	case 8:
		binary.LittleEndian.PutUint64(dst, binary.BigEndian.Uint64(src))
	}
}
