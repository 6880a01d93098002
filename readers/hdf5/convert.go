package hdf5

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"varve/readers"
)

// appendNative appends numbers in the form that a C program has them: little-endian, of
// 1, 2, 4 or 8 bytes. Numbers of odd bits are converted; what does not fit is clipped.
func appendNative(dst []byte, t *readers.Type, to *netcdfType, stored []byte) []byte {
	whole := t.Class == readers.Float && t.IsIEEE() || t.Class == readers.Integer && t.Precision == 8*t.Size && t.BitOffset == 0
	if whole && t.Size == to.size {
		return appendNumbers(dst, t, stored)
	}
	for ; len(stored) >= t.Size; stored = stored[t.Size:] {
		one := slices.Clone(stored[:t.Size])
		if t.Order == readers.BigEndian {
			slices.Reverse(one)
		}
		if t.Class == readers.Float {
			dst = appendFloat(dst, to.size, floatOf(t, one))
		} else {
			dst = appendInt(dst, to.size, t, one)
		}
	}
	return dst
}

// bitsOf returns up to 64 bits of a little-endian number, from bit pos on.
func bitsOf(b []byte, pos, size int) uint64 {
	var v uint64
	for i := range min(size, 64) {
		at := pos + i
		if at/8 < len(b) && b[at/8]>>(at%8)&1 != 0 {
			v |= 1 << i
		}
	}
	return v
}

func appendInt(dst []byte, size int, t *readers.Type, b []byte) []byte {
	n := min(t.Precision, 64)
	v := bitsOf(b, t.BitOffset, n)
	for i := n; i < t.Precision; i++ { // more than 64 bits: clip
		if !t.Signed && bitsOf(b, t.BitOffset+i, 1) != 0 {
			v = math.MaxUint64
		}
	}
	if t.Signed && n < 64 && v>>(n-1) != 0 {
		v |= ^uint64(0) << n
	}
	return append(dst, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
}

func appendFloat(dst []byte, size int, v float64) []byte {
	if size == 4 {
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

// floatOf converts a little-endian float of any layout.
func floatOf(t *readers.Type, b []byte) float64 {
	f := t.Float
	exponent := bitsOf(b, f.ExponentPos, f.ExponentSize)
	shift := max(f.MantissaSize-64, 0)
	mantissa := bitsOf(b, f.MantissaPos+shift, f.MantissaSize)
	width := min(f.MantissaSize, 64)
	sign := 1.0
	if bitsOf(b, f.Sign, 1) != 0 {
		sign = -1
	}
	top := uint64(1)<<min(f.ExponentSize, 63) - 1
	switch {
	case exponent == top && mantissa == 0:
		return math.Inf(int(sign))
	case exponent == top:
		return math.Float64frombits(math.Float64bits(math.Copysign(math.Inf(1), sign)) | (1<<52 - 1)) // so libhdf5 has it
	case exponent == 0 && mantissa == 0:
		return math.Copysign(0, sign)
	}
	scale := int(exponent) - int(f.ExponentBias) - width
	value := math.Ldexp(float64(mantissa), scale)
	switch {
	case f.Normalization == readers.Implied && exponent > 0:
		value += math.Ldexp(1, scale+width)
	case f.Normalization == readers.Implied:
		value = math.Ldexp(float64(mantissa), scale+1)
	case bits.Len64(mantissa) > 0:
		value = math.Ldexp(float64(mantissa), scale+1)
	}
	return sign * value
}
