// Package sz decodes chunks of HDF5 filter 32017 (SZ 2), which compresses numbers with a bounded error.
// Use Parse, then Chunk.Decode.
//
// The filter's parameters ("values") are the type and shape of a chunk, the axis that varies fastest
// first. Axes of length 1 are ignored.
//
//	[0] axes, 1 to 5   [1] type   [2…] lengths; of a single axis as high and low word
//	then, optionally, the user's options: mode, bounds (9 words)
//	type  0 float32, 1 float64, 2 uint8, 3 int8, 4 uint16, 5 int16, 6 uint32, 7 int32, 8 uint64, 9 int64
//
// A chunk of fewer than 20 elements is not compressed. Any other is one stream, usually compressed with
// zstd or zlib. Numbers are big-endian unless marked "le"; "size" is a number of 4 or 8 bytes.
//
//	offset  0      3      4            32 or 40
//	       [version][flags][parameters][exact bytes]?[size elements] body
//	flags       0x01 constant   0x02, 0x08 relative, by factors   0x04 clamp to the parameters' range
//	            0x10 stored     0x20 relative   0x40 sizes of 8 bytes   0x80 blocks
//	parameters  28 bytes, 36 for float64; [14] the solution: 101 SZ, 103 Pastri, 104 transposed;
//	            [20…] the least and the greatest value
//	exact bytes only for integers that are not constant: bytes per stored value
//
// Bodies:
//
//	constant    one value
//	stored      all values, uncompressed
//	classic     a type (Huffman code) per element. Type 0 means a stored value; other types mean a
//	            multiple of the bound, added to a prediction from neighbours: see classic.go
//	relative    the same with factors, or for logarithms, and with signs: see relative.go
//	blocks      a plane fitted to the block, or neighbours, predict its elements: see blocks.go
//
// There is no specification. The results equal the results of libSZ 2.1.12, bit for bit:
// TightDataPointStorage{F,D,I}.c, szd_*.c, Huffman.c, and its filter H5Z_SZ.c.
//
// For example, 7×5 bytes of 9 are
//
//	02 01 0c │ 43 │ 44 00 64 26 ac 02 38 d1 b7 17 00 00 00 00 65 00 00 01 00 00 00 00 00 00 00 00 00 00 │
//	version    constant, range, sizes of 8 bytes; parameters, [14] = 101
//	00 00 00 00 00 00 00 23 │ 09
//	35 elements               the value
package sz

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"varve/codec/internal/corrupt"
)

// kind is the type of a chunk's elements, as a number in the filter's values.
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

// Chunk is the type and shape of a filter's chunks. Any number of goroutines may use it.
type Chunk struct {
	kind  kind
	size  int   // bytes per element
	count int   // number of elements
	dims  []int // lengths of axes longer than 1, the axis that varies fastest last
}

// Parse returns the Chunk for the filter's values in a file. Without values, chunks are not compressed.
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

// Size returns the decoded size of a chunk according to the filter's values. A chunk may be larger if the
// values are wrong, as for some chunks with axes of length 1; such chunks are not compressed.
func (c *Chunk) Size() int { return c.count * c.size }

// leastCompressed is the minimum number of elements of a compressed chunk. The encoder also leaves chunks
// of exactly this many floats uncompressed, although libSZ cannot decode them.
const leastCompressed = 20

// Decode decodes a chunk to the beginning of dst, little-endian, and returns the decoded length.
func (c *Chunk) Decode(dst, src []byte) (int, error) {
	if c.count < leastCompressed || c.count == leastCompressed && c.kind <= float64s && len(src) == c.Size() {
		if len(src) > len(dst) {
			return 0, corrupt.Errorf("sz: uncompressed chunk of %d bytes, at most %d are expected", len(src), len(dst))
		}
		return copy(dst, src), nil
	}
	if c.Size() > len(dst) {
		return 0, corrupt.Errorf("sz: the filter's values give %d elements of %d bytes, at most %d bytes are expected", c.count, c.size, len(dst))
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
	case h.flags&flagStored != 0:
		err = c.copyStored(dst, stream[h.atStored:])
	case h.flags&flagConstant != 0:
		err = c.fillConstant(dst, body)
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

// copyStored converts uncompressed elements from big-endian to little-endian.
func (c *Chunk) copyStored(dst, src []byte) error {
	if len(src) < len(dst) {
		return corrupt.Errorf("sz: %d uncompressed elements of %d bytes, only %d bytes are left", c.count, c.size, len(src))
	}
	for i := 0; i < len(dst); i += c.size {
		reverse(dst[i:i+c.size], src[i:])
	}
	return nil
}

// fillConstant fills the chunk with one value.
func (c *Chunk) fillConstant(dst, src []byte) error {
	if len(src) < c.size {
		return corrupt.Errorf("sz: constant value of %d bytes, only %d bytes are left", c.size, len(src))
	}
	reverse(dst[:c.size], src)
	for n := c.size; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
	return nil
}

// reverse writes a big-endian element to dst, little-endian.
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
