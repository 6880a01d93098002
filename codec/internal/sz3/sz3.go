// Package sz3 decodes the HDF5 filter 32024, SZ 3: an error-bounded compressor of numbers.
//
// The filter's values say what a chunk holds, the axis that varies fastest first. The filter
// leaves out axes of length 1.
//
//	[0] axes, 1 to 5   [1] type   [2…] lengths; of a single axis as high and low word
//	then what the encoder was asked for: mode, bounds (9 words)
//	type  0 float32, 1 float64, 2 uint8, 3 int8, 4 uint16, 5 int16, 6 uint32, 7 int32, 8 uint64, 9 int64
//
// A chunk of fewer than 20 elements is stored as it is. Of any other, everything is
// little-endian unless it says be, and [T] is an element:
//
//	chunk      [u64 size of the body] body, in zstd   configuration   [i32 its bytes]
//	configuration
//	           [u8 axes][u64 lengths…][u64 elements][u8 algorithm][u8 mode][f64 bound][f64 relative bound]
//	           [u8 predictors: Lorenzo, of order 2, plane, of order 2] ×4 [u8 interpolator][u8 order of axes]
//	           [i32 interpolation block][u8 lossless][u8 encoder][i32 intervals][i32 block][i32 stride]
//	           [i32 predicted axes][u8 parallel]
//	algorithm  0 neighbours predict, 2 interpolation; 1 (either, the encoder chooses) is only
//	           met with the bound 0, for which a body is the elements as they are
//
// The bodies of the two:
//
//	interpolation  [u64 lengths…][u32 block][u32 interpolator][u32 order of axes] quantizer codes
//	neighbours     [u64 lengths…][u32 block] predictors quantizer codes
//	               of three axes and no plane of order 2: see three.go
//	quantizer      [u8 2][f64 bound][i32 radius][u64 n][T ×n]
//	codes          [i32 least][u32 be nodes][u32 be symbols] Huffman tree [u64 bytes] bits
//
// A code 0 says that an element is the next of those that the quantizer holds. Any other says
// how many times twice the bound, less the radius, is to be added to what is predicted: see
// interpolation.go and blocks.go.
//
// There is no specification; this follows the library, versions 3.1.5 to 3.1.8, bit by bit:
// Config.hpp, SZInterpolationCompressor.hpp, SZGeneralFrontend.hpp, SZFastFrontend.hpp,
// IntegerQuantizer.hpp, HuffmanEncoder.hpp, and its filter H5Z_SZ3.cpp. Version 3.2 stores
// something else, and says so in the filter's values.
package sz3

import (
	"errors"
	"fmt"
	"slices"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/sz"
	"varve/codec/internal/zstd"
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

// maxAxes is how many axes the library decodes.
const maxAxes = 4

// leastCompressed is the number of elements from which on a chunk is compressed.
const leastCompressed = 20

// Chunk says what a filter's chunks hold. It is made by Parse, and may be used by any number
// of goroutines.
type Chunk struct {
	kind  kind
	size  int   // bytes an element
	count int   // elements
	dims  []int // lengths, the axis that varies fastest last
}

// Parse reads the filter's values. Without any, chunks are stored as they are.
func Parse(values []uint32) (*Chunk, error) {
	if len(values) == 0 {
		return &Chunk{size: 1}, nil
	}
	if values[0] > 5 {
		return nil, fmt.Errorf("sz3: values of a filter of version 3.2 or later (the first is %#x, versions 3.1 have 1 to 5 axes there): %w",
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

// Size returns how many bytes the filter's values say that a chunk takes. The chunk itself may
// take more where they are not told right, as of some with axes of length 1; such are stored as they are.
func (c *Chunk) Size() int { return c.count * c.size }

// Decode writes a chunk's elements to dst, little-endian, and returns how many bytes that are.
func (c *Chunk) Decode(dst, src []byte) (int, error) {
	if c.count < leastCompressed {
		if len(src) > len(dst) {
			return 0, corrupt.Errorf("sz3: %d bytes stored as they are, at most %d expected", len(src), len(dst))
		}
		return copy(dst, src), nil
	}
	if c.Size() > len(dst) {
		return 0, corrupt.Errorf("sz3: %d elements of %d bytes, at most %d bytes expected", c.count, c.size, len(dst))
	}
	dst = dst[:c.Size()]
	conf, packed, err := c.split(src)
	if err != nil {
		return 0, err
	}
	if conf.bound == 0 {
		return c.verbatim(dst, packed)
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

// verbatim undoes the lossless stage, behind which there is none.
func (c *Chunk) verbatim(dst, packed []byte) (int, error) {
	n, err := zstd.Decode(dst, packed[sizeBytes:])
	if err != nil {
		return 0, fmt.Errorf("sz3: elements as they are: %w", err)
	}
	if n != len(dst) {
		return 0, corrupt.Errorf("sz3: %d bytes of elements, want %d", n, len(dst))
	}
	return n, nil
}

// elements decodes a body in the type of its elements, and the one that C calculates with them in.
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
