package grid

import (
	"fmt"
	"slices"
)

// Array is an array of indices in C order. A nil Shape and one value are a single index.
type Array struct {
	Shape  []int64
	Values []int64
}

// Line returns a one-dimensional Array.
func Line(values ...int64) Array {
	return Array{Shape: []int64{int64(len(values))}, Values: values}
}

// points are the selected elements of Coordinate, ordered by chunk.
type points struct {
	coords   [][]int64 // for each axis, the index of each point
	outIndex []int64   // the position of each point in the output; nil if the points are in output order
	parts    []part    // by chunk number
}

// maxBroadcast is the largest number of points that arrays may be broadcast to, unless
// the arrays have more values themselves. Two short arrays could ask for any amount of
// memory.
const maxBroadcast = 1 << 24

// Coordinate selects single elements by one array of indices for each axis. The arrays
// are broadcast against each other by NumPy's rules; the output has the broadcast shape.
func Coordinate(g *Grid, arrays ...Array) (*Indexer, error) {
	if len(arrays) != g.Rank() {
		return nil, fmt.Errorf("coordinates for %d axes, but the array has %d", len(arrays), g.Rank())
	}
	shape, n, err := broadcastShape(arrays)
	if err != nil {
		return nil, err
	}
	p := &points{coords: make([][]int64, len(arrays))}
	numbers, chunks := make([]int64, n), make([]int64, n)
	for k, a := range arrays {
		d := g.dims[k]
		values, err := wrapAll(a.Values, d.Extent())
		if err != nil {
			return nil, fmt.Errorf("axis %d: %w", k, err)
		}
		p.coords[k] = broadcast(values, a.Shape, shape)
		if err := findAll(d, p.coords[k], chunks); err != nil {
			return nil, fmt.Errorf("axis %d: %w", k, err)
		}
		for i, chunk := range chunks {
			numbers[i] = numbers[i]*g.counts[k] + chunk
		}
	}
	p.outIndex, p.parts = groupByChunk(numbers)
	for k := range p.coords {
		p.coords[k] = reorder(p.coords[k], p.outIndex)
	}
	return &Indexer{grid: g, shape: shape, points: p}, nil
}

// wrapAll counts negative indices from the end and checks all of them.
func wrapAll(indices []int64, n int64) ([]int64, error) {
	out := make([]int64, len(indices))
	for i, index := range indices {
		at, err := wrap(index, n)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i, err)
		}
		out[i] = at
	}
	return out, nil
}

// broadcastShape returns the shape that arrays broadcast to, and its product.
func broadcastShape(arrays []Array) (shape []int64, n int64, err error) {
	values, rank := int64(0), 0
	for k, a := range arrays {
		size, err := Elements(a.Shape)
		if err != nil {
			return nil, 0, fmt.Errorf("axis %d: %w", k, err)
		}
		if size != int64(len(a.Values)) {
			return nil, 0, fmt.Errorf("axis %d: %d indices for the shape %v", k, len(a.Values), a.Shape)
		}
		values, rank = values+size, max(rank, len(a.Shape))
	}
	shape = slices.Repeat([]int64{1}, rank)
	for k, a := range arrays {
		if !widen(shape, a.Shape) {
			return nil, 0, fmt.Errorf("axis %d: indices of shape %v do not broadcast to %v", k, a.Shape, shape)
		}
	}
	if n, err = Elements(shape); err != nil {
		return nil, 0, err
	}
	if n > max(values, maxBroadcast) {
		return nil, 0, fmt.Errorf("%d indices broadcast to %d points: at most %d are allowed; use orthogonal indexing", values, n, maxBroadcast)
	}
	return shape, n, nil
}

// widen broadcasts shape against other, in place, and reports whether it can.
func widen(shape, other []int64) bool {
	// NumPy aligns shapes at the last axis.
	lead := len(shape) - len(other)
	for i, n := range other {
		switch at := &shape[lead+i]; {
		case *at == 1:
			*at = n
		case n != 1 && n != *at:
			return false
		}
	}
	return true
}

// broadcast repeats values of shape from to fill shape to.
func broadcast(values, from, to []int64) []int64 {
	if slices.Equal(from, to) {
		return values
	}
	n, _ := Elements(to) // checked by broadcastShape
	out := make([]int64, 0, n)
	strides := make([]int64, len(to))
	stride := int64(1)
	for i := len(from) - 1; i >= 0; i-- {
		// A stride of 0 repeats the one value along an axis of length 1.
		if from[i] > 1 {
			strides[len(to)-len(from)+i] = stride
		}
		stride *= from[i]
	}
	at := make([]int64, len(to))
	for range n {
		out = append(out, values[dot(at, strides)])
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < to[k] {
				break
			}
			at[k] = 0
		}
	}
	return out
}

// dot returns the inner product of two vectors.
func dot(a, b []int64) int64 {
	sum := int64(0)
	for k := range a {
		sum += a[k] * b[k]
	}
	return sum
}

// nextPoints is Next for Coordinate.
func (c *Cursor) nextPoints() bool {
	p := c.index.points
	if c.at == len(p.parts) {
		return false
	}
	at := p.parts[c.at]
	c.at++
	c.from, c.to = at.from, at.to
	c.index.grid.Coords(at.chunk, c.Coords)
	for k, chunk := range c.Coords {
		c.enter(k, c.index.grid.dims[k].Span(chunk), chunk)
	}
	return true
}

// bounds sets into to the smallest region in the chunk that contains its points.
func (s *points) bounds(p *Projection, into Region) {
	for k, coords := range s.coords {
		here := coords[p.from:p.to]
		lo, hi := slices.Min(here), slices.Max(here)
		into.Origin[k], into.Shape[k] = lo-p.Origin[k], hi-lo+1
	}
}

// rows calls do for the points of a chunk; points that are contiguous in both buffers
// form one row.
func (s *points) rows(p *Projection, window Region, do func(Row)) {
	var pending Row
	for i := p.from; i < p.to; i++ {
		to, in := i, int64(0)
		if s.outIndex != nil {
			to = s.outIndex[i]
		}
		for k, coords := range s.coords {
			in = in*window.Shape[k] + coords[i] - p.Origin[k] - window.Origin[k]
		}
		if pending.N > 0 && to == pending.Dst+pending.N && in == pending.Src+pending.N {
			pending.N++
			continue
		}
		if pending.N > 0 {
			do(pending)
		}
		pending = Row{Dst: to, Src: in, N: 1, DstStep: 1, SrcStep: 1}
	}
	if pending.N > 0 {
		do(pending)
	}
}
