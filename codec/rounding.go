package codec

import (
	"math"
	"math/bits"
)

// rounding is the rule for a value between two representable values.
type rounding int

const (
	nearestEven rounding = iota
	towardsZero
	towardsPositive
	towardsNegative
	nearestAway
)

// roundAll fills dst with src rounded to integers.
func (r rounding) roundAll(dst, src []float64) {
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

// roundFloat rounds ±m·2ᵉ to the digits of a float type, as if its exponent had no upper
// bound. The caller checks the range.
func (r rounding) roundFloat(negative bool, m uint64, e int, n number) float64 {
	sign := 1.0
	if negative {
		sign = -1
	}
	digits := mantissaBits(n) + 1
	// Subnormal floats have fewer digits: their last digit is that of minExponent.
	drop := max(bits.Len64(m)-digits, minExponent(n)-e)
	if drop <= 0 || m == 0 {
		return math.Copysign(math.Ldexp(float64(m), e), sign)
	}
	quotient, rest, half := uint64(0), m, uint64(math.MaxUint64) // all of m is less than half a unit
	if drop <= 64 {
		quotient, rest, half = m>>drop, m&(1<<drop-1), 1<<(drop-1)
	}
	if r.roundsUp(negative, quotient, rest, half) {
		quotient++
	}
	return math.Copysign(math.Ldexp(float64(quotient), e+drop), sign)
}

// roundsUp reports whether a remainder increments the quotient, the magnitude's kept
// digits.
func (r rounding) roundsUp(negative bool, quotient, rest, half uint64) bool {
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
	return rest > half || rest == half && quotient&1 == 1
}

// minExponent returns the exponent of the least positive float.
func minExponent(n number) int {
	switch n {
	case numFloat16:
		return -24
	case numFloat32:
		return -149
	}
	return -1074
}

// mantissa splits a finite float into m·2ᵉ, without its sign.
func mantissa(v float64) (m uint64, e int) {
	b := math.Float64bits(v)
	m, e = b&(1<<52-1), int(b>>52&0x7ff)
	if e == 0 {
		return m, -1074
	}
	return m | 1<<52, e - 1075
}

// wrapFloat returns a finite integral float modulo 2⁶⁴.
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
