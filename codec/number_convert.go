package codec

import "math"

// convert fills dst with the elements of src, converted like NumPy's astype.
func convert(dst []byte, to number, src []byte, from number) {
	_ = converter{to: to, from: from}.run(dst, src) // without checking it cannot fail
}

// convertExactly is like convert, but returns an error for elements out of range. It
// allows rounding.
func convertExactly(dst []byte, to number, src []byte, from number) error {
	return converter{to: to, from: from, isChecked: true}.run(dst, src)
}

// converter converts elements from one type to another.
type converter struct {
	to, from  number
	isChecked bool
	first     int // index of the first element, for messages
}

// run converts through the type in which every value is rounded at most once.
func (c converter) run(dst, src []byte) error {
	switch {
	case c.to == c.from:
		copy(dst, src)
		return nil
	case !c.to.isFloat() && !c.from.isFloat():
		return c.words(dst, src)
	case c.to.isFloat() && c.to != numFloat64 && c.from != numFloat64:
		return convertFloats[float32](c, dst, src)
	}
	return convertFloats[float64](c, dst, src)
}

func (c converter) words(dst, src []byte) error {
	var block [blockLen]uint64
	for at := 0; len(src) > 0; at += blockLen {
		b := block[:min(blockLen, len(src)/c.from.size())]
		load(b, src, c.from)
		if c.isChecked {
			if i := wordOutside(b, c.from, c.to); i >= 0 {
				return rangeError(c.first+at+i, wordValue(b[i], c.from), c.to)
			}
		}
		storeWords(dst, b, c.to)
		dst, src = dst[len(b)*c.to.size():], src[len(b)*c.from.size():]
	}
	return nil
}

func convertFloats[F float32 | float64](c converter, dst, src []byte) error {
	var block [blockLen]F
	for at := 0; len(src) > 0; at += blockLen {
		b := block[:min(blockLen, len(src)/c.from.size())]
		load(b, src, c.from)
		if c.isChecked {
			if i := floatOutside(b, c.to); i >= 0 {
				return rangeError(c.first+at+i, b[i], c.to)
			}
		}
		storeFloats(dst, b, c.to)
		dst, src = dst[len(b)*c.to.size():], src[len(b)*c.from.size():]
	}
	return nil
}

// wordValue returns an integer for a message.
func wordValue(v uint64, n number) any {
	if n.isSigned() {
		return int64(v)
	}
	return v
}

// wordOutside returns the index of the first integer that another integer type cannot
// hold, or -1.
func wordOutside(b []uint64, from, to number) int {
	lo, hi := to.integerRange()
	if !from.isSigned() {
		for i, v := range b {
			if v > hi {
				return i
			}
		}
		return -1
	}
	top := int64(min(hi, math.MaxInt64))
	for i, v := range b {
		if int64(v) < lo || int64(v) > top {
			return i
		}
	}
	return -1
}

// floatOutside returns the index of the first float that a type cannot hold after
// rounding, or -1. Integers are rounded towards zero. Float types hold infinities and
// NaN, but a finite value must not become one.
func floatOutside[F float32 | float64](b []F, to number) int {
	if to == numBool {
		for i, v := range b {
			if v != 0 && v != 1 {
				return i
			}
		}
		return -1
	}
	above, below := floatBounds(to)
	for i, v := range b {
		// The negated comparison is also true for NaN.
		if f := float64(v); !(f > above && f < below) && !(to.isFloat() && f-f != 0) {
			return i
		}
	}
	return -1
}

// floatBounds returns the exclusive bounds of the values that round to a value of a type.
func floatBounds(n number) (above, below float64) {
	switch n {
	case numFloat16:
		// Half a unit above 65504, the largest float16: from there on, ties round to
		// infinity.
		return -65520, 65520
	case numFloat32:
		const tie = 0x1p128 - 0x1p103
		return -tie, tie
	case numFloat64:
		return math.Inf(-1), math.Inf(1)
	case numInt64:
		// float64 has no value between −2⁶³ and the next below, so subtracting 1 would
		// change nothing.
		return math.Nextafter(-0x1p63, math.Inf(-1)), 0x1p63
	case numUint64:
		return -1, 0x1p64
	}
	lo, hi := n.integerRange()
	return float64(lo) - 1, float64(hi) + 1
}
