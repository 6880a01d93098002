package readers

import (
	"math"
	"math/bits"
)

// Bits returns up to 64 bits of a little-endian number, from bit pos on.
func Bits(b []byte, pos, size int) uint64 {
	var v uint64
	for i := range min(size, 64) {
		at := pos + i
		if at/8 < len(b) && b[at/8]>>(at%8)&1 != 0 {
			v |= 1 << i
		}
	}
	return v
}

// Float64 converts a little-endian float of any layout to the nearest float64.
func (t *Type) Float64(b []byte) float64 {
	f := t.Float
	exponent := Bits(b, f.ExponentPos, f.ExponentSize)
	shift := max(f.MantissaSize-64, 0)
	mantissa := Bits(b, f.MantissaPos+shift, f.MantissaSize)
	width := min(f.MantissaSize, 64)
	sign := 1.0
	if Bits(b, f.Sign, 1) != 0 {
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
	case f.Normalization == Implied && exponent > 0:
		value += math.Ldexp(1, scale+width)
	case f.Normalization == Implied:
		value = math.Ldexp(float64(mantissa), scale+1)
	case bits.Len64(mantissa) > 0:
		value = math.Ldexp(float64(mantissa), scale+1)
	}
	return sign * value
}

// ExactFloat returns the size of the smallest IEEE 754 float that holds whatever a float of
// odd bits can be: 2, 4 or 8 bytes, or 0 where there is none.
func (t *Type) ExactFloat() int {
	f := t.Float
	if t.Class != Float || t.Order == VAX || f.Normalization != Implied || f.ExponentSize < 1 || f.ExponentSize > 11 {
		return 0
	}
	top := 1<<f.ExponentSize - 2 - int64(f.ExponentBias) // the largest exponent of a number
	low := 1 - int64(f.ExponentBias) - int64(f.MantissaSize)
	for _, size := range []int{2, 4, 8} {
		to := ieee[size]
		bias := int64(to.ExponentBias)
		if f.MantissaSize <= to.MantissaSize && top <= bias && low >= 1-bias-int64(to.MantissaSize) {
			return size
		}
	}
	return 0
}
