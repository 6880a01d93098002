package grid

import (
	"fmt"
	"slices"
)

// Sizes declares the edges of one axis without its extent, as a chunk grid in a
// document does. Make one with [Every], [List], [RunLength] or [Pattern].
type Sizes struct {
	every   int64
	runs    []Run
	repeats bool // runs are a pattern
}

// Every declares one size that repeats until it reaches the extent: a regular axis,
// or a bare integer in a rectilinear grid.
func Every(size int64) Sizes { return Sizes{every: size} }

// List declares each edge.
func List(sizes ...int64) Sizes { return RunLength(Compress(sizes...)...) }

// RunLength declares runs of edges.
func RunLength(runs ...Run) Sizes { return Sizes{runs: nonNil(runs)} }

// Pattern declares edges that repeat, in order, until they reach the extent.
func Pattern(runs ...Run) Sizes { return Sizes{runs: nonNil(runs), repeats: true} }

// nonNil keeps an empty list apart from one size that repeats.
func nonNil(runs []Run) []Run {
	if runs == nil {
		return []Run{}
	}
	return runs
}

// Declared is what a dimension declares, with its extent taken away.
func SizesOf(d Dimension) Sizes {
	switch d := d.(type) {
	case Fixed:
		return Every(d.size)
	case *Tiled:
		return Pattern(slices.Collect(d.pattern.all())...)
	}
	return RunLength(slices.Collect(d.Runs())...)
}

// Repeated is the size that repeats, if that is how the edges are declared.
func (s Sizes) RegularSize() (size int64, ok bool) { return s.every, s.runs == nil }

// Runs are the runs that were declared, or the pattern's; none for one size that repeats.
func (s Sizes) Runs() []Run { return s.runs }

// Bind gives the edges an extent.
func (s Sizes) Bind(extent int64) (Dimension, error) {
	switch {
	case s.runs == nil:
		return orNil(NewFixed(s.every, extent))
	case s.repeats:
		return orNil(NewTiled(s.runs, extent))
	}
	return orNil(NewVarying(s.runs, extent))
}

// orNil keeps a failed constructor's zero value from becoming a Dimension.
func orNil[D Dimension](d D, err error) (Dimension, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// FromSizes returns the grid of an array: its shape and, for each axis, the edges
// declared.
func FromSizes(shape []int64, sizes ...Sizes) (*Grid, error) {
	if len(shape) != len(sizes) {
		return nil, fmt.Errorf("edges for %d axes, but the shape %v has %d", len(sizes), shape, len(shape))
	}
	dims := make([]Dimension, len(shape))
	for axis, s := range sizes {
		d, err := s.Bind(shape[axis])
		if err != nil {
			return nil, fmt.Errorf("axis %d: %w", axis, err)
		}
		dims[axis] = d
	}
	return New(dims...)
}

// Regular returns the grid of an array cut into chunks of one shape.
func Regular(shape, chunk []int64) (*Grid, error) {
	sizes := make([]Sizes, len(chunk))
	for axis, size := range chunk {
		sizes[axis] = Every(size)
	}
	return FromSizes(shape, sizes...)
}
