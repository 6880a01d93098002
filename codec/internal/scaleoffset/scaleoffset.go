// Package scaleoffset decodes HDF5's scale-offset filter (filter 6). Use Parse, then Scaling.Decode.
//
// The filter stores each number of a chunk as its distance from the smallest number, in as few bits as
// the largest distance needs. Floats are first multiplied by a power of ten and rounded. A chunk is:
//
//	byte 0   u32 little-endian   bits per distance
//	     4   u8                  bytes of the minimum, 8 in all known files
//	     5   u64 little-endian   the minimum: an integer, or a float of the element's size
//	    13   8 bytes             zero
//	    21   the distances, without gaps, the most significant bit first
//
// If the bits per distance are those of an element, uncompressed elements follow instead, little-endian
// (in the byte order of the writing machine). If there is a fill value, a distance of all ones means
// it. An encoder always appends its current byte, even an empty one.
//
// The filter has 20 parameters of 32 bits. H5Zscaleoffset.c, the specification, uses:
//
//	[0] 0 floats in decimal scale, 1 floats in exponent scale, 2 integers
//	[1] floats: the power of ten, signed; integers: the bits, or 0 to compute them
//	[2] elements   [3] 0 integer, 1 float   [4] size   [5] signed   [6] 1: big-endian
//	[7] 1: a fill value is set   [8], [9] its low and its high half
//
// For example, the integers 100, 103, 101, 102 of 16 bits are
//
//	02 00 00 00 │ 08 │ 64 00 00 00 00 00 00 00 │ 00 00 00 00 00 00 00 00 │ 36 00
//	2 bits        8    the minimum 100            zero                      00 11 01 10
package scaleoffset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"varve/codec/internal/corrupt"
)

const (
	paramCount = 20
	headerSize = 21
)

// Scaling holds the filter's parameters. Any number of goroutines may use it.
type Scaling struct {
	isStored    bool // chunks are stored unchanged
	count       int  // elements per chunk
	size        int  // bytes per element
	isFloat     bool
	isBigEndian bool
	hasFill     bool
	fill        uint64  // bits of the fill value
	power       float64 // power of ten by which a float's distances are divided
}

// Parse returns the Scaling for the filter's parameters in a file.
func Parse(values []uint32) (*Scaling, error) {
	if len(values) != paramCount {
		return nil, corrupt.Errorf("scaleoffset: %d parameters, must be %d", len(values), paramCount)
	}
	s := &Scaling{
		count:       int(values[2]),
		size:        int(values[4]),
		isFloat:     values[3] == 1,
		isBigEndian: values[6] == 1,
		hasFill:     values[7] == 1,
		fill:        uint64(values[8]) | uint64(values[9])<<32,
	}
	if values[3] > 1 || values[6] > 1 || values[7] > 1 {
		return nil, corrupt.Errorf("scaleoffset: class (parameter 3) %d, byte order (6) %d, fill value (7) %d, each must be 0 or 1",
			values[3], values[6], values[7])
	}
	set := s.setIntegers
	if s.isFloat {
		set = s.setFloats
	}
	if err := set(values[0], int32(values[1])); err != nil {
		return nil, err
	}
	return s, nil
}

// setFloats checks and sets the scale of floats from parameters 0 and 1.
func (s *Scaling) setFloats(scale uint32, factor int32) error {
	switch {
	case scale == 1:
		return fmt.Errorf("scaleoffset: exponent scaling of floats: %w", errors.ErrUnsupported)
	case scale != 0:
		return corrupt.Errorf("scaleoffset: scale type %d of floats, must be 0", scale)
	case s.size != 4 && s.size != 8:
		return corrupt.Errorf("scaleoffset: floats of %d bytes, must be 4 or 8", s.size)
	}
	s.power = powerOfTen(factor, 8*s.size)
	return nil
}

// powerOfTen returns the same power of ten as pow (64 bits) or powf (32 bits) in C: correctly rounded,
// and 0 or infinite outside the range.
func powerOfTen(exponent int32, bits int) float64 {
	v, err := strconv.ParseFloat("1e"+strconv.Itoa(int(exponent)), bits)
	if err != nil && exponent < 0 {
		return 0
	}
	return v
}

// setIntegers checks and sets the bits of integers from parameters 0 and 1.
func (s *Scaling) setIntegers(scale uint32, factor int32) error {
	if scale != 2 {
		return corrupt.Errorf("scaleoffset: scale type %d of integers, must be 2", scale)
	}
	if s.size != 1 && s.size != 2 && s.size != 4 && s.size != 8 {
		return corrupt.Errorf("scaleoffset: integers of %d bytes, must be 1, 2, 4 or 8", s.size)
	}
	if int(factor) > 8*s.size {
		return corrupt.Errorf("scaleoffset: %d bits per integer of %d bytes", factor, s.size)
	}
	s.isStored = int(factor) == 8*s.size
	return nil
}

// Decode decodes a chunk to the beginning of dst and returns the decoded length. Elements keep the type
// and byte order of the dataset. It allocates no memory.
func (s *Scaling) Decode(dst, src []byte) (int, error) {
	if s.isStored {
		if len(src) > len(dst) {
			return 0, corrupt.Errorf("scaleoffset: unfiltered chunk of %d bytes, at most %d are expected", len(src), len(dst))
		}
		return copy(dst, src), nil
	}
	if s.count > len(dst)/s.size {
		return 0, corrupt.Errorf("scaleoffset: the parameters give %d elements of %d bytes, at most %d bytes are expected", s.count, s.size, len(dst))
	}
	dst = dst[:s.count*s.size]
	if len(src) < headerSize {
		return 0, corrupt.Errorf("scaleoffset: truncated at byte %d, in the header (%d bytes)", len(src), headerSize)
	}
	bits := binary.LittleEndian.Uint32(src)
	if bits > uint32(8*s.size) {
		return 0, corrupt.Errorf("scaleoffset: %d bits per distance at byte 0, at most %d are allowed", bits, 8*s.size)
	}
	minimum := binary.LittleEndian.Uint64(src[5:])
	if n := src[4]; n < 8 {
		minimum &= 1<<(8*n) - 1
	}
	// bits <= 8*size, and count*size <= len(dst), so this cannot overflow.
	if need := headerSize + (s.count*int(bits)+7)/8; need > len(src) {
		return 0, corrupt.Errorf("scaleoffset: truncated at byte %d: %d distances of %d bits need %d bytes",
			len(src), s.count, bits, need)
	}
	s.restore(dst, src[headerSize:], uint(bits), minimum)
	return len(dst), nil
}

// restore fills dst with the elements of the distances in src.
func (s *Scaling) restore(dst, src []byte, bits uint, minimum uint64) {
	d := distances{src: src, size: s.size, bits: bits, fillMark: noMark, fill: s.fill}
	if s.hasFill {
		d.fillMark = 1<<bits - 1
	}
	switch {
	case bits == uint(8*s.size):
		copy(dst, src)
	case !s.isFloat:
		d.minimum = minimum
		d.unpack(dst)
	case s.size == 4:
		d.float32s(dst, math.Float32frombits(uint32(minimum)), float32(s.power))
	default:
		d.float64s(dst, math.Float64frombits(minimum), s.power)
	}
	if s.isBigEndian {
		swap(dst, s.size)
	}
}
