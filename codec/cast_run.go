package codec

import (
	"fmt"
	"math"
)

// holdsAll reports whether a type holds every value of another.
func (n number) holdsAll(of number) bool {
	if n.isFloat() || of.isFloat() {
		digits := 8 * of.size()
		if of.isFloat() {
			digits = mantissaBits(of) + 1
		}
		return n.isFloat() && digits <= mantissaBits(n)+1
	}
	lo, hi := n.integerRange()
	least, greatest := of.integerRange()
	return lo <= least && greatest <= hi
}

// run fills dst from src.
func (c cast) run(dst, src []byte) error {
	switch {
	case len(c.pairs) == 0 && c.to.holdsAll(c.from):
		convert(dst, c.to, src, c.from)
		return nil
	case len(c.pairs) == 0 && c.to.isFloat() && c.rounding == nearestEven:
		return converter{to: c.to, from: c.from, check: c.beyond != clampBeyond}.run(dst, src)
	case c.from.isFloat():
		return c.floats(conversion{dst, c.to, src, c.from})
	}
	return c.words(conversion{dst, c.to, src, c.from})
}

// castHits are the pairs that the elements of a block are replaced by, from 1; 0 is none.
type castHits [blockLen]uint16

// note keeps that pair k replaces element i, unless an earlier pair does.
func (h *castHits) note(i, k int) {
	if h[i] == 0 {
		h[i] = uint16(k + 1)
	}
}

// patch puts down what the map says in place of what is there.
func (c cast) patch(dst []byte, hits []uint16) {
	size := c.to.size()
	for i, h := range hits {
		if h != 0 {
			copy(dst[i*size:(i+1)*size], c.pairs[h-1].to)
		}
	}
}

// words casts integers. Those in the map are 0 meanwhile, which every type holds.
func (c cast) words(v conversion) error {
	var block [blockLen]uint64
	for at := 0; len(v.src) > 0; at += blockLen {
		var hits castHits
		b := block[:v.next()]
		load(b, v.src, c.from)
		for k := range c.pairs {
			for i, w := range b {
				if w == c.pairs[k].word {
					hits.note(i, k)
				}
			}
		}
		if err := c.putWords(v.dst, clearHits(b, &hits), at); err != nil {
			return err
		}
		c.patch(v.dst, hits[:len(b)])
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

// putWords stores integers by the rules.
func (c cast) putWords(dst []byte, b []uint64, at int) error {
	if c.to.isFloat() {
		var out [blockLen]float64
		c.floatsOf(out[:len(b)], b)
		return c.putFloats(dst, out[:len(b)], at)
	}
	switch i := wordOutside(b, c.from, c.to); {
	case i < 0 || c.beyond == wrapBeyond:
	case c.beyond == clampBeyond:
		clampWords(b, c.from, c.to)
	default:
		return c.misfit(at+i, wordValue(b[i], c.from))
	}
	storeWords(dst, b, c.to)
	return nil
}

// floatsOf rounds integers to floats of the type.
func (c cast) floatsOf(out []float64, b []uint64) {
	switch {
	case !c.to.holdsAll(c.from):
		for i, v := range b {
			negative := c.from.isSigned() && int64(v) < 0
			if negative {
				v = -v
			}
			out[i] = c.rounding.float(negative, v, 0, c.to)
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

// floats casts floats.
func (c cast) floats(v conversion) error {
	var block [blockLen]float64
	for at := 0; len(v.src) > 0; at += blockLen {
		var hits castHits
		b := block[:v.next()]
		load(b, v.src, c.from)
		for k := range c.pairs {
			p := c.pairs[k].float
			for i, w := range b {
				if w == p || p != p && w != w {
					hits.note(i, k)
				}
			}
		}
		if err := c.putRounded(v.dst, clearHits(b, &hits), at); err != nil {
			return err
		}
		c.patch(v.dst, hits[:len(b)])
		v.advance(len(b))
	}
	return nil
}

func (c cast) putRounded(dst []byte, b []float64, at int) error {
	if !c.to.isFloat() {
		return c.putWholes(dst, b, at)
	}
	if !c.to.holdsAll(c.from) {
		for i, v := range b {
			if v-v == 0 {
				m, e := mantissa(v)
				b[i] = c.rounding.float(math.Signbit(v), m, e, c.to)
			}
		}
	}
	return c.putFloats(dst, b, at)
}

// putFloats stores floats that have been rounded as if exponents had no bounds.
func (c cast) putFloats(dst []byte, b []float64, at int) error {
	above, below := floatBounds(c.to)
	for i, v := range b {
		if !(v > above && v < below) && v-v == 0 && c.beyond != clampBeyond {
			return c.misfit(at+i, v)
		}
	}
	storeFloats(dst, b, c.to)
	return nil
}

// putWholes rounds floats to whole numbers and stores them as integers.
func (c cast) putWholes(dst []byte, b []float64, at int) error {
	var wholes [blockLen]float64
	w := wholes[:len(b)]
	c.rounding.wholes(w, b)
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
			return fmt.Errorf("element %d is %v, which %v has no value for; name one in scalar_map", at+i, v, c.to)
		case v > above && v < below || c.beyond == wrapBeyond:
			words[i] = wrapFloat(v)
		case c.beyond == failBeyond:
			return c.misfit(at+i, b[i])
		case v < 0:
			words[i] = uint64(lo)
		default:
			words[i] = hi
		}
	}
	storeWords(dst, words[:len(b)], c.to)
	return nil
}

func (c cast) misfit(at int, value any) error {
	lo, hi := limits(c.to)
	return fmt.Errorf("element %d is %v, which is out of the range of %v, %v to %v; out_of_range may be \"clamp\" or, for integers, \"wrap\"", at, value, c.to, lo, hi)
}
