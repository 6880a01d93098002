package sz

import (
	"math"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/glibc"
)

// A stream with relative bounds holds magnitudes, and the signs separately: one byte per element,
// compressed with zstd, or none if no element is negative. Magnitudes below the smallest value mean 0.
// There are two kinds of streams:
//
//   - A stream of factors codes an element as a multiple of its prediction. For type t, the factor is
//     (1 + bound) to the power of (t - intervals/2) × (2 - 2^-finer); the difference from 2 makes room
//     for rounding. The prediction is linear in the logarithm of the field.
//   - Other streams code the logarithms to base 2, like a stream with absolute bounds.

// factors decodes a stream of factors.
func (f *floats[T]) factors(c *classic[T]) error {
	// The tree's symbols become indices into factors, so that only factors in use are computed.
	symbols := f.tree.relabel()
	p := products[T]{exacts: &c.exacts, factors: make([]float64, len(symbols))}
	finer := 2 - math.Ldexp(1, -c.finer)
	for i, t := range symbols[1:] {
		if t < 0 || t >= c.intervals {
			return corrupt.Errorf("sz: type %d, must be below the number of intervals, %d", t, c.intervals)
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

// products is the rule for a stream of factors with one or two axes.
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

// wideProducts is the rule for a stream of factors with three axes, which predicts in float64.
type wideProducts[T float] struct{ products[T] }

func (p wideProducts[T]) line(l, ll T) T {
	return T(float64(l) * float64(l) / float64(ll))
}

func (p wideProducts[T]) corner(n *neighbours[T]) T {
	over := float64(n.l) * float64(n.u) * float64(n.b) * float64(n.bul)
	return T(over / (float64(n.ul) * float64(n.bu) * float64(n.bl)))
}

// finish converts the decoded magnitudes or logarithms to elements.
func (f *floats[T]) finish(c *classic[T]) error {
	var signs []byte
	if len(c.signs) > 0 {
		var err error
		if signs, err = unzstd(nil, c.signs, f.count); err != nil {
			return err
		}
		if len(signs) != f.count {
			return corrupt.Errorf("sz: signs for %d elements, but the chunk has %d", len(signs), f.count)
		}
	}
	if f.flags&flagFactors != 0 {
		finishFactors(f.out, signs, c.least)
	} else {
		finishLogarithms(f.out, signs, c.least)
	}
	return nil
}

// finishFactors sets magnitudes below least to zero, and gives the others their signs.
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

// finishLogarithms converts logarithms to numbers with signs.
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
