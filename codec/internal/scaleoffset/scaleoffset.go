// Package scaleoffset decodes HDF5's scale-offset filter (filter 6), which stores each
// number of a chunk as its distance from the chunk's smallest one, in as few bits as
// the largest distance needs. Floats are multiplied by a power of ten and rounded first.
//
//	byte 0   u32 little-endian   bits: the bits of a distance
//	     4   u8                  bytes of the minimum that count, 8 in all known files
//	     5   u64 little-endian   the minimum: an integer, or a float in its own size
//	    13   8 bytes             zero
//	    21   the distances, one after another, the most significant bit first
//
// When bits is the number's whole width the numbers follow as they are, little-endian
// (as in the memory of the machine that wrote them). A distance of all ones stands for
// the fill value, if there is one. An encoder always appends the byte it had begun.
//
// The filter has 20 parameters of 32 bits, of which H5Zscaleoffset.c uses:
//
//	[0] 0 floats in decimal scale, 1 floats in exponent scale, 2 integers
//	[1] the power of ten, signed; or the bits, 0 for as many as it takes
//	[2] elements   [3] 0 integer, 1 float   [4] size   [5] signed   [6] 1: big-endian
//	[7] 1: there is a fill value   [8], [9] its low and its high half
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

// Scaling says how a chunk's numbers are restored. It is made by Parse, and may be
// used by any number of goroutines.
type Scaling struct {
	verbatim  bool
	count     int // elements in a chunk
	size      int // bytes an element
	isFloat   bool
	bigEndian bool
	hasFill   bool
	fill      uint64  // bits of the fill value
	power     float64 // of ten, by which a float's distances are divided
}

// Parse reads the filter's parameters as the file holds them.
func Parse(values []uint32) (*Scaling, error) {
	if len(values) != paramCount {
		return nil, corrupt.Errorf("scaleoffset: %d parameters, which should be %d", len(values), paramCount)
	}
	s := &Scaling{
		count:     int(values[2]),
		size:      int(values[4]),
		isFloat:   values[3] == 1,
		bigEndian: values[6] == 1,
		hasFill:   values[7] == 1,
		fill:      uint64(values[8]) | uint64(values[9])<<32,
	}
	if values[3] > 1 || values[6] > 1 || values[7] > 1 {
		return nil, corrupt.Errorf("scaleoffset: class %d, byte order %d, fill value %d, each of which should be 0 or 1",
			values[3], values[6], values[7])
	}
	scale := s.scaleIntegers
	if s.isFloat {
		scale = s.scaleFloats
	}
	if err := scale(values[0], int32(values[1])); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Scaling) scaleFloats(scale uint32, factor int32) error {
	switch {
	case scale == 1:
		return fmt.Errorf("scaleoffset: exponent scaling of floats: %w", errors.ErrUnsupported)
	case scale != 0:
		return corrupt.Errorf("scaleoffset: scale type %d of floats, which should be 0", scale)
	case s.size != 4 && s.size != 8:
		return corrupt.Errorf("scaleoffset: floats of %d bytes, which should be 4 or 8", s.size)
	}
	s.power = powerOfTen(factor, 8*s.size)
	return nil
}

// powerOfTen returns the power as C's pow and powf give it: correctly rounded, 0 or
// infinite past the range.
func powerOfTen(exponent int32, bits int) float64 {
	v, err := strconv.ParseFloat("1e"+strconv.Itoa(int(exponent)), bits)
	if err != nil && exponent < 0 {
		return 0
	}
	return v
}

func (s *Scaling) scaleIntegers(scale uint32, factor int32) error {
	if scale != 2 {
		return corrupt.Errorf("scaleoffset: scale type %d of integers, which should be 2", scale)
	}
	if s.size != 1 && s.size != 2 && s.size != 4 && s.size != 8 {
		return corrupt.Errorf("scaleoffset: integers of %d bytes, which should be 1, 2, 4 or 8", s.size)
	}
	if int(factor) > 8*s.size {
		return corrupt.Errorf("scaleoffset: %d bits of integers of %d bytes", factor, s.size)
	}
	s.verbatim = int(factor) == 8*s.size
	return nil
}

// Decode writes a chunk's elements to dst, in their stored type and byte order, and
// returns how many bytes that are. It needs no memory.
func (s *Scaling) Decode(dst, src []byte) (int, error) {
	if s.verbatim {
		if len(src) > len(dst) {
			return 0, corrupt.Errorf("scaleoffset: %d bytes stored as they are, at most %d expected", len(src), len(dst))
		}
		return copy(dst, src), nil
	}
	if s.count > len(dst)/s.size {
		return 0, corrupt.Errorf("scaleoffset: %d elements of %d bytes, at most %d bytes expected", s.count, s.size, len(dst))
	}
	dst = dst[:s.count*s.size]
	if len(src) < headerSize {
		return 0, corrupt.Errorf("scaleoffset: header truncated at byte %d of %d", len(src), headerSize)
	}
	bits := binary.LittleEndian.Uint32(src)
	if bits > uint32(8*s.size) {
		return 0, corrupt.Errorf("scaleoffset: %d bits at byte 0 of numbers of %d bytes", bits, s.size)
	}
	minimum := binary.LittleEndian.Uint64(src[5:])
	if n := src[4]; n < 8 {
		minimum &= 1<<(8*n) - 1
	}
	// bits <= 8*size, and dst holds count*size bytes: no overflow.
	if need := headerSize + (s.count*int(bits)+7)/8; need > len(src) {
		return 0, corrupt.Errorf("scaleoffset: truncated at byte %d: %d distances of %d bits need %d bytes",
			len(src), s.count, bits, need)
	}
	s.restore(dst, src[headerSize:], uint(bits), minimum)
	return len(dst), nil
}

// restore turns distances into elements.
func (s *Scaling) restore(dst, src []byte, bits uint, minimum uint64) {
	d := distances{src: src, size: s.size, bits: bits, fillMark: none, fill: s.fill}
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
	if s.bigEndian {
		swap(dst, s.size)
	}
}
