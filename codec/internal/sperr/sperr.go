// Package sperr decodes chunks of HDF5 filter 32028 (H5Z-SPERR), which compresses floats with loss. Use
// Parse, then Layout.Decode.
//
// SPERR applies a CDF 9/7 wavelet transform, quantizes the coefficients and codes them with SPECK. If
// the user set a tolerance, it adds corrections for values whose error exceeds it. A chunk is:
//
//	u8        missing values: 0 none, 1 NaN, 2 of a magnitude of 1e35 or more
//	f32, f64  mode 2: the value that missing elements get, in the chunk's type
//	mask      modes 1 and 2: the missing elements (see mask.go)
//	stream    2-D: a field; 3-D: a volume (see volume.go), which holds fields
//
// Version 0.1 of the filter stored only the stream. A field is:
//
//	u8        bit 7: mean subtracted, bit 0: constant
//	          constant field    u64 elements, f64 value, nothing else
//	          any other field   f64 mean, f64 quantization step q
//	u8        bit planes of the wavelet coefficients, in units of q
//	u64       bits of their SPECK stream, before truncation
//	bits      the stream, truncated if the user set a bit rate
//	u8 u64 …  optional: corrections, in units of q/1.5, as another SPECK stream
//
// All numbers are little-endian; bits are read from the least significant bit of a byte up. As in
// SPERR, missing bits of the coefficients decode as zeros, and an incomplete stream of corrections is
// ignored. Rounding is also that of SPERR, so that results are equal bit for bit.
//
// The filter's parameters, of 32 bits each:
//
//	[0]  bits 0-3: number of dimensions, 2 or 3; bit 4: float32; bits 6-9: the user's mode of
//	     missing values; bits 10-15: format, 0 version 0.1, 1 version 0.2
//	[1]  the user's quality; bit 31: the fastest dimension is last in the lengths
//	[2…] lengths of the chunk's dimensions, without dimensions of length 1
//
// Specification: include/bitstream_definition.txt and SPERR3D_Stream_Tools.cpp of
// github.com/NCAR/SPERR, and h5z-sperr.c of github.com/NCAR/H5Z-SPERR.
//
// For example, 9×12 elements of 3.7 (in float32) are the constant field
//
//	00 │ 81 │ 6c 00 00 00 00 00 00 00 │ 00 00 00 a0 99 99 0d 40
//	none missing, flags, 108 elements, the value as a float64
package sperr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"varve/codec/internal/corrupt"
)

// maxFormat is the newest supported format in the filter's parameters.
const maxFormat = 1

// maxBytes is HDF5's limit of the size of a chunk.
const maxBytes = math.MaxUint32

// Layout describes the decoded form of a chunk. Any number of goroutines may use it.
type Layout struct {
	dims       [3]int // lengths, the fastest dimension first; 1 for the third dimension of a plane
	isPlanar   bool   // two dimensions
	size       int    // bytes per element
	hasMissing bool   // chunks begin with a mode of missing values
	works      sync.Pool
}

// Parse returns the Layout for the filter's parameters in a file.
func Parse(values []uint32) (*Layout, error) {
	if len(values) < 2 {
		return nil, corrupt.Errorf("sperr: %d parameters, must be 4 or 5", len(values))
	}
	l := &Layout{dims: [3]int{1, 1, 1}, size: 8}
	l.works.New = func() any { return newWork() }
	meta := values[0]
	rank := int(meta & 15)
	if rank != 2 && rank != 3 {
		return nil, corrupt.Errorf("sperr: %d dimensions (parameter 0 is %#x), must be 2 or 3", rank, meta)
	}
	if meta>>4&1 == 1 {
		l.size = 4
	}
	if mode := meta >> 6 & 15; mode > missingLarge {
		return nil, unsupported("missing values of mode %d", mode)
	}
	format := meta >> 10 & 63
	if format > maxFormat {
		return nil, unsupported("format %d of the filter, supported are 0 to %d", format, maxFormat)
	}
	l.hasMissing, l.isPlanar = format > 0, rank == 2
	if len(values) < 2+rank {
		return nil, corrupt.Errorf("sperr: %d parameters for %d dimensions, must be %d", len(values), rank, 2+rank)
	}
	return l, l.setDims(values[2:2+rank], values[1]>>31 == 1)
}

// setDims sets the lengths of the dimensions. They are in the order in which the encoder used them, the
// fastest first, or reversed.
func (l *Layout) setDims(lengths []uint32, reversed bool) error {
	elements := uint64(1)
	for i, n := range lengths {
		if n < 2 {
			return corrupt.Errorf("sperr: dimension %d has length %d, must be at least 2", i, n)
		}
		if elements *= uint64(n); elements > maxBytes/uint64(l.size) {
			return corrupt.Errorf("sperr: a chunk of %v elements exceeds HDF5's limit of 4 GiB", lengths)
		}
		l.dims[i] = int(n)
	}
	if reversed {
		slices.Reverse(l.dims[:len(lengths)])
	}
	return nil
}

// unsupported returns an error that is errors.ErrUnsupported.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("sperr: "+format+": %w", append(args, errors.ErrUnsupported)...)
}

// Decode decodes a chunk to the beginning of dst, as little-endian floats, and returns the decoded
// length. It needs a small multiple of that length as memory.
func (l *Layout) Decode(dst, src []byte) (int, error) {
	need := volume(l.dims) * l.size
	if need > len(dst) {
		return 0, corrupt.Errorf("sperr: the parameters give a chunk of %d bytes, at most %d are expected", need, len(dst))
	}
	dst = dst[:need]
	var absent holes
	at := 0
	if l.hasMissing {
		var err error
		if absent, at, err = readHoles(src, l.size); err != nil {
			return 0, err
		}
	}
	w := l.works.Get().(*work)
	defer l.works.Put(w)
	grid := &target{dst, l.dims, l.size, l.isPlanar}
	var err error
	if l.isPlanar {
		err = w.decode(grid, part{length: l.dims}, section{src[at:], at})
	} else {
		err = w.decodeVolume(grid, src, at)
	}
	if err == nil {
		err = absent.punch(dst)
	}
	if err != nil {
		return 0, err
	}
	return need, nil
}

// volume returns the number of elements of an array.
func volume(dims [3]int) int { return dims[0] * dims[1] * dims[2] }

// section is a part of a chunk's bytes.
type section struct {
	data []byte
	at   int // offset in the chunk, for errors
}

// target is the decoded array, to which parts are written.
type target struct {
	dst      []byte
	dims     [3]int
	size     int // bytes per element
	isPlanar bool
}

// part is a box of the array, the fastest dimension first.
type part struct{ start, length [3]int }

// put writes the values of a part to the array.
func (t *target) put(p part, values []float64) {
	for z := range p.length[2] {
		for y := range p.length[1] {
			at := ((p.start[2]+z)*t.dims[1]+p.start[1]+y)*t.dims[0] + p.start[0]
			t.putRow(t.dst[at*t.size:], values[:p.length[0]])
			values = values[p.length[0]:]
		}
	}
}

func (t *target) putRow(dst []byte, values []float64) {
	if t.size == 4 {
		dst = dst[:4*len(values)]
		for i, v := range values {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
		}
		return
	}
	dst = dst[:8*len(values)]
	for i, v := range values {
		binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(v))
	}
}
