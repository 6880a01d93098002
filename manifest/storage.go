package manifest

import (
	"fmt"
	"math"

	"varve/codec"
	"varve/grid"
)

// Rows returns the number of refs of the variable: one for each chunk, or one for all its bytes.
func (v *Variable) Rows() int64 {
	switch v.Storage.Layout {
	case Chunked:
		if n, ok := v.regularRows(); ok {
			return n
		}
		g, err := v.Grid()
		if err != nil {
			return 0
		}
		return g.Chunks()
	case Strided, Inline:
		return 1
	default:
		return 0
	}
}

// regularRows counts chunks of equal shape without making a grid, because files may have thousands of
// variables. ok is false if it cannot.
func (v *Variable) regularRows() (int64, bool) {
	if v.Storage.Edges != nil || len(v.Storage.Chunks) != len(v.Shape) {
		return 0, false
	}
	rows := int64(1)
	for i, n := range v.Shape {
		c := v.Storage.Chunks[i]
		if c < 1 || c > math.MaxInt32 || n < 0 || n > math.MaxInt32 {
			return 0, false
			// Return before the product can overflow: Grid handles larger numbers.
		}
		if rows *= (n + c - 1) / c; rows > math.MaxInt32 {
			return 0, false
		}
	}
	return rows, true
}

// Grid returns the chunk grid of the variable. A variable that is not Chunked is one chunk.
func (v *Variable) Grid() (*grid.Grid, error) {
	if v.Storage.Edges == nil {
		return v.regular()
	}
	if len(v.Storage.Edges) != len(v.Shape) {
		return nil, fmt.Errorf("%s: edges are given for %d axes, but the shape has %d", v.Path, len(v.Storage.Edges), len(v.Shape))
	}
	sizes := make([]grid.Sizes, len(v.Shape))
	for axis := range sizes {
		runs, err := v.Storage.CutEdges(axis)
		if err != nil {
			return nil, fmt.Errorf("%s: axis %d: %w", v.Path, axis, err)
		}
		sizes[axis] = grid.RunLength(runs...)
	}
	return grid.FromSizes(v.Shape, sizes...)
}

// CutEdges returns the edges along an axis, with the sizes of their data. Edges must be set. The last chunks may
// be beyond the shape.
func (s *Storage) CutEdges(axis int) ([]grid.Run, error) {
	stored := runsOf(s.Edges[axis])
	if s.DataSizes == nil {
		return stored, nil
	}
	if len(s.DataSizes) != len(s.Edges) {
		return nil, fmt.Errorf("%w: data sizes are given for %d axes, edges for %d", codec.ErrCorrupt, len(s.DataSizes), len(s.Edges))
	}
	return grid.Zip(runsOf(s.DataSizes[axis]), stored)
}

func runsOf(lengths [][2]int64) []grid.Run {
	runs := make([]grid.Run, len(lengths))
	for i, e := range lengths {
		runs[i] = grid.Times(e[0], e[1])
	}
	return runs
}

func (v *Variable) regular() (*grid.Grid, error) {
	chunks := v.Storage.Chunks
	if v.Storage.Layout != Chunked {
		chunks = make([]int64, len(v.Shape))
		for i, n := range v.Shape {
			chunks[i] = max(n, 1)
		}
	}
	return grid.Regular(v.Shape, chunks)
}
