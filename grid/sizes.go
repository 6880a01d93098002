package grid

import (
	"fmt"
	"slices"
)

// Sizes declares the edges along one axis without its extent, as a chunk grid in a
// document does. [Every], [List], [RunLength] and [Pattern] return one.
type Sizes struct {
	every   int64
	runs    []Run
	repeats bool // runs are a repeating pattern
}

// Every declares one size that repeats until it reaches the extent: a regular axis, or a
// bare integer in a rectilinear grid.
func Every(size int64) Sizes { return Sizes{every: size} }

// List declares each edge.
func List(sizes ...int64) Sizes { return RunLength(Compress(sizes...)...) }

// RunLength declares runs of edges.
func RunLength(runs ...Run) Sizes { return Sizes{runs: nonNil(runs)} }

// Pattern declares edges that repeat, in order, until they reach the extent.
func Pattern(runs ...Run) Sizes { return Sizes{runs: nonNil(runs), repeats: true} }

// nonNil replaces nil by an empty list, since nil runs mean one size that repeats.
func nonNil(runs []Run) []Run {
	if runs == nil {
		return []Run{}
	}
	return runs
}

// SizesOf returns the declaration of a dimension, without its extent.
func SizesOf(d Dimension) Sizes {
	switch d := d.(type) {
	case Fixed:
		return Every(d.size)
	case *Tiled:
		return Pattern(slices.Collect(d.pattern.all())...)
	}
	return RunLength(slices.Collect(d.Runs())...)
}

// RegularSize returns the size that repeats; ok is false if the edges are declared
// otherwise.
func (s Sizes) RegularSize() (size int64, ok bool) { return s.every, s.runs == nil }

// Runs returns the declared runs or the runs of the pattern; nil for one size that repeats.
func (s Sizes) Runs() []Run { return s.runs }

// Bind returns the dimension with these edges and an extent.
func (s Sizes) Bind(extent int64) (Dimension, error) {
	switch {
	case s.runs == nil:
		return orNil(NewFixed(s.every, extent))
	case s.repeats:
		return orNil(NewTiled(s.runs, extent))
	}
	return orNil(NewVarying(s.runs, extent))
}

// orNil returns a nil Dimension if a constructor failed, instead of its typed zero value.
func orNil[D Dimension](d D, err error) (Dimension, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// FromSizes returns the grid of an array of a shape, with the edges declared for each
// axis.
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

// Regular returns the grid of an array that is cut into chunks of one shape.
func Regular(shape, chunk []int64) (*Grid, error) {
	sizes := make([]Sizes, len(chunk))
	for axis, size := range chunk {
		sizes[axis] = Every(size)
	}
	return FromSizes(shape, sizes...)
}
