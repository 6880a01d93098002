package cf

import (
	"math"
	"math/bits"
)

// maxSeconds limits instants, so that adding or subtracting two of them cannot overflow.
const maxSeconds = 1 << 61

// product returns n × length nanoseconds as an instant. It reports false if that is out of range.
func product(n, length int64) (Instant, bool) {
	hi, lo := bits.Mul64(magnitude(n), uint64(length))
	// Div64 panics if the quotient does not fit 64 bits.
	if hi >= uint64(second) {
		return Instant{}, false
	}
	seconds, rest := bits.Div64(hi, lo, uint64(second))
	if seconds > maxSeconds {
		return Instant{}, false
	}
	t := Instant{int64(seconds), int32(rest)}
	if n < 0 {
		t = t.negative()
	}
	return t, true
}

// magnitude returns the absolute value, which for the smallest int64 does not fit an int64.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// negative returns -t, as a span of time.
func (t Instant) negative() Instant {
	if t.Nanoseconds == 0 {
		return Instant{-t.Seconds, 0}
	}
	return Instant{-t.Seconds - 1, int32(second) - t.Nanoseconds}
}

// add returns the instant that is u later than t.
func (t Instant) add(u Instant) Instant {
	sum := Instant{t.Seconds + u.Seconds, t.Nanoseconds + u.Nanoseconds}
	if sum.Nanoseconds >= int32(second) {
		sum.Seconds, sum.Nanoseconds = sum.Seconds+1, sum.Nanoseconds-int32(second)
	}
	return sum
}

// dividedBy divides a time span by a length in nanoseconds. It returns the quotient, rounded down, and the
// rest in nanoseconds. ok is false if the quotient is out of range.
func (t Instant) dividedBy(length int64) (whole, rest int64, ok bool) {
	negative := t.Seconds < 0
	if negative {
		t = t.negative()
	}
	hi, lo := bits.Mul64(uint64(t.Seconds), uint64(second))
	lo, carry := bits.Add64(lo, uint64(t.Nanoseconds), 0)
	hi += carry
	// Div64 panics if the quotient does not fit 64 bits.
	if hi >= uint64(length) {
		return 0, 0, false
	}
	q, r := bits.Div64(hi, lo, uint64(length))
	if q >= math.MaxInt64 {
		return 0, 0, false
	}
	whole, rest = int64(q), int64(r)
	if negative {
		whole, rest = -whole, -rest
		if rest < 0 {
			whole, rest = whole-1, rest+length
		}
	}
	return whole, rest, true
}

// at returns the instant that an integer stands for. It reports false if that is out of range.
func (u Units) at(n int64) (Instant, bool) {
	t, ok := product(n, u.Nanoseconds)
	return u.Epoch.add(t), ok
}

// atFloat returns the instant to which xarray decodes a float. If datetime64 can represent the instant
// and the calendar, xarray calculates in float64 and truncates to nanoseconds. Otherwise it calls cftime,
// which calculates with a mantissa of 64 bits and rounds to microseconds.
func (u Units) atFloat(f float64) (Instant, bool) {
	if !u.isCoarse || u.Nanoseconds < 1000 {
		if x := f * float64(u.Nanoseconds); math.Abs(x) < 0x1p63 {
			t, _ := product(int64(x), 1)
			if t = u.Epoch.add(t); t.fitsDatetime64() || u.Nanoseconds < 1000 {
				return t, true
			}
		}
	}
	n, ok := u.microseconds(f)
	if !ok {
		return Instant{}, false
	}
	t, ok := product(n, 1000)
	return u.Epoch.add(t), ok
}

// microseconds returns f × length as cftime rounds it: to the nearest microsecond, ties to even. If the
// result is one microsecond away from a whole second, cftime rounds towards that second instead.
func (u Units) microseconds(f float64) (int64, bool) {
	whole, fraction, ok := multiplyExtended(math.Abs(f), uint64(u.Nanoseconds/1000))
	if !ok {
		return 0, false
	}
	n := int64(whole)
	if fraction > 1<<63 || fraction == 1<<63 && whole&1 == 1 {
		n++
	}
	if f < 0 {
		n = -n
	}
	if _, rest := floorDiv(n, 1e6); u.Nanoseconds >= second && fraction != 0 && (rest == 1 || rest == 999999) {
		n = neighbour(whole, f < 0, rest == 999999)
	}
	return n, true
}

// neighbour returns the integer above or below a number with a fraction. whole is the integer part of its
// absolute value.
func neighbour(whole uint64, negative, up bool) int64 {
	switch {
	case negative && up:
		return -int64(whole)
	case negative:
		return -int64(whole) - 1
	case up:
		return int64(whole) + 1
	}
	return int64(whole)
}

// multiplyExtended multiplies like cftime, which uses the long double of x86: it rounds the product to a
// mantissa of 64 bits. It returns the integer part and the binary fraction. It reports false from 2^62
// on, and for NaN.
func multiplyExtended(f float64, factor uint64) (whole, fraction uint64, ok bool) {
	if !(f*float64(factor) < 0x1p62) {
		return 0, 0, false
	}
	mantissa, exponent := math.Frexp(f)
	hi, lo := bits.Mul64(uint64(mantissa*0x1p53), factor)
	exponent -= 53
	if n := bits.Len64(hi); n > 0 {
		lo, exponent = roundOff(hi, lo, n), exponent+n
		if lo == 0 { // the carry left the mantissa
			lo, exponent = 1<<63, exponent+1
		}
	}
	switch {
	case exponent >= 0:
		return lo << exponent, 0, true
	case exponent > -64:
		return lo >> -exponent, lo << (64 + exponent), true
	case exponent > -128:
		return 0, lo >> (-exponent - 64), true
	}
	return 0, 0, true
}

// roundOff removes the last n bits of a 128-bit number and rounds to nearest, ties to even. The result
// is 0 if the carry leaves 64 bits.
func roundOff(hi, lo uint64, n int) uint64 {
	high, low := hi<<(64-n)|lo>>n, lo<<(64-n)
	if low > 1<<63 || low == 1<<63 && high&1 == 1 {
		high++
	}
	return high
}
