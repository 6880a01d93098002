package sz3

import (
	"errors"
	"fmt"
	"slices"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/sz"
)

// blocks decodes a chunk block by block. Each block uses the predictor that the stream selects. A chunk
// of fewer than four axes is treated as one with leading axes of length 1.
//
// The configuration names the predictors of a body. The body then has, for each predictor:
//
//	Lorenzo         [u8 1]
//	plane           [u8 2][u64 number of coefficients], and if it is not 0, quantizers of the constant
//	                and of the slopes, and codes
//	plane, order 2  [u8 3] and the same, with a third quantizer, of the squares
//	and if there are several predictors: [u64 blocks], and if it is not 0, codes of the predictor of
//	                each block
//
// The encoder does not store its selection for blocks that are too thin for their predictor. The library
// does not notice, and uses the selections of the following blocks instead. So the selections end early,
// and the blocks after them use the Lorenzo predictor.
type blocks[T number, W wide] struct {
	quantizer[T, W]
	dims, grid [maxAxes]int // lengths in elements, lengths in blocks
	block      int          // length of a block along each axis
	predictors []predictor[T, W]
	selected   []int32 // predictor of each block; nil if there is only one predictor
	fallback   predictor[T, W]
	codes      []int32 // codes of the elements that are not yet decoded

	// elements has a border of zeros, so that all elements have neighbours.
	elements []T
	steps    [maxAxes]int // distance of neighbours along each axis
	origin   int          // index of the first element
}

// predictor predicts the elements of a block.
type predictor[T number, W wide] interface {
	// read reads the predictor's fields from the body.
	read(r *cursor, b *blocks[T, W]) error
	// begin starts a block of the given lengths. It returns false if the block is too thin for the
	// predictor.
	begin(lengths [maxAxes]int) (bool, error)
	// row decodes a row of the block.
	row(b *blocks[T, W], at row)
}

// row is a row of elements along the last axis.
type row struct {
	at    int          // index of the first element
	local [maxAxes]int // position of the first element in the block
	codes []int32
}

// fromNeighbours decodes a body of the algorithm "neighbours".
func fromNeighbours[T number, W wide](w *workspace, conf config, r *cursor) ([]T, error) {
	if dims := r.lengths(len(conf.dims)); r.err == nil && !slices.Equal(dims, conf.dims) {
		return nil, corrupt.Errorf("body of shape %d, but the configuration has %d", dims, conf.dims)
	}
	b := &blocks[T, W]{}
	if err := b.shape(conf.dims, r.u32()); err != nil {
		return nil, err
	}
	if err := b.choose(conf); err != nil {
		return nil, err
	}
	for _, p := range b.predictors {
		if err := p.read(r, b); err != nil {
			return nil, err
		}
	}
	if err := b.selection(w, r); err != nil {
		return nil, err
	}
	if err := b.quantizer.read(r); err != nil {
		return nil, err
	}
	var err error
	if w.codes, err = w.symbols(r, w.codes, count(b.dims)); err != nil {
		return nil, err
	}
	b.codes = w.codes
	return b.decode()
}

// shape sets the lengths of the chunk and of its blocks, and allocates the elements.
func (b *blocks[T, W]) shape(dims []int, block uint32) error {
	if block == 1 {
		return fmt.Errorf("blocks of one element: %w", errors.ErrUnsupported)
	}
	if block == 0 || block > sz.MaxElements-1 {
		return corrupt.Errorf("blocks of %d elements along an axis, must be at least 2", block)
	}
	b.block = int(block)
	b.dims = [maxAxes]int{1, 1, 1, 1}
	copy(b.dims[maxAxes-len(dims):], dims)
	for i, n := range b.dims {
		b.grid[i] = (n-1)/b.block + 1
	}
	step := 1
	for i := maxAxes - 1; i >= 0; i-- {
		b.steps[i] = step
		border := borderOf(b.dims[i])
		b.origin += border * step
		step *= b.dims[i] + border
	}
	b.elements = make([]T, step)
	return nil
}

// borderOf returns the number of zeros before an axis. An axis of length 1 needs none, because terms
// along it are always zero and are dropped.
func borderOf(length int) int {
	if length == 1 {
		return 0
	}
	return 2
}

// count returns the number of elements or blocks of the given lengths.
func count(dims [maxAxes]int) int { return dims[0] * dims[1] * dims[2] * dims[3] }

// choose creates the predictors that the configuration names.
func (b *blocks[T, W]) choose(conf config) error {
	var axes []int
	for i := maxAxes - len(conf.dims); i < maxAxes; i++ {
		axes = append(axes, i)
	}
	b.fallback = newLorenzo(b, axes, 1)
	if conf.lorenzo[0] {
		b.predictors = append(b.predictors, newLorenzo(b, axes, 1))
	}
	if conf.lorenzo[1] {
		order := 2
		if len(axes) == 4 { // the library has no order 2 for four axes
			order = 1
		}
		b.predictors = append(b.predictors, newLorenzo(b, axes, order))
	}
	if conf.plane {
		b.predictors = append(b.predictors, &plane[T, W]{axes: axes})
	}
	if conf.curve {
		if len(axes) == 4 {
			return fmt.Errorf("planes of order 2 in four axes: %w", errors.ErrUnsupported)
		}
		b.predictors = append(b.predictors, &curve[T, W]{axes: axes})
	}
	if len(b.predictors) == 0 {
		return corrupt.Errorf("the configuration names no predictor")
	}
	return nil
}

// selection reads the predictor of each block.
func (b *blocks[T, W]) selection(w *workspace, r *cursor) error {
	if len(b.predictors) == 1 {
		return nil
	}
	n := r.size()
	if most := count(b.grid); r.err == nil && n > most {
		return corrupt.Errorf("predictors of %d blocks, but there are only %d blocks", n, most)
	}
	b.selected = []int32{}
	if r.err != nil || n == 0 {
		return r.err
	}
	var err error
	if b.selected, err = w.symbols(r, nil, n); err != nil {
		return fmt.Errorf("predictors of blocks: %w", err)
	}
	for i, s := range b.selected {
		if s < 0 || int(s) >= len(b.predictors) {
			return corrupt.Errorf("block %d: predictor %d, must be below %d", i, s, len(b.predictors))
		}
	}
	return nil
}

// decode decodes all blocks, and returns the elements without their border.
func (b *blocks[T, W]) decode() ([]T, error) {
	n := 0
	for i := range b.grid[0] {
		for j := range b.grid[1] {
			for k := range b.grid[2] {
				for l := range b.grid[3] {
					if err := b.one(n, [maxAxes]int{i, j, k, l}); err != nil {
						return nil, err
					}
					n++
				}
			}
		}
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	return b.withoutBorder(), nil
}

// one decodes block n, which is at the given index of the grid.
func (b *blocks[T, W]) one(n int, index [maxAxes]int) error {
	p := b.predictors[0]
	switch {
	case n < len(b.selected):
		p = b.predictors[b.selected[n]]
	case b.selected != nil:
		p = b.fallback
	}
	var lengths [maxAxes]int
	start := b.origin
	for i := range lengths {
		lengths[i] = min(b.block, b.dims[i]-index[i]*b.block)
		start += index[i] * b.block * b.steps[i]
	}
	fits, err := p.begin(lengths)
	if err != nil {
		return err
	}
	if !fits {
		p = b.fallback
	}
	for i := range lengths[0] {
		for j := range lengths[1] {
			for k := range lengths[2] {
				at := start + i*b.steps[0] + j*b.steps[1] + k*b.steps[2]
				p.row(b, row{at, [maxAxes]int{i, j, k}, b.codes[:lengths[3]]})
				b.codes = b.codes[lengths[3]:]
			}
		}
	}
	return nil
}

// withoutBorder returns the elements without their border. It moves them in place.
func (b *blocks[T, W]) withoutBorder() []T {
	n := 0
	for i := range b.dims[0] {
		for j := range b.dims[1] {
			for k := range b.dims[2] {
				at := b.origin + i*b.steps[0] + j*b.steps[1] + k*b.steps[2]
				n += copy(b.elements[n:n+b.dims[3]], b.elements[at:at+b.dims[3]])
			}
		}
	}
	return b.elements[:n]
}
