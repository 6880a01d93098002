package sz

import (
	"math"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/glibc"
)

// Streams of relative bounds hold magnitudes, and signs apart: a byte each, in zstd, or none
// if nothing is negative. What is below the least value is zero.
//
// Those of factors say by what an element's magnitude is a multiple of what is predicted:
// (1 + bound) to the power of t - intervals/2, times 2 less a bit that makes room for
// rounding. The neighbours predict as if the logarithm of the field were linear. The others
// hold the logarithms themselves, to base 2, as a stream of absolute bounds would.

// factors decodes the elements of a stream of factors. The tree's symbols become indices
// to the factors, so that only those in use are calculated.
func (f *floats[T]) factors(c *classic[T]) error {
	symbols := f.tree.relabel()
	p := products[T]{exacts: &c.exacts, factors: make([]float64, len(symbols))}
	finer := 2 - math.Ldexp(1, -c.finer)
	for i, t := range symbols[1:] {
		if t < 0 || t >= c.intervals {
			return corrupt.Errorf("sz: type %d of %d", t, c.intervals)
		}
		p.factors[i+1] = glibc.Pow(1+c.bound, finer*float64(t-c.radius))
	}
	if err := f.decodeTypes(f.count); err != nil {
		return err
	}
	switch len(f.dims) {
	case 1:
		walkLine(p, f.out, f.types)
	case 2:
		walk(p, f.out, f.types, f.three())
	default:
		walk(wideProducts[T]{p}, f.out, f.types, f.three())
	}
	return nil
}

// products is the rule of factors for one and two axes.
type products[T float] struct {
	exacts  *exacts[T]
	factors []float64
}

func (p products[T]) first() T { return p.exacts.next() }

func (p products[T]) value(t int32, predicted T) T {
	if t == 0 {
		return p.exacts.next()
	}
	return T(math.Abs(float64(predicted)) * p.factors[t])
}

func (p products[T]) beyond() T { return 1 }

func (p products[T]) line(l, ll T) T { return l * l / ll }

func (p products[T]) corner(n *neighbours[T]) T { return n.l * n.u / n.ul }

// wideProducts is the rule of factors for three axes, which predicts in float64.
type wideProducts[T float] struct{ products[T] }

func (p wideProducts[T]) line(l, ll T) T {
	return T(float64(l) * float64(l) / float64(ll))
}

func (p wideProducts[T]) corner(n *neighbours[T]) T {
	over := float64(n.l) * float64(n.u) * float64(n.b) * float64(n.bul)
	return T(over / (float64(n.ul) * float64(n.bu) * float64(n.bl)))
}

// finish makes the elements out of what was decoded.
func (f *floats[T]) finish(c *classic[T]) error {
	var signs []byte
	if len(c.signs) > 0 {
		var err error
		if signs, err = unzstd(nil, c.signs, f.count); err != nil {
			return err
		}
		if len(signs) != f.count {
			return corrupt.Errorf("sz: signs of %d elements, the chunk has %d", len(signs), f.count)
		}
	}
	if f.flags&factors != 0 {
		finishFactors(f.out, signs, c.least)
	} else {
		finishLogarithms(f.out, signs, c.least)
	}
	return nil
}

// finishFactors sets what is too small to zero, and the others' signs.
func finishFactors[T float](out []T, signs []byte, least T) {
	for i, v := range out {
		switch {
		case v < least && (v >= 0 || signs == nil):
			out[i] = 0
		case signs != nil && signs[i] != 0:
			out[i] = T(math.Copysign(float64(v), -1))
		}
	}
}

// finishLogarithms turns logarithms to numbers.
func finishLogarithms[T float](out []T, signs []byte, least T) {
	for i, v := range out {
		if v < least {
			v = 0
		} else {
			v = T(glibc.Exp2(float64(v)))
		}
		if signs != nil && signs[i] != 0 {
			v = -v
		}
		out[i] = v
	}
}
