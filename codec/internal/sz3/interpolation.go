package sz3

import (
	"math/bits"
	"slices"

	"varve/codec/internal/corrupt"
)

// interpolator decodes a chunk from coarse to fine. The prediction of the first element is 0. Then levels
// follow, from the highest to 1. A level halves the distance of the decoded elements, to 2^(level-1). It
// processes the chunk block by block, and each block in one pass per axis, in an order that the stream
// gives. A pass decodes every other element of the lines along its axis:
//
//	after level 2    level 1, pass 0    pass 1
//	A . . . A        A . . . A          A 1 A 1 A
//	. . . . .        0 . . . 0          0 1 0 1 0
//	A . . . A        A . . . A          A 1 A 1 A
//
// The prediction of an element uses the next one (linear) or two (cubic) elements on both sides.
type interpolator[T number, W wide] struct {
	quantizer[T, W]
	elements []T
	codes    []int32 // codes of the elements that are not yet decoded
	dims     []int
	steps    []int // distance of neighbours along each axis
	order    []int // order of the axes
	block    int
	isCubic  bool
	isShort  bool // more codes were needed than there are
}

// interpolate decodes a body of the algorithm "interpolation".
func interpolate[T number, W wide](w *workspace, conf config, r *cursor) ([]T, error) {
	p := &interpolator[T, W]{dims: conf.dims}
	if err := p.read(r); err != nil {
		return nil, err
	}
	n := 1
	p.steps = make([]int, len(p.dims))
	for i := len(p.dims) - 1; i >= 0; i-- {
		p.steps[i] = n
		n *= p.dims[i]
	}
	var err error
	if w.codes, err = w.symbols(r, w.codes, n); err != nil {
		return nil, err
	}
	p.codes = w.codes
	p.elements = make([]T, n)
	p.decode()
	if p.isShort || len(p.codes) > 0 {
		return nil, corrupt.Errorf("interpolation in blocks of %d does not decode each element once", p.block)
	}
	return p.elements, p.err()
}

// read reads the fields before the codes.
func (p *interpolator[T, W]) read(r *cursor) error {
	if dims := r.lengths(len(p.dims)); r.err == nil && !slices.Equal(dims, p.dims) {
		return corrupt.Errorf("body of shape %d, but the configuration has %d", dims, p.dims)
	}
	block, kind, order := r.u32(), r.u32(), r.u32()
	switch {
	case r.err != nil:
		return r.err
	case block == 0 || block%2 != 0:
		return corrupt.Errorf("interpolation in blocks of %d, must be positive and even", block)
	case kind > 1:
		return corrupt.Errorf("interpolator %d, must be 0 (linear) or 1 (cubic)", kind)
	}
	p.block, p.isCubic = int(block), kind == 1
	p.order = permutation(len(p.dims), order)
	if p.order == nil {
		return corrupt.Errorf("permutation %d of %d axes does not exist", order, len(p.dims))
	}
	return p.quantizer.read(r)
}

// permutation returns the permutation of n axes with the given rank in lexicographic order. It returns nil
// if there are not so many permutations.
func permutation(n int, rank uint32) []int {
	left := make([]int, n)
	count := uint32(1)
	for i := range left {
		left[i] = i
		count *= uint32(i + 1)
	}
	if rank >= count {
		return nil
	}
	var p []int
	for ; n > 0; n-- {
		count /= uint32(n)
		i := int(rank / count)
		rank %= count
		p = append(p, left[i])
		left = slices.Delete(left, i, i+1)
	}
	return p
}

// decode decodes all elements.
func (p *interpolator[T, W]) decode() {
	p.elements[0] = p.recover(0, p.codes[0])
	p.codes = p.codes[1:]
	bound := p.bound
	for level := bits.Len(uint(slices.Max(p.dims) - 1)); level > 0; level-- {
		// The library uses half the bound on coarse levels, on which all others depend.
		p.bound = bound
		if level >= 3 {
			p.bound = bound * 0.5
		}
		p.level(1 << (level - 1))
	}
}

// level decodes the elements of a level, block by block. stride is the distance of the elements.
func (p *interpolator[T, W]) level(stride int) {
	edge := stride * p.block
	var dims [maxAxes]int
	lead := maxAxes - len(p.dims)
	for i := range dims {
		dims[i] = 1
		if i >= lead {
			dims[i] = p.dims[i-lead]
		}
	}
	for a := 0; a < dims[0]; a += edge {
		for b := 0; b < dims[1]; b += edge {
			for c := 0; c < dims[2]; c += edge {
				for d := 0; d < dims[3]; d += edge {
					first := [maxAxes]int{a, b, c, d}
					p.passes(first[lead:], stride)
				}
			}
		}
	}
}

// span is a range of indices along an axis: the positions of lines, or the elements of a line. size is
// the distance of adjacent indices in elements.
type span struct{ first, last, step, size int }

// passes decodes the elements of a level in one block.
func (p *interpolator[T, W]) passes(first []int, stride int) {
	for pass := range p.order {
		across := [maxAxes]span{{step: 1}, {step: 1}, {step: 1}, {step: 1}}
		n := maxAxes - len(p.order)
		for i, axis := range p.order {
			s := span{first[axis], min(first[axis]+stride*p.block, p.dims[axis]-1), stride, p.steps[axis]}
			if i == pass {
				across[maxAxes-1] = s
				continue
			}
			if i > pass {
				s.step *= 2
			}
			if s.first > 0 { // the previous block decoded the lines at its border
				s.first += s.step
			}
			across[n] = s
			n++
		}
		p.lines(across[0], across[1], across[2], across[3])
	}
}

// lines decodes all lines along an axis, at the indices x, y and z of the other axes.
func (p *interpolator[T, W]) lines(x, y, z, along span) {
	n := (along.last-along.first)/along.step + 1
	if n <= 1 {
		return
	}
	step := along.step * along.size
	for i := x.first; i <= x.last; i += x.step {
		for j := y.first; j <= y.last; j += y.step {
			for k := z.first; k <= z.last; k += z.step {
				if len(p.codes) < n/2 {
					p.isShort = true
					return
				}
				at := i*x.size + j*y.size + k*z.size + along.first*along.size
				if p.isCubic && n >= 5 {
					p.cubicLine(p.elements[at:], step, n)
				} else {
					p.linearLine(p.elements[at:], step, n)
				}
				p.codes = p.codes[n/2:]
			}
		}
	}
}

// linearLine decodes the odd elements of a line of n elements, at distance step, by linear interpolation.
func (p *interpolator[T, W]) linearLine(e []T, step, n int) {
	for i := 1; i+1 < n; i += 2 {
		d := i * step
		e[d] = p.recover(T((W(e[d-step])+W(e[d+step]))/2), p.codes[i/2])
	}
	if n%2 != 0 {
		return
	}
	// The last element has no right neighbour, so it is extrapolated.
	d := (n - 1) * step
	predicted := e[d-step]
	if n >= 4 {
		predicted = convert[T, W](float64(-0.5*float64(e[d-3*step])) + float64(1.5*float64(predicted)))
	}
	e[d] = p.recover(predicted, p.codes[n/2-1])
}

// cubicLine decodes the odd elements of a line of n >= 5 elements by cubic interpolation. The elements next
// to the ends, whose formulas are one-sided, come last in the codes.
func (p *interpolator[T, W]) cubicLine(e []T, step, n int) {
	codes := p.codes
	i := 3
	for ; i+3 < n; i += 2 {
		d := i * step
		a, b, c, f := W(e[d-3*step]), W(e[d-step]), W(e[d+step]), W(e[d+3*step])
		e[d] = p.recover(T((-a+W(9*b)+W(9*c)-f)/16), codes[0])
		codes = codes[1:]
	}
	a, b, c := W(e[0]), W(e[2*step]), W(e[4*step])
	e[step] = p.recover(T((W(3*a)+W(6*b)-c)/8), codes[0])
	d := i * step
	a, b, c = W(e[d-3*step]), W(e[d-step]), W(e[d+step])
	e[d] = p.recover(T((-a+W(6*b)+W(3*c))/8), codes[1])
	if n%2 == 0 {
		d = (n - 1) * step
		a, b, c = W(e[d-5*step]), W(e[d-3*step]), W(e[d-step])
		e[d] = p.recover(T((W(3*a)-W(10*b)+W(15*c))/8), codes[2])
	}
}
