// Package sperr decodes chunks of floats that H5Z-SPERR stores (HDF5 filter 32028): a
// CDF 9/7 wavelet transform, quantized and coded by SPECK, with corrections where the
// error would exceed the tolerance.
//
// A chunk begins with what the filter adds to the stream of the library:
//
//	u8        missing values: 0 none, 1 NaN, 2 of a magnitude of 1e35 or more
//	f32, f64  mode 2: what they all become, in the chunk's type
//	mask      modes 1 and 2: which elements they are (see mask.go)
//	stream    2-D: a field; 3-D: a volume (see volume.go), which holds fields
//
// Version 0.1 of the filter stored the stream alone. A field is
//
//	u8        bit 7: mean subtracted, bit 0: constant
//	          constant field    u64 elements, f64 value, nothing else
//	          any other field   f64 mean, f64 quantization step q
//	u8        bit planes of the wavelet coefficients, in units of q
//	u64       bits of their SPECK stream as it was coded
//	bits      the stream, or as much of it as the bit rate allowed
//	u8 u64 …  corrections, in units of q/1.5, as another SPECK stream: may be absent
//
// with everything little-endian, and bits from the least significant of a byte up. What
// the stream lost is decoded as zeros, and whatever does not hold a whole stream of
// corrections is ignored: so does the library, whose rounding is reproduced too.
//
// The filter's parameters, 32-bit each:
//
//	[0]  bits 0-3 dimensions: 2 or 3; bit 4: float32; bits 6-9 missing values asked for;
//	     bits 10-15 format: 0 version 0.1, 1 version 0.2
//	[1]  quality asked for; bit 31: dimensions stand fastest last
//	[2…] lengths of the chunk's dimensions, without those of 1
//
// The formats are those of include/bitstream_definition.txt and SPERR3D_Stream_Tools.cpp
// of github.com/NCAR/SPERR, and of h5z-sperr.c of github.com/NCAR/H5Z-SPERR.
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

// maxFormat is the newest format of the filter's own part of a chunk.
const maxFormat = 1

// maxBytes is what HDF5 allows a chunk to be.
const maxBytes = math.MaxUint32

// Layout says what a chunk decodes to. It is made by Parse, and may be used by any
// number of goroutines.
type Layout struct {
	dims    [3]int // the fastest first; a plane's last is 1
	planar  bool
	size    int  // bytes of an element
	missing bool // chunks begin with how missing values are kept
	works   sync.Pool
}

// Parse reads the filter's parameters.
func Parse(values []uint32) (*Layout, error) {
	if len(values) < 2 {
		return nil, corrupt.Errorf("sperr: %d parameters, want 4 or 5", len(values))
	}
	l := &Layout{dims: [3]int{1, 1, 1}, size: 8}
	l.works.New = func() any { return newWork() }
	meta := values[0]
	rank := int(meta & 15)
	if rank != 2 && rank != 3 {
		return nil, corrupt.Errorf("sperr: %d dimensions (parameter 0 is %#x), want 2 or 3", rank, meta)
	}
	if meta>>4&1 == 1 {
		l.size = 4
	}
	if mode := meta >> 6 & 15; mode > missingLarge {
		return nil, unsupported("missing values of mode %d", mode)
	}
	format := meta >> 10 & 63
	if format > maxFormat {
		return nil, unsupported("format %d of the filter, newer than %d", format, maxFormat)
	}
	l.missing, l.planar = format > 0, rank == 2
	if len(values) < 2+rank {
		return nil, corrupt.Errorf("sperr: %d parameters for %d dimensions, want %d", len(values), rank, 2+rank)
	}
	return l, l.setDims(values[2:2+rank], values[1]>>31 == 1)
}

// setDims takes the lengths of the dimensions, in the order that the encoder took to
// be the fastest first, or in the opposite order.
func (l *Layout) setDims(lengths []uint32, reversed bool) error {
	elements := uint64(1)
	for i, n := range lengths {
		if n < 2 {
			return corrupt.Errorf("sperr: dimension %d is of length %d, want at least 2", i, n)
		}
		if elements *= uint64(n); elements > maxBytes/uint64(l.size) {
			return corrupt.Errorf("sperr: a chunk of %v elements is larger than 4 GiB", lengths)
		}
		l.dims[i] = int(n)
	}
	if reversed {
		slices.Reverse(l.dims[:len(lengths)])
	}
	return nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("sperr: "+format+": %w", append(args, errors.ErrUnsupported)...)
}

// Decode writes a chunk's elements to dst, little-endian, and returns how many bytes
// that are. Its memory is a small multiple of that.
func (l *Layout) Decode(dst, src []byte) (int, error) {
	need := volume(l.dims) * l.size
	if need > len(dst) {
		return 0, corrupt.Errorf("sperr: a chunk of %d bytes, at most %d expected", need, len(dst))
	}
	dst = dst[:need]
	var absent holes
	at := 0
	if l.missing {
		var err error
		if absent, at, err = readHoles(src, l.size); err != nil {
			return 0, err
		}
	}
	w := l.works.Get().(*work)
	defer l.works.Put(w)
	grid := &target{dst, l.dims, l.size, l.planar}
	var err error
	if l.planar {
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

func volume(dims [3]int) int { return dims[0] * dims[1] * dims[2] }

// section is a part of a chunk, and where in it that is.
type section struct {
	data []byte
	at   int
}

// target is the array that parts are written to.
type target struct {
	dst    []byte
	dims   [3]int
	size   int
	planar bool
}

// part is a box of an array, the fastest dimension first.
type part struct{ start, length [3]int }

// put writes the values of a part.
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
