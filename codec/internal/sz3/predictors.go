package sz3

import (
	"fmt"
	"slices"

	"varve/codec/internal/corrupt"
)

// lorenzo predicts an element by extrapolating a polynomial through its previous neighbours. Along each
// axis the polynomial has degree 0 for order 1, and degree 1 for order 2.
type lorenzo[T number, W wide] struct{ terms []term[W] }

// term is a neighbour, back elements before, and its weight in the sum.
type term[W wide] struct {
	back   int
	weight W
}

// newLorenzo returns the predictor for the given axes. Like the library, it adds the neighbours in
// lexicographic order, except with order 1 and three axes, where nearer neighbours come first. Rounding
// depends on the order.
func newLorenzo[T number, W wide](b *blocks[T, W], axes []int, order int) *lorenzo[T, W] {
	neighbours := [][]int{nil}
	for range axes {
		var longer [][]int
		for _, n := range neighbours {
			for back := range order + 1 {
				longer = append(longer, append(slices.Clone(n), back))
			}
		}
		neighbours = longer
	}
	if len(axes) == 3 && order == 1 {
		slices.SortStableFunc(neighbours, func(a, b []int) int { return a[0] + a[1] + a[2] - b[0] - b[1] - b[2] })
	}
	p := &lorenzo[T, W]{}
	for _, n := range neighbours[1:] { // the first is the element itself
		if t, ok := newTerm(b, axes, n, order); ok {
			p.terms = append(p.terms, t)
		}
	}
	return p
}

// newTerm returns the term of a neighbour. neighbour holds the distance along each axis. ok is false if
// the neighbour is always 0.
func newTerm[T number, W wide](b *blocks[T, W], axes, neighbour []int, order int) (t term[W], ok bool) {
	back, weight := 0, -1
	for i, n := range neighbour {
		if n > 0 && b.dims[axes[i]] == 1 {
			return term[W]{}, false
		}
		back += n * b.steps[axes[i]]
		if n == 1 {
			weight *= -order
		}
	}
	return term[W]{back, W(weight)}, true
}

func (p *lorenzo[T, W]) read(r *cursor, _ *blocks[T, W]) error {
	r.u8() // kind of predictor, which the configuration already names
	return r.err
}

func (p *lorenzo[T, W]) begin([maxAxes]int) (bool, error) { return true, nil }

func (p *lorenzo[T, W]) row(b *blocks[T, W], r row) {
	if len(p.terms) == 0 {
		for i, code := range r.codes {
			b.elements[r.at+i] = b.recover(0, code)
		}
		return
	}
	first, others := p.terms[0], p.terms[1:]
	for i, code := range r.codes {
		at := r.at + i
		sum := W(first.weight * W(b.elements[at-first.back]))
		for _, t := range others {
			sum += W(t.weight * W(b.elements[at-t.back]))
		}
		b.elements[at] = b.recover(T(sum), code)
	}
}

// coefficients decodes the coefficients of planes. The prediction of a coefficient is that of the previous
// block.
type coefficients[T number, W wide] struct {
	quantizers []quantizer[T, W] // of the constant, the slopes, the squares
	codes      []int32           // codes of the coefficients that are not yet decoded
	last       []T               // coefficients of the last block
}

// read reads the quantizers and codes. each is the number of coefficients per block.
func (c *coefficients[T, W]) read(r *cursor, each, quantizers, blocks int) error {
	r.u8() // kind of predictor, which the configuration already names
	n := r.size()
	c.last = make([]T, each)
	if r.err != nil || n == 0 {
		return r.err
	}
	if n > each*blocks {
		return corrupt.Errorf("%d coefficients, at most %d for each of %d blocks are allowed", n, each, blocks)
	}
	c.quantizers = make([]quantizer[T, W], quantizers)
	for i := range c.quantizers {
		if err := c.quantizers[i].read(r); err != nil {
			return fmt.Errorf("coefficients: %w", err)
		}
	}
	var err error
	if c.codes, err = new(workspace).symbols(r, nil, n); err != nil {
		return fmt.Errorf("coefficients: %w", err)
	}
	return nil
}

// next decodes the coefficients of the next block. quantizerOf returns the quantizer of coefficient i.
func (c *coefficients[T, W]) next(quantizerOf func(i int) int) error {
	if len(c.codes) < len(c.last) {
		return corrupt.Errorf("fewer blocks have coefficients than need them")
	}
	for i, code := range c.codes[:len(c.last)] {
		q := &c.quantizers[quantizerOf(i)]
		c.last[i] = q.recover(c.last[i], code)
		if q.isShort {
			return q.err()
		}
	}
	c.codes = c.codes[len(c.last):]
	return nil
}

// plane predicts a block from a slope along each axis, and a constant, which is the last coefficient.
type plane[T number, W wide] struct {
	axes []int
	coefficients[T, W]
}

func (p *plane[T, W]) read(r *cursor, b *blocks[T, W]) error {
	return p.coefficients.read(r, len(p.axes)+1, 2, count(b.grid))
}

func (p *plane[T, W]) begin(lengths [maxAxes]int) (bool, error) {
	if isThin(lengths, p.axes, 2) {
		return false, nil
	}
	return true, p.next(func(i int) int {
		if i == len(p.axes) {
			return 0
		}
		return 1
	})
}

// isThin reports whether a block has fewer than least elements along one of the axes.
func isThin(lengths [maxAxes]int, axes []int, least int) bool {
	return slices.ContainsFunc(axes, func(i int) bool { return lengths[i] < least })
}

func (p *plane[T, W]) row(b *blocks[T, W], r row) {
	last := len(p.axes) - 1
	var start T
	for i, axis := range p.axes[:last] {
		start += T(T(r.local[axis]) * p.last[i])
	}
	for i, code := range r.codes {
		predicted := start + T(T(i)*p.last[last])
		b.elements[r.at+i] = b.recover(predicted+p.last[last+1], code)
	}
}

// curve predicts a block from a polynomial of degree 2. The coefficients are a constant, a slope along each
// axis, and the weights of the products of two coordinates, in lexicographic order.
type curve[T number, W wide] struct {
	axes []int
	coefficients[T, W]
}

func (p *curve[T, W]) read(r *cursor, b *blocks[T, W]) error {
	n := len(p.axes)
	return p.coefficients.read(r, (n+1)*(n+2)/2, 3, count(b.grid))
}

func (p *curve[T, W]) begin(lengths [maxAxes]int) (bool, error) {
	if isThin(lengths, p.axes, 3) {
		return false, nil
	}
	return true, p.next(func(i int) int {
		switch {
		case i == 0:
			return 0
		case i <= len(p.axes):
			return 1
		}
		return 2
	})
}

func (p *curve[T, W]) row(b *blocks[T, W], r row) {
	var x [maxAxes]float64
	for i, axis := range p.axes {
		x[i] = float64(r.local[axis])
	}
	for i, code := range r.codes {
		x[len(p.axes)-1] = float64(i)
		b.elements[r.at+i] = b.recover(p.at(x[:len(p.axes)]), code)
	}
}

// at returns the prediction at coordinates x in the block. Like the library, it rounds the sum to an
// element after each term.
func (p *curve[T, W]) at(x []float64) T {
	sum := p.last[0]
	n := 1
	for _, v := range x {
		sum = convert[T, W](float64(sum) + float64(v*float64(p.last[n])))
		n++
	}
	for i := range x {
		for _, v := range x[i:] {
			sum = convert[T, W](float64(sum) + float64(float64(x[i]*v)*float64(p.last[n])))
			n++
		}
	}
	return sum
}
