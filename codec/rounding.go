package codec

import (
	"math"
	"math/bits"
)

// rounding is how a value between two others becomes one of them.
type rounding int

const (
	nearestEven rounding = iota
	towardsZero
	towardsPositive
	towardsNegative
	nearestAway
)

// wholes fills dst with src rounded to whole numbers.
func (r rounding) wholes(dst, src []float64) {
	dst = dst[:len(src)]
	switch r {
	case nearestEven:
		for i, v := range src {
			dst[i] = math.RoundToEven(v)
		}
	case towardsZero:
		for i, v := range src {
			dst[i] = math.Trunc(v)
		}
	case towardsPositive:
		for i, v := range src {
			dst[i] = math.Ceil(v)
		}
	case towardsNegative:
		for i, v := range src {
			dst[i] = math.Floor(v)
		}
	case nearestAway:
		for i, v := range src {
			dst[i] = math.Round(v)
		}
	}
}

// float rounds ±m·2ᵉ to the digits that a float type has, as if exponents had no upper
// bound. Only so much of the result is out of range as the rounding makes it.
func (r rounding) float(negative bool, m uint64, e int, n number) float64 {
	sign := 1.0
	if negative {
		sign = -1
	}
	digits := mantissaBits(n) + 1
	drop := max(bits.Len64(m)-digits, leastExponent(n)-e)
	if drop <= 0 || m == 0 {
		return math.Copysign(math.Ldexp(float64(m), e), sign)
	}
	kept, rest, half := uint64(0), m, uint64(math.MaxUint64) // all of m is less than half a unit
	if drop <= 64 {
		kept, rest, half = m>>drop, m&(1<<drop-1), 1<<(drop-1)
	}
	if r.up(negative, kept, rest, half) {
		kept++
	}
	return math.Copysign(math.Ldexp(float64(kept), e+drop), sign)
}

// up reports whether the rest makes what is kept of a magnitude one more.
func (r rounding) up(negative bool, kept, rest, half uint64) bool {
	switch r {
	case towardsZero:
		return false
	case towardsPositive:
		return rest != 0 && !negative
	case towardsNegative:
		return rest != 0 && negative
	case nearestAway:
		return rest >= half
	}
	return rest > half || rest == half && kept&1 == 1
}

// leastExponent returns the power of two that is the least positive float.
func leastExponent(n number) int {
	switch n {
	case numFloat16:
		return -24
	case numFloat32:
		return -149
	}
	return -1074
}

// mantissa takes a finite float apart into m·2ᵉ, without its sign.
func mantissa(v float64) (m uint64, e int) {
	b := math.Float64bits(v)
	m, e = b&(1<<52-1), int(b>>52&0x7ff)
	if e == 0 {
		return m, -1074
	}
	return m | 1<<52, e - 1075
}

// wrapFloat returns a finite whole number modulo 2⁶⁴.
func wrapFloat(v float64) uint64 {
	m, e := mantissa(v)
	switch {
	case e >= 64:
		m = 0
	case e >= 0:
		m <<= e
	case e > -64:
		m >>= -e
	default:
		m = 0
	}
	if v < 0 {
		return -m
	}
	return m
}
