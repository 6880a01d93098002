package codec

import "math"

// scaling maps floats to (x − offset) · scale and back. It computes in the type that
// NumPy uses: float16 and float32 in their own type, rounding each step, and integers in
// float64.
type scaling struct {
	scale, offset float64
	isRounded     bool // to integers, ties to even
}

// computesInFloat32 reports whether elements of a type are computed with as float32.
func computesInFloat32(n number) bool { return n == numFloat16 || n == numFloat32 }

// decode fills dst, of type to, from src, of type from.
func (s scaling) decode(dst []byte, to number, src []byte, from number) {
	c := conversion{dst, to, src, from}
	switch {
	case decodeFused(s, c):
	case computesInFloat32(from):
		unscale[float32](s, c)
	default:
		unscale[float64](s, c)
	}
}

// encode fills dst, of type to, from src, of type from.
func (s scaling) encode(dst []byte, to number, src []byte, from number) error {
	if computesInFloat32(from) {
		return scale[float32](s, conversion{dst, to, src, from})
	}
	return scale[float64](s, conversion{dst, to, src, from})
}

// conversion is a buffer for elements of one type, and elements of another.
type conversion struct {
	dst  []byte
	to   number
	src  []byte
	from number
}

// nextLen returns the number of elements in the next block.
func (c *conversion) nextLen() int { return min(blockLen, len(c.src)/c.from.size()) }

// advance skips n elements.
func (c *conversion) advance(n int) {
	c.dst, c.src = c.dst[n*c.to.size():], c.src[n*c.from.size():]
}

func unscale[F float32 | float64](s scaling, c conversion) {
	var block [blockLen]F
	by, offset := roundConfig[F](s.scale, c.from), roundConfig[F](s.offset, c.from)
	for len(c.src) > 0 {
		b := block[:c.nextLen()]
		load(b, c.src, c.from)
		if c.from == numFloat16 {
			for i, v := range b {
				b[i] = roundToHalf(roundToHalf(v/by) + offset)
			}
		} else {
			for i, v := range b {
				b[i] = v/by + offset
			}
		}
		storeFloats(c.dst, b, c.to)
		c.advance(len(b))
	}
}

func scale[F float32 | float64](s scaling, c conversion) error {
	var block [blockLen]F
	by, offset := roundConfig[F](s.scale, c.from), roundConfig[F](s.offset, c.from)
	for at := 0; len(c.src) > 0; at += blockLen {
		b := block[:c.nextLen()]
		load(b, c.src, c.from)
		if c.from == numFloat16 {
			for i, v := range b {
				b[i] = roundToHalf(roundToHalf(v-offset) * by)
			}
		} else {
			for i, v := range b {
				b[i] = (v - offset) * by
			}
		}
		if s.isRounded {
			roundToIntegers(b)
		}
		if err := storeChecked(c, b, at); err != nil {
			return err
		}
		c.advance(len(b))
	}
	return nil
}

// storeChecked stores the results of the next elements; at is the index of the first. It
// returns an error if the old or the new type cannot hold a result.
func storeChecked[F float32 | float64](c conversion, b []F, at int) error {
	if i := floatOutside(b, c.to); i >= 0 {
		return rangeError(at+i, b[i], c.to)
	}
	if c.to.isFloat() {
		for i, v := range b {
			// An infinity that was not infinite before: the computation overflowed its
			// own type.
			if v-v != 0 && v == v && !c.isInfinite(i) {
				return rangeError(at+i, v, c.from)
			}
		}
	}
	storeFloats(c.dst, b, c.to)
	return nil
}

// isInfinite reports whether the i-th of the next elements is infinite.
func (c *conversion) isInfinite(i int) bool {
	return math.IsInf(floatValue(c.src[i*c.from.size():(i+1)*c.from.size()], c.from), 0)
}

// roundToIntegers rounds to integers, which every float type can represent.
func roundToIntegers[F float32 | float64](b []F) {
	for i, v := range b {
		b[i] = F(math.RoundToEven(float64(v)))
	}
}

// roundConfig rounds a number of the configuration to the type in which elements of type
// n are computed with.
func roundConfig[F float32 | float64](v float64, n number) F {
	if n == numFloat16 {
		return F(roundToHalf(v))
	}
	return F(v)
}
