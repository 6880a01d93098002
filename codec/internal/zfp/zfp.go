// Package zfp decodes ZFP, the compressed form of arrays of numbers that HDF5's filter
// 32013 (H5Z-ZFP) and zfpy store.
//
// A stream is one sequence of bits, the least significant of each byte first. zfpy puts
// the header in front of it; HDF5 keeps the header in the filter's client values, once
// for all chunks:
//
//	cd_values[0]   ZFP version << 16 | codec version << 12 | H5Z-ZFP version
//	cd_values[1…]  the header, 4 bytes a value, little-endian
//
//	bits    0  8  16 24     32                     84
//	header  z  f  p  codec  metadata, 52 bits      mode, 12 or 64 bits
//
//	metadata  type:2 (int32, int64, float, double), dimensions-1:2, then their lengths-1,
//	          the fastest first: 1×48 bits, 2×24, 3×16 or 4×12
//	mode      0…2047     fixed rate: minbits = maxbits = mode+1
//	          2048…2175  fixed precision: maxprec = mode-2047
//	          2176       reversible
//	          2177…4094  fixed accuracy: minexp = mode-2177-1074
//	          4095       minbits-1:15, maxbits-1:15, maxprec-1:7, minexp+16495:15 follow
//
// A machine of the other byte order writes values whose bytes are reversed; the elements
// of its chunks then are, too.
//
// The array is cut into blocks of 4 to the power of its dimensions, the fastest dimension
// first, and blocks at the far edges are padded. A block takes at least minbits bits:
//
//	integers                 planes
//	floats                   0 (all zero) | 1 exponent planes
//	integers, reversible     precision-1 planes
//	floats, reversible       0 (all zero) | 1 0 exponent precision-1 planes |
//	                         1 1 precision-1 planes (of the floats' own bits)
//
// The planes are the bits of the coefficients, as negabinary numbers in the order of
// their frequency, the most significant plane first. A plane begins with one bit for
// each coefficient up to the last that was not zero in the planes before, and goes on with
// groups: 0 says that all others are zero in this plane, 1 that one is not, whose
// distance follows in unary.
//
// ZFP does not notice that a stream ends too early, and goes on in whatever memory comes
// next; here that is an error. Its own encoder writes such streams for floats in the
// reversible mode when expert limits ask for a minimum of bits, with which it does not
// fill blocks of zeros.
//
// The format is described in the documentation of ZFP 1.0 (Algorithm, Header) and of
// H5Z-ZFP 1.1, and by their sources. Decoding gives the very bits that ZFP 1.0.1 gives
// without rounding options, which is how it is built for HDF5.
package zfp

import (
	"slices"

	"varve/codec/internal/corrupt"
)

// Array says what the streams of an array hold and how they were made. It is made by
// Parse, and may be used by any number of goroutines.
type Array struct {
	kind    kind
	dims    int
	lengths [4]int // the fastest dimension first, 1 beyond dims
	size    int64  // bytes
	limits  limits
	swapped bool // the writer's byte order is big-endian
}

// kind is the type of the elements, as numbered in the header.
type kind uint8

const (
	int32s kind = iota
	int64s
	float32s
	float64s
)

// width returns the bytes of an element.
func (k kind) width() int {
	if k == int32s || k == float32s {
		return 4
	}
	return 8
}

// precisionBits returns the bits of a block's precision in the reversible mode.
func (k kind) precisionBits() int {
	if k.width() == 4 {
		return 5
	}
	return 6
}

// limits bound what is stored of each block.
type limits struct {
	minBits, maxBits uint32
	maxPrec          int // planes
	minExp           int // exponent of the lowest plane; below leastExp: reversible
}

// leastExp is the exponent of the least float64.
const leastExp = -1074

func (l *limits) reversible() bool { return l.minExp < leastExp }

// Decode writes the array that src holds to dst, little-endian (or as the machine that
// wrote it had them) in C order, and returns how many bytes that are. It allocates nothing.
func (a *Array) Decode(dst, src []byte) (int, error) {
	return a.decodeFrom(0, dst, src)
}

// decodeFrom decodes blocks from a bit of src on.
func (a *Array) decodeFrom(bit int64, dst, src []byte) (int, error) {
	if a.size > int64(len(dst)) {
		return 0, corrupt.Errorf("zfp: array of %d bytes, at most %d expected", a.size, len(dst))
	}
	dst = dst[:a.size]
	var err error
	if a.kind.width() == 4 {
		d := decoder[int32]{reader: reader{src: src, at: bit}, array: a}
		err = d.decode(dst)
	} else {
		d := decoder[int64]{reader: reader{src: src, at: bit}, array: a}
		err = d.decode(dst)
	}
	if err != nil {
		return 0, err
	}
	if a.swapped {
		reverseElements(dst, a.kind.width())
	}
	return len(dst), nil
}

// reverseElements gives elements the other byte order.
func reverseElements(b []byte, width int) {
	for ; len(b) >= width; b = b[width:] {
		slices.Reverse(b[:width])
	}
}
