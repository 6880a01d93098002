// Package sz3 decodes chunks of HDF5 filter 32024 (SZ 3), which compresses numbers with a bounded error.
// Use Parse, then Chunk.Decode.
//
// The filter's parameters ("values") are the type and shape of a chunk, the axis that varies fastest
// first, without axes of length 1.
//
//	[0] axes, 1 to 5   [1] type   [2…] lengths; of a single axis as high and low word
//	then the user's options: mode, bounds (9 words)
//	type  0 float32, 1 float64, 2 uint8, 3 int8, 4 uint16, 5 int16, 6 uint32, 7 int32, 8 uint64, 9 int64
//
// A chunk of fewer than 20 elements is not compressed. Other chunks have this form. Numbers are
// little-endian unless marked "be"; [T] is an element:
//
//	chunk      [u64 size of the body] body, in zstd   configuration   [i32 bytes of the configuration]
//	configuration
//	           [u8 axes][u64 lengths…][u64 elements][u8 algorithm][u8 mode][f64 bound][f64 relative bound]
//	           [u8 predictors: Lorenzo, of order 2, plane, of order 2] ×4 [u8 interpolator][u8 order of axes]
//	           [i32 interpolation block][u8 lossless][u8 encoder][i32 intervals][i32 block][i32 stride]
//	           [i32 predicted axes][u8 parallel]
//	algorithm  0 neighbours, 2 interpolation; 1 (the encoder chooses) occurs only with the bound 0,
//	           for which the body is the uncompressed elements
//
// Bodies:
//
//	interpolation  [u64 lengths…][u32 block][u32 interpolator][u32 order of axes] quantizer codes
//	neighbours     [u64 lengths…][u32 block] predictors quantizer codes
//	               of three axes and no plane of order 2: see three.go
//	quantizer      [u8 2][f64 bound][i32 radius][u64 n][T ×n]
//	codes          [i32 least][u32 be nodes][u32 be symbols] Huffman tree [u64 bytes] bits
//
// Code 0 means that the element is the next one that the quantizer stores. For any other code, the
// element is its prediction plus (code - radius) × 2 × bound. For predictions see interpolation.go and
// blocks.go.
//
// There is no specification. The results are those of the library, versions 3.1.5 to 3.1.8, bit for bit:
// Config.hpp, SZInterpolationCompressor.hpp, SZGeneralFrontend.hpp, SZFastFrontend.hpp,
// IntegerQuantizer.hpp, HuffmanEncoder.hpp, and its filter H5Z_SZ3.cpp. Version 3.2 has another format
// and other values.
//
// For example, 8×5 float32 of 3.25, with the bound 0, are
//
//	a0 00 00 00 00 00 00 00 │ 28 b5 2f fd 20 a0 5d 00 00 20 00 00 50 40 01 00 99 29 47 04 │     160 bytes, in zstd
//	02 │ 05 00 00 00 00 00 00 00  08 00 00 00 00 00 00 00 │ 28 00 00 00 00 00 00 00 │ 01 │     axes, lengths, elements, algorithm
//	00 │ 00 00 00 00 00 00 00 00 │ 9a 99 99 99 99 99 b9 3f │                                  mode, bound, relative bound
//	01 00 01 00 │ 01 │ 00 │ 20 00 00 00 │ 01 │ 01 │                                          predictors, …, interpolation block, …
//	00 00 01 00 │ 10 00 00 00 │ 10 00 00 00 │ 02 00 00 00 │ 00 │ 48 00 00 00                 intervals, block, stride, axes, …, 72 bytes
package sz3

import (
	"errors"
	"fmt"
	"slices"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/sz"
	"varve/codec/internal/zstd"
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

// maxAxes is the maximum number of axes that the library decodes.
const maxAxes = 4

// leastCompressed is the minimum number of elements of a compressed chunk.
const leastCompressed = 20

// Chunk is the type and shape of a filter's chunks. Any number of goroutines may use it.
type Chunk struct {
	kind  kind
	size  int   // bytes per element
	count int   // number of elements
	dims  []int // lengths, the axis that varies fastest last
}

// Parse returns the Chunk for the filter's values in a file. Without values, chunks are not compressed.
func Parse(values []uint32) (*Chunk, error) {
	if len(values) == 0 {
		return &Chunk{size: 1}, nil
	}
	if values[0] > 5 {
		return nil, fmt.Errorf("sz3: the filter's values have the form of version 3.2 or later (the first is %#x; in version 3.1 it is 1 to 5): %w",
			values[0], errors.ErrUnsupported)
	}
	l, err := sz.ReadLayout("sz3", values)
	if err != nil {
		return nil, err
	}
	c := &Chunk{kind: kind(l.Type), size: l.Size, count: l.Count, dims: l.Lengths}
	slices.Reverse(c.dims)
	if len(c.dims) > maxAxes && c.count >= leastCompressed {
		return nil, fmt.Errorf("sz3: chunk of five axes: %w", errors.ErrUnsupported)
	}
	return c, nil
}

// Size returns the decoded size of a chunk according to the filter's values. A chunk may be larger if the
// values are wrong, as for some chunks with axes of length 1; such chunks are not compressed.
func (c *Chunk) Size() int { return c.count * c.size }

// Decode decodes a chunk to the beginning of dst, little-endian, and returns the decoded length.
func (c *Chunk) Decode(dst, src []byte) (int, error) {
	if c.count < leastCompressed {
		if len(src) > len(dst) {
			return 0, corrupt.Errorf("sz3: uncompressed chunk of %d bytes, at most %d are expected", len(src), len(dst))
		}
		return copy(dst, src), nil
	}
	if c.Size() > len(dst) {
		return 0, corrupt.Errorf("sz3: the filter's values give %d elements of %d bytes, at most %d bytes are expected", c.count, c.size, len(dst))
	}
	dst = dst[:c.Size()]
	conf, packed, err := c.split(src)
	if err != nil {
		return 0, err
	}
	if conf.bound == 0 { // lossless: the body is the elements themselves
		return c.lossless(dst, packed)
	}
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	body, err := w.unpack(packed, c)
	if err != nil {
		return 0, err
	}
	if err := c.elements(w, conf, body, dst); err != nil {
		return 0, err
	}
	return len(dst), nil
}

// lossless decompresses a chunk that was compressed only with zstd.
func (c *Chunk) lossless(dst, packed []byte) (int, error) {
	n, err := zstd.Decode(dst, packed[sizeBytes:])
	if err != nil {
		return 0, fmt.Errorf("sz3: lossless elements: %w", err)
	}
	if n != len(dst) {
		return 0, corrupt.Errorf("sz3: the elements decode to %d bytes, %d are expected", n, len(dst))
	}
	return n, nil
}

// elements calls decode with the type of the elements, and the type in which C computes with them.
func (c *Chunk) elements(w *workspace, conf config, body, dst []byte) error {
	r := &cursor{buf: body}
	switch c.kind {
	case float32s:
		return decode[float32, float32](w, conf, r, dst)
	case float64s:
		return decode[float64, float64](w, conf, r, dst)
	case uint8s:
		return decode[uint8, int32](w, conf, r, dst)
	case int8s:
		return decode[int8, int32](w, conf, r, dst)
	case uint16s:
		return decode[uint16, int32](w, conf, r, dst)
	case int16s:
		return decode[int16, int32](w, conf, r, dst)
	case uint32s:
		return decode[uint32, uint32](w, conf, r, dst)
	case int32s:
		return decode[int32, int32](w, conf, r, dst)
	case uint64s:
		return decode[uint64, uint64](w, conf, r, dst)
	}
	return decode[int64, int64](w, conf, r, dst)
}
