package virtual

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve/readers"
)

// Limits of the number of parts of a selection.
const (
	maxBlocks = 1 << 18 // along an axis
	maxRuns   = 1 << 20 // runs of elements, for selections that are not products of axes
)

// block is a range of one axis, or of elements in C order.
type block struct{ start, length int64 }

// selectedElements is the set of elements that a selection selects within an array's shape.
type selectedElements struct {
	axes  [][]block // selected ranges of each axis, or
	runs  []block   // runs of elements, in their order
	shape []int64   // of the array
	count int64     // elements
}

func (p *selectedElements) isProduct() bool { return p.runs == nil }

// selectElements returns the elements that a selection selects of an array.
func selectElements(s *readers.Selection, shape []uint64) (*selectedElements, error) {
	p := &selectedElements{shape: make([]int64, len(shape)), axes: make([][]block, len(shape))}
	for k, n := range shape {
		p.shape[k] = int64(min(n, math.MaxInt64))
	}
	if s.Kind != readers.SelectAll && s.Kind != readers.SelectNone && s.Rank != len(shape) {
		return nil, fmt.Errorf("selection has %d axes, but the array has %d: %w", s.Rank, len(shape), errors.ErrUnsupported)
	}
	var err error
	switch s.Kind {
	case readers.SelectNone:
		p.axes = nil
		return p, nil
	case readers.SelectAll:
		for k, n := range p.shape {
			p.axes[k] = appendBlock(nil, 0, n)
		}
	case readers.SelectRegular:
		for k, n := range p.shape {
			if p.axes[k], err = regular(s, k, n); err != nil {
				return nil, err
			}
		}
	case readers.SelectBlocks:
		if !p.blocks(s) {
			err = p.rows(s)
		}
	case readers.SelectPoints:
		err = p.points(s)
	}
	if err != nil {
		return nil, err
	}
	return p, p.recount()
}

// recount counts the elements.
func (p *selectedElements) recount() error {
	if !p.isProduct() {
		p.count = sum(p.runs)
		return nil
	}
	p.count = 1
	for _, list := range p.axes {
		n := sum(list)
		if n == 0 {
			p.count = 0
			return nil
		}
		if p.count > math.MaxInt64/n {
			return readers.Corruptf("selection of an array of shape %v has too many elements", p.shape)
		}
		p.count *= n
	}
	return nil
}

// regular returns the ranges that a regular selection selects along an axis of length n.
func regular(s *readers.Selection, k int, n int64) ([]block, error) {
	start, stride, length := s.Start[k], s.Stride[k], min(s.Block[k], uint64(n))
	if start >= uint64(n) || s.Count[k] == 0 || length == 0 {
		return nil, nil
	}
	var out []block
	for i := uint64(0); i < s.Count[k] && start < uint64(n); i++ {
		if len(out) > maxBlocks {
			return nil, tooManyPlaces()
		}
		out = appendBlock(out, int64(start), int64(min(length, uint64(n)-start)))
		if stride == 0 || stride > math.MaxInt64-start {
			break
		}
		if stride == length && s.Count[k] > i+1 { // adjacent blocks are one range
			last := min(uint64(n), start+min(s.Count[k]-i, uint64(n))*length)
			return appendBlock(out, int64(start+length), int64(last)-int64(start+length)), nil
		}
		start += stride
	}
	return out, nil
}

func tooManyPlaces() error {
	return fmt.Errorf("selection has more than %d separate parts: %w", maxBlocks, errors.ErrUnsupported)
}

// blocks accepts a list of blocks that is the product of ranges along the axes, and reports whether
// it is one. h5py writes lists of indexes along one axis in this form.
func (p *selectedElements) blocks(s *readers.Selection) bool {
	rank, n := s.Rank, 1
	for k := range rank {
		var list []block
		for c := s.Cells; len(c) >= 2*rank; c = c[2*rank:] {
			if c[rank+k] < c[k] || c[rank+k] >= uint64(p.shape[k]) {
				return false
			}
			list = append(list, block{int64(c[k]), int64(c[rank+k]-c[k]) + 1})
		}
		slices.SortFunc(list, func(a, b block) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.length, b.length)) })
		list = slices.Compact(list)
		if n *= len(list); n > len(s.Cells)/(2*rank) {
			return false
		}
		for i := 1; i < len(list); i++ {
			if list[i].start < list[i-1].start+list[i-1].length {
				return false
			}
		}
		p.axes[k] = list
	}
	// As many different blocks as combinations means that every combination occurs.
	seen := make(map[string]bool, n)
	for c := s.Cells; len(c) >= 2*rank; c = c[2*rank:] {
		seen[fmt.Sprint(c[:rank])] = true
	}
	for k, list := range p.axes {
		var joined []block
		for _, b := range list {
			joined = appendBlock(joined, b.start, b.length)
		}
		p.axes[k] = joined
	}
	return len(seen) == n && n == len(s.Cells)/(2*rank)
}

// rows accepts any list of blocks. The elements are in C order, even if the blocks are not.
func (p *selectedElements) rows(s *readers.Selection) error {
	p.axes, p.runs = nil, []block{}
	rank := s.Rank
	for c := s.Cells; len(c) >= 2*rank; c = c[2*rank:] {
		one := selectedElements{shape: p.shape, axes: make([][]block, rank)}
		for k, n := range p.shape {
			if c[rank+k] < c[k] {
				return readers.Corruptf("selection from %d to %d of an axis", c[k], c[rank+k])
			}
			first, end := min(c[k], uint64(n)), min(c[rank+k]+1, uint64(n))
			one.axes[k] = appendBlock(nil, int64(first), int64(end)-int64(first))
		}
		if err := one.recount(); err != nil {
			return err
		}
		r := one.reader()
		for b, ok := r.next(); ok; b, ok = r.next() {
			if len(p.runs) == maxRuns {
				return fmt.Errorf("selection has more than %d runs of elements: %w", maxRuns, errors.ErrUnsupported)
			}
			p.runs = append(p.runs, b)
		}
	}
	slices.SortFunc(p.runs, func(a, b block) int { return cmp.Compare(a.start, b.start) })
	joined := p.runs[:0]
	for _, b := range p.runs {
		if k := len(joined) - 1; k >= 0 && b.start <= joined[k].start+joined[k].length {
			joined[k].length = max(joined[k].length, b.start+b.length-joined[k].start)
			continue
		}
		joined = append(joined, b)
	}
	p.runs = joined
	return nil
}

// points accepts a list of elements, in its own order.
func (p *selectedElements) points(s *readers.Selection) error {
	p.axes, p.runs = nil, []block{}
points:
	for c := s.Cells; len(c) >= s.Rank; c = c[s.Rank:] {
		at := int64(0)
		for k, n := range p.shape {
			if c[k] >= uint64(n) {
				continue points
			}
			at = at*n + int64(c[k])
		}
		if len(p.runs) == maxRuns {
			return tooManyPlaces()
		}
		p.runs = append(p.runs, block{at, 1})
	}
	return nil
}

// appendBlock appends a block, or extends the last one if it is adjacent.
func appendBlock(list []block, start, length int64) []block {
	if length <= 0 {
		return list
	}
	if k := len(list) - 1; k >= 0 && list[k].start+list[k].length == start {
		list[k].length += length
		return list
	}
	return append(list, block{start, length})
}

func sum(list []block) (n int64) {
	for _, b := range list {
		n += b.length
	}
	return n
}

// first returns the first n indexes of a list of blocks.
func first(list []block, n int64) []block {
	var out []block
	for _, b := range list {
		length := min(b.length, n)
		out = appendBlock(out, b.start, length)
		n -= length
	}
	return out
}

// runReader returns selected elements as runs.
type runReader struct {
	runs   []block // remaining runs of a list, or of the last axis at the current position
	last   []block
	outer  [][]block
	stride []int64 // strides of the outer axes
	at     []place
	isDone bool
}

// place is a position in a list of blocks.
type place struct {
	block  int
	offset int64
}

func (p *selectedElements) reader() *runReader {
	r := &runReader{runs: p.runs, isDone: true}
	if !p.isProduct() || p.count == 0 {
		return r
	}
	axes, shape := p.axes, p.shape
	last, stride := []block{{0, 1}}, int64(1)
	// Whole trailing axes extend the runs of the axis before them.
	for len(axes) > 0 && len(last) == 1 && last[0].start == 0 && last[0].length == stride {
		k := len(axes) - 1
		var wider []block
		for _, b := range axes[k] {
			wider = append(wider, block{b.start * stride, b.length * stride})
		}
		last, stride, axes = wider, stride*shape[k], axes[:k]
	}
	r.isDone, r.last, r.outer = false, last, axes
	r.at, r.stride = make([]place, len(axes)), make([]int64, len(axes))
	for k := len(axes) - 1; k >= 0; k-- {
		r.stride[k] = stride
		stride *= shape[k]
	}
	r.line()
	return r
}

// line sets the runs at the current position of the outer axes.
func (r *runReader) line() {
	base := int64(0)
	for k, at := range r.at {
		base += (r.outer[k][at.block].start + at.offset) * r.stride[k]
	}
	r.runs = make([]block, len(r.last))
	for i, b := range r.last {
		r.runs[i] = block{base + b.start, b.length}
	}
}

func (r *runReader) next() (block, bool) {
	if len(r.runs) == 0 && !r.advance() {
		return block{}, false
	}
	b := r.runs[0]
	r.runs = r.runs[1:]
	return b, true
}

// advance moves to the next position of the outer axes.
func (r *runReader) advance() bool {
	if r.isDone {
		return false
	}
	for k := len(r.at) - 1; k >= 0; k-- {
		at, list := &r.at[k], r.outer[k]
		if at.offset++; at.offset < list[at.block].length {
			r.line()
			return true
		}
		at.offset = 0
		if at.block++; at.block < len(list) {
			r.line()
			return true
		}
		at.block = 0
	}
	r.isDone = true
	return false
}
