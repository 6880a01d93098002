package cf

import (
	"math"
	"math/bits"
)

// maxSeconds bounds instants so that two of them can be added and subtracted.
const maxSeconds = 1 << 61

// product is n × length nanoseconds as an instant, or false if it is out of range.
func product(n, length int64) (Instant, bool) {
	hi, lo := bits.Mul64(magnitude(n), uint64(length))
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

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func (t Instant) negative() Instant {
	if t.Nanoseconds == 0 {
		return Instant{-t.Seconds, 0}
	}
	return Instant{-t.Seconds - 1, int32(second) - t.Nanoseconds}
}

// add is t later by u.
func (t Instant) add(u Instant) Instant {
	sum := Instant{t.Seconds + u.Seconds, t.Nanoseconds + u.Nanoseconds}
	if sum.Nanoseconds >= int32(second) {
		sum.Seconds, sum.Nanoseconds = sum.Seconds+1, sum.Nanoseconds-int32(second)
	}
	return sum
}

// over divides a length of time by another: the whole part towards negative infinity, and the
// rest in nanoseconds. It is false if the whole part is out of range.
func (t Instant) over(length int64) (whole, rest int64, ok bool) {
	negative := t.Seconds < 0
	if negative {
		t = t.negative()
	}
	hi, lo := bits.Mul64(uint64(t.Seconds), uint64(second))
	lo, carry := bits.Add64(lo, uint64(t.Nanoseconds), 0)
	hi += carry
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

// at is the moment of a whole number, or false if it is out of range.
func (u Units) at(n int64) (Instant, bool) {
	t, ok := product(n, u.Nanoseconds)
	return u.Epoch.add(t), ok
}

// atFloat is the moment that xarray makes of a number: it calculates in float64 and cuts off
// what is less than a nanosecond, where datetime64 has the moment and the calendar; otherwise
// cftime calculates with 64 bits of precision, and rounds to microseconds.
func (u Units) atFloat(f float64) (Instant, bool) {
	if !u.coarse || u.Nanoseconds < 1000 {
		if x := f * float64(u.Nanoseconds); math.Abs(x) < 0x1p63 {
			t, _ := product(int64(x), 1)
			if t = u.Epoch.add(t); t.fine() || u.Nanoseconds < 1000 {
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

// microseconds is f × length as cftime rounds it: to even, but to a whole second rather than
// to the microsecond beside it.
func (u Units) microseconds(f float64) (int64, bool) {
	whole, fraction, ok := extended(math.Abs(f), uint64(u.Nanoseconds/1000))
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
		n = beside(whole, f < 0, rest == 999999)
	}
	return n, true
}

// beside is the integer above or below a number that is none.
func beside(whole uint64, negative, up bool) int64 {
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

// extended multiplies as the x87 does: the product rounded to a mantissa of 64 bits, as whole
// part and binary fraction. It is false from 2^62 on, and for what is no number.
func extended(f float64, factor uint64) (whole, fraction uint64, ok bool) {
	if !(f*float64(factor) < 0x1p62) {
		return 0, 0, false
	}
	mantissa, exponent := math.Frexp(f)
	hi, lo := bits.Mul64(uint64(mantissa*0x1p53), factor)
	exponent -= 53
	if n := bits.Len64(hi); n > 0 {
		lo, exponent = roundOff(hi, lo, n), exponent+n
		if lo == 0 { // carried out of the mantissa
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

// roundOff takes n bits off the end of a number of 128 bits, to the nearest, ties to even. It
// is 0 if that carries beyond 64 bits.
func roundOff(hi, lo uint64, n int) uint64 {
	kept, lost := hi<<(64-n)|lo>>n, lo<<(64-n)
	if lost > 1<<63 || lost == 1<<63 && kept&1 == 1 {
		kept++
	}
	return kept
}
