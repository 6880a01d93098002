package readers

import (
	"math"
	"math/bits"
)

// Bits returns size bits (at most 64) of a little-endian number, starting at bit pos.
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

// Float64 converts a little-endian float of any bit layout to the nearest float64.
func (t *Type) Float64(b []byte) float64 {
	f := t.Float
	exponent := Bits(b, f.ExponentPos, f.ExponentSize)
	// A mantissa of more than 64 bits is cut to its highest 64, which is more than a float64 holds.
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
		// libhdf5 converts every NaN to one whose mantissa bits are all set.
		return math.Float64frombits(math.Float64bits(math.Copysign(math.Inf(1), sign)) | (1<<52 - 1))
	case exponent == 0 && mantissa == 0:
		return math.Copysign(0, sign)
	}
	scale := int(exponent) - int(f.ExponentBias) - width
	value := math.Ldexp(float64(mantissa), scale)
	// A subnormal number has no implied bit, but the exponent of the smallest normal number.
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

// ExactFloat returns the size in bytes of the smallest IEEE 754 float (2, 4 or 8) that represents
// every value of a float with an unusual bit layout, or 0 if none does.
func (t *Type) ExactFloat() int {
	f := t.Float
	if t.Class != Float || t.Order == VAX || f.Normalization != Implied || f.ExponentSize < 1 || f.ExponentSize > 11 {
		return 0
	}
	top := 1<<f.ExponentSize - 2 - int64(f.ExponentBias) // the largest exponent of a finite number
	// low is the exponent of the smallest subnormal: the IEEE float must reach as far down.
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
