package codec

import (
	"fmt"
	"math"
)

// canHold reports whether a type can represent every value of another exactly.
func (n number) canHold(of number) bool {
	if n.isFloat() || of.isFloat() {
		digits := 8 * of.size()
		if of.isFloat() {
			digits = mantissaBits(of) + 1
		}
		// For floats only digits count: a float type with more digits has a larger
		// exponent range.
		return n.isFloat() && digits <= mantissaBits(n)+1
	}
	lo, hi := n.integerRange()
	least, greatest := of.integerRange()
	return lo <= least && greatest <= hi
}

// run fills dst from src.
func (c cast) run(dst, src []byte) error {
	switch {
	case len(c.pairs) == 0 && c.to.canHold(c.from):
		convert(dst, c.to, src, c.from)
		return nil
	// Conversion to the nearest float is what the hardware does, so the fast converter
	// applies.
	case len(c.pairs) == 0 && c.to.isFloat() && c.rounding == nearestEven:
		return converter{to: c.to, from: c.from, isChecked: c.outOfRange != clampValues}.run(dst, src)
	case c.from.isFloat():
		return c.castFloats(conversion{dst, c.to, src, c.from})
	}
	return c.castIntegers(conversion{dst, c.to, src, c.from})
}

// castHits are the pairs that replace the elements of a block, counted from 1; 0 is none.
type castHits [blockLen]uint16

// add records that pair k replaces element i, unless an earlier pair does.
func (h *castHits) add(i, k int) {
	if h[i] == 0 {
		h[i] = uint16(k + 1)
	}
}

// applyMap overwrites the replaced elements with the values of their pairs.
func (c cast) applyMap(dst []byte, hits []uint16) {
	size := c.to.size()
	for i, h := range hits {
		if h != 0 {
			copy(dst[i*size:(i+1)*size], c.pairs[h-1].to)
		}
	}
}

// castIntegers casts integers. Replaced elements are set to 0 until applyMap, since every
// type can hold 0.
func (c cast) castIntegers(v conversion) error {
	var block [blockLen]uint64
	for at := 0; len(v.src) > 0; at += blockLen {
		var hits castHits
		b := block[:v.nextLen()]
		load(b, v.src, c.from)
		for k := range c.pairs {
			for i, w := range b {
				if w == c.pairs[k].word {
					hits.add(i, k)
				}
			}
		}
		if err := c.storeIntegers(v.dst, clearHits(b, &hits), at); err != nil {
			return err
		}
		c.applyMap(v.dst, hits[:len(b)])
		v.advance(len(b))
	}
	return nil
}

func clearHits[W wide](b []W, hits *castHits) []W {
	for i, h := range hits[:len(b)] {
		if h != 0 {
			b[i] = 0
		}
	}
	return b
}

// storeIntegers stores integers by the rules for values out of range.
func (c cast) storeIntegers(dst []byte, b []uint64, at int) error {
	if c.to.isFloat() {
		var out [blockLen]float64
		c.roundToFloats(out[:len(b)], b)
		return c.storeFloats(dst, out[:len(b)], at)
	}
	switch i := wordOutside(b, c.from, c.to); {
	case i < 0 || c.outOfRange == wrapValues:
	case c.outOfRange == clampValues:
		clampWords(b, c.from, c.to)
	default:
		return c.rangeError(at+i, wordValue(b[i], c.from))
	}
	storeWords(dst, b, c.to)
	return nil
}

// roundToFloats rounds integers to floats of the target type.
func (c cast) roundToFloats(out []float64, b []uint64) {
	switch {
	case !c.to.canHold(c.from):
		for i, v := range b {
			negative := c.from.isSigned() && int64(v) < 0
			if negative {
				v = -v
			}
			out[i] = c.rounding.roundFloat(negative, v, 0, c.to)
		}
	case c.from.isSigned():
		for i, v := range b {
			out[i] = float64(int64(v))
		}
	default:
		for i, v := range b {
			out[i] = float64(v)
		}
	}
}

func clampWords(b []uint64, from, to number) {
	lo, hi := to.integerRange()
	for i, v := range b {
		switch {
		case from.isSigned() && int64(v) < 0:
			b[i] = uint64(max(int64(v), lo))
		default:
			b[i] = min(v, hi)
		}
	}
}

// castFloats casts floats.
func (c cast) castFloats(v conversion) error {
	var block [blockLen]float64
	for at := 0; len(v.src) > 0; at += blockLen {
		var hits castHits
		b := block[:v.nextLen()]
		load(b, v.src, c.from)
		for k := range c.pairs {
			p := c.pairs[k].float
			for i, w := range b {
				// p != p is true for NaN only: a NaN in the map replaces every NaN.
				if w == p || p != p && w != w {
					hits.add(i, k)
				}
			}
		}
		if err := c.storeRounded(v.dst, clearHits(b, &hits), at); err != nil {
			return err
		}
		c.applyMap(v.dst, hits[:len(b)])
		v.advance(len(b))
	}
	return nil
}

func (c cast) storeRounded(dst []byte, b []float64, at int) error {
	if !c.to.isFloat() {
		return c.storeAsIntegers(dst, b, at)
	}
	if !c.to.canHold(c.from) {
		for i, v := range b {
			// v−v is 0 for finite values and NaN for infinities and NaN, which are not
			// rounded.
			if v-v == 0 {
				m, e := mantissa(v)
				b[i] = c.rounding.roundFloat(math.Signbit(v), m, e, c.to)
			}
		}
	}
	return c.storeFloats(dst, b, at)
}

// storeFloats stores floats that were rounded as if exponents were unlimited.
func (c cast) storeFloats(dst []byte, b []float64, at int) error {
	above, below := floatBounds(c.to)
	for i, v := range b {
		if !(v > above && v < below) && v-v == 0 && c.outOfRange != clampValues {
			return c.rangeError(at+i, v)
		}
	}
	storeFloats(dst, b, c.to)
	return nil
}

// storeAsIntegers rounds floats to integers and stores them.
func (c cast) storeAsIntegers(dst []byte, b []float64, at int) error {
	var wholes [blockLen]float64
	w := wholes[:len(b)]
	c.rounding.roundAll(w, b)
	// Nearly all blocks are in range and take the fast path.
	if floatOutside(w, c.to) < 0 {
		storeFloats(dst, w, c.to)
		return nil
	}
	var words [blockLen]uint64
	above, below := floatBounds(c.to)
	lo, hi := c.to.integerRange()
	for i, v := range w {
		switch {
		case v-v != 0:
			return fmt.Errorf("element %d is %v, which %v cannot hold; map it in scalar_map", at+i, v, c.to)
		case v > above && v < below || c.outOfRange == wrapValues:
			words[i] = wrapFloat(v)
		case c.outOfRange == failOnValues:
			return c.rangeError(at+i, b[i])
		case v < 0:
			words[i] = uint64(lo)
		default:
			words[i] = hi
		}
	}
	storeWords(dst, words[:len(b)], c.to)
	return nil
}

func (c cast) rangeError(at int, value any) error {
	lo, hi := limits(c.to)
	return fmt.Errorf("element %d is %v, out of the range of %v (%v to %v); set out_of_range to \"clamp\" or, for integers, \"wrap\"", at, value, c.to, lo, hi)
}
