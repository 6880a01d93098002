package codec

import "math"

// scaling takes floats to (x − offset) · scale and back. It calculates in the type that
// NumPy does: float16 and float32 in their own, each step rounded, integers in float64.
type scaling struct {
	scale, offset float64
	round         bool // to whole numbers, ties to even
}

// calculatesNarrow reports whether elements of a type are calculated with as float32.
func calculatesNarrow(n number) bool { return n == numFloat16 || n == numFloat32 }

// decode fills dst, of type to, from src, of type from.
func (s scaling) decode(dst []byte, to number, src []byte, from number) {
	c := conversion{dst, to, src, from}
	switch {
	case unscaleFused(s, c):
	case calculatesNarrow(from):
		unscale[float32](s, c)
	default:
		unscale[float64](s, c)
	}
}

// encode fills dst, of type to, from src, of type from.
func (s scaling) encode(dst []byte, to number, src []byte, from number) error {
	if calculatesNarrow(from) {
		return scale[float32](s, conversion{dst, to, src, from})
	}
	return scale[float64](s, conversion{dst, to, src, from})
}

// conversion is room for elements of one type, and elements of another.
type conversion struct {
	dst  []byte
	to   number
	src  []byte
	from number
}

// next returns how many elements the next block has.
func (c *conversion) next() int { return min(blockLen, len(c.src)/c.from.size()) }

// advance goes past n elements.
func (c *conversion) advance(n int) {
	c.dst, c.src = c.dst[n*c.to.size():], c.src[n*c.from.size():]
}

func unscale[F float32 | float64](s scaling, c conversion) {
	var block [blockLen]F
	by, offset := rounded[F](s.scale, c.from), rounded[F](s.offset, c.from)
	for len(c.src) > 0 {
		b := block[:c.next()]
		load(b, c.src, c.from)
		if c.from == numFloat16 {
			for i, v := range b {
				b[i] = halved(halved(v/by) + offset)
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
	by, offset := rounded[F](s.scale, c.from), rounded[F](s.offset, c.from)
	for at := 0; len(c.src) > 0; at += blockLen {
		b := block[:c.next()]
		load(b, c.src, c.from)
		if c.from == numFloat16 {
			for i, v := range b {
				b[i] = halved(halved(v-offset) * by)
			}
		} else {
			for i, v := range b {
				b[i] = (v - offset) * by
			}
		}
		if s.round {
			toWholes(b)
		}
		if err := put(c, b, at); err != nil {
			return err
		}
		c.advance(len(b))
	}
	return nil
}

// put stores what has become of the next elements, the first of which is number at. It
// is an error if their type does not hold it, be that the one they had or the new one.
func put[F float32 | float64](c conversion, b []F, at int) error {
	if i := floatOutside(b, c.to); i >= 0 {
		return misfit(at+i, b[i], c.to)
	}
	if c.to.isFloat() {
		for i, v := range b {
			if v-v != 0 && v == v && !c.isInfinite(i) {
				return misfit(at+i, v, c.from)
			}
		}
	}
	storeFloats(c.dst, b, c.to)
	return nil
}

// isInfinite reports whether one of the next elements is an infinity.
func (c *conversion) isInfinite(i int) bool {
	return math.IsInf(floatValue(c.src[i*c.from.size():(i+1)*c.from.size()], c.from), 0)
}

// toWholes rounds to whole numbers, which every float type holds as far as it does.
func toWholes[F float32 | float64](b []F) {
	for i, v := range b {
		b[i] = F(math.RoundToEven(float64(v)))
	}
}

// rounded returns a number of the configuration in the type that is calculated in for
// elements of a type.
func rounded[F float32 | float64](v float64, n number) F {
	if n == numFloat16 {
		return F(halved(v))
	}
	return F(v)
}
