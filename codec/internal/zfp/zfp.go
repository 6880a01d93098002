// Package zfp decodes chunks of HDF5's filter 32013 (H5Z-ZFP), which compresses arrays of numbers. Use Parse, then
// Array.Decode.
//
// A stream is one sequence of bits, the least significant bit of each byte first. zfpy writes a header before the
// stream. HDF5 stores the header once for all chunks, in the filter's client values:
//
//	cd_values[0]   ZFP version << 16 | codec version << 12 | H5Z-ZFP version
//	cd_values[1…]  the header, 4 bytes per value, little-endian
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
// On a big-endian machine, the bytes of the client values and of the elements are reversed.
//
// The array is divided into blocks of 4 elements along each dimension, in the order of the array, the fastest
// dimension first. Blocks at the far edges are padded. A block has at least minbits bits:
//
//	integers                 planes
//	floats                   0 (all zero) | 1 exponent planes
//	integers, reversible     precision-1 planes
//	floats, reversible       0 (all zero) | 1 0 exponent precision-1 planes |
//	                         1 1 precision-1 planes (of the floats' own bits)
//
// Planes are the bits of the coefficients, which are negabinary numbers in the order of their frequency. The most
// significant plane comes first. A plane begins with one bit for each coefficient up to the last one that is not
// zero in earlier planes. Then come groups: a bit 0 means that all other coefficients are zero in this plane; a bit 1
// means that one is not, and its distance follows as that many zeros and a one.
//
// A truncated stream is an error here. ZFP does not notice one and reads past its end. The encoder of ZFP writes
// truncated streams for floats in the reversible mode with a minimum number of bits, because it does not pad blocks
// of zeros.
//
// Specification: the documentation of ZFP 1.0 (Algorithm, Header) and of H5Z-ZFP 1.1, and their sources. The
// results have the same bits as those of ZFP 1.0.1 without rounding options, the build that HDF5 uses.
//
// For example, 6×9 floats that are all zero, in 2×3 blocks, are the byte 00: a bit 0 for each block.
package zfp

import (
	"slices"

	"varve/codec/internal/corrupt"
)

// Array holds the type, shape and limits of a compressed array. Any number of goroutines may use it.
type Array struct {
	kind      kind
	dims      int    // number of dimensions, 1 to 4
	lengths   [4]int // the fastest dimension first, 1 beyond dims
	size      int64  // bytes of the decoded array
	limits    limits
	isSwapped bool // written on a big-endian machine
}

// kind is the type of the elements, as a number in the header.
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

// precisionBits returns the number of bits of a block's precision in the reversible mode.
func (k kind) precisionBits() int {
	if k.width() == 4 {
		return 5
	}
	return 6
}

// limits bound the stored bits of a block.
type limits struct {
	minBits, maxBits uint32
	maxPrec          int // maximum number of planes
	minExp           int // exponent of the lowest plane; below leastExp: reversible mode
}

// leastExp is the exponent of the smallest positive float64.
const leastExp = -1074

// isReversible reports whether the mode is reversible (lossless).
func (l *limits) isReversible() bool { return l.minExp < leastExp }

// Decode decodes an array to the beginning of dst and returns the decoded length. Elements are in C order and in the
// byte order of the writing machine, which is nearly always little-endian. It allocates no memory.
func (a *Array) Decode(dst, src []byte) (int, error) {
	return a.decodeFrom(0, dst, src)
}

// decodeFrom decodes a stream that begins at the given bit of src.
func (a *Array) decodeFrom(bit int64, dst, src []byte) (int, error) {
	if a.size > int64(len(dst)) {
		return 0, corrupt.Errorf("zfp: the header gives an array of %d bytes, at most %d are expected", a.size, len(dst))
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
	if a.isSwapped {
		reverseElements(dst, a.kind.width())
	}
	return len(dst), nil
}

// reverseElements reverses the bytes of each element.
func reverseElements(b []byte, width int) {
	for ; len(b) >= width; b = b[width:] {
		slices.Reverse(b[:width])
	}
}
