package grid

import (
	"fmt"
	"iter"
	"slices"
)

// CheckDivisible returns an error for the first axis and edge that the inner chunk shape
// does not divide, as sharding_indexed 1.0 requires. It checks the codec size of each
// unique edge, so its cost does not depend on the number of chunks.
func (g *Grid) CheckDivisible(inner []int64) error {
	if err := g.checkInner(inner); err != nil {
		return err
	}
	for axis, size := range inner {
		for edge := range g.dims[axis].Unique() {
			if edge.Codec%size != 0 {
				return fmt.Errorf("axis %d: inner chunk length %d: does not divide the edge %d", axis, size, edge.Codec)
			}
		}
	}
	return nil
}

// checkInner returns an error if an inner chunk shape has the wrong rank or a length
// below 1.
func (g *Grid) checkInner(inner []int64) error {
	if len(inner) != len(g.dims) {
		return fmt.Errorf("inner chunk shape %v: %d lengths for %d axes", inner, len(inner), len(g.dims))
	}
	for axis, size := range inner {
		if size < 1 {
			return fmt.Errorf("axis %d: inner chunk length %d: must be at least 1", axis, size)
		}
	}
	return nil
}

// Inner returns the regular grid of inner chunks in a chunk of codec shape. The inner
// shape must divide it, as sharding_indexed 1.0 requires.
func Inner(codec, inner []int64) (*Grid, error) {
	g, err := Regular(codec, codec)
	if err != nil {
		return nil, err
	}
	if err := g.CheckDivisible(inner); err != nil {
		return nil, err
	}
	return Regular(codec, inner)
}

// InnerClipped is Inner under sharding_indexed 1.1: the codec size of an inner chunk that
// would pass the end of its shard is the remaining length.
func InnerClipped(codec, inner []int64) (*Grid, error) {
	outer, err := Regular(codec, codec)
	if err != nil {
		return nil, err
	}
	if err := outer.checkInner(inner); err != nil {
		return nil, err
	}
	sizes := make([]Sizes, len(codec))
	for axis, size := range inner {
		sizes[axis] = Every(size)
		if codec[axis]%size != 0 {
			sizes[axis] = RunLength(repeatTo(size, codec[axis])...)
		}
	}
	return FromSizes(codec, sizes...)
}

// InnerEdges yields the codec sizes of the innermost chunks along a dimension. At each
// level they are clipped to the chunk around them, as in sharding_indexed 1.1; if each
// size divides the one before, the result is the same as in 1.0. They fill the codec size of
// every cell, also past the extent. Sizes are the inner chunk lengths from the outermost
// level inward.
//
// Runs of chunks with equal inner edges take one step, but a run of cells with mixed
// inner edges is yielded cell by cell.
func InnerEdges(d Dimension, sizes ...int64) (iter.Seq[Run], error) {
	for level, size := range sizes {
		if size < 1 {
			return nil, fmt.Errorf("level %d: inner chunk length %d: must be at least 1", level, size)
		}
	}
	return innerRuns(CodecRuns(d.Runs()), sizes), nil
}

// innerRuns splits runs by the first size, the result by the second, and so on.
func innerRuns(runs iter.Seq[Run], sizes []int64) iter.Seq[Run] {
	for _, size := range sizes {
		runs = Merge(splitEdges(runs, size))
	}
	return runs
}

// splitEdges cuts each edge into pieces of one size and a remainder.
func splitEdges(runs iter.Seq[Run], size int64) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for run := range runs {
			if !splitRun(run, size, yield) {
				return
			}
		}
	}
}

// splitRun yields the pieces of one run's edges and reports whether to continue.
func splitRun(run Run, size int64, yield func(Run) bool) bool {
	pieces, rest := run.Codec/size, run.Codec%size
	if pieces == 0 {
		return yield(run)
	}
	whole, fits := mul(pieces, run.Count)
	if rest == 0 && fits {
		return yield(Times(size, whole))
	}
	// Each edge ends with a remainder, so pieces of neighbouring edges cannot be merged.
	for range run.Count {
		if !yield(Times(size, pieces)) || rest > 0 && !yield(Times(rest, 1)) {
			return false
		}
	}
	return true
}

// ReadRuns yields the result of [ReadSizes] run-length encoded. Equal chunks without
// padding take one step, whatever their number; padded chunks are cut one by one.
func ReadRuns(d Dimension, sizes ...int64) (iter.Seq[Run], error) {
	if _, err := InnerEdges(d, sizes...); err != nil {
		return nil, err
	}
	return Merge(func(yield func(Run) bool) {
		for run := range clipRuns(d) {
			if !readRun(run, sizes, yield) {
				return
			}
		}
	}), nil
}

// clipRuns yields the edges of the chunks of a dimension. The data size of the last one is
// clipped to the extent.
func clipRuns(d Dimension) iter.Seq[Run] {
	return func(yield func(Run) bool) {
		left := d.Extent()
		for run := range d.Runs() {
			full := min(run.Count, left/run.Data)
			if left -= full * run.Data; full > 0 && !yield(Run{run.Edge, full}) {
				return
			}
			if full == run.Count {
				continue
			}
			if left > 0 {
				yield(Run{Edge{run.Codec, left}, 1})
			}
			return
		}
	}
}

// readRun yields the inner edges of a run of chunks and reports whether to continue.
func readRun(run Run, sizes []int64, yield func(Run) bool) bool {
	if run.Codec == run.Data {
		for inner := range innerRuns(slices.Values([]Run{run}), sizes) {
			if !yield(inner) {
				return false
			}
		}
		return true
	}
	for range run.Count {
		left := run.Data
		for inner := range innerRuns(slices.Values([]Run{Times(run.Codec, 1)}), sizes) {
			full := min(inner.Count, left/inner.Data)
			if left -= full * inner.Data; full > 0 && !yield(Times(inner.Data, full)) {
				return false
			}
			if full < inner.Count {
				if left > 0 && !yield(Times(left, 1)) {
					return false
				}
				break
			}
		}
	}
	return true
}

// ReadSizes yields the data sizes of the smallest readable chunks along a dimension whose
// chunks are divided into inner ones of the given sizes: zarr-python's read_chunk_sizes.
// Without sizes they are the data sizes of the chunks, its write_chunk_sizes; see
// [DataSizes].
func ReadSizes(d Dimension, sizes ...int64) (iter.Seq[int64], error) {
	if _, err := InnerEdges(d, sizes...); err != nil {
		return nil, err
	}
	return func(yield func(int64) bool) {
		for data, codec := range chunkSizes(d) {
			cell := func(yield func(Run) bool) { yield(Times(codec, 1)) }
			for edge := range Expand(innerRuns(cell, sizes)) {
				if data <= 0 {
					break
				}
				if !yield(min(data, edge.Codec)) {
					return
				}
				data -= edge.Codec
			}
		}
	}, nil
}

// chunkSizes yields each chunk's data size and codec size.
func chunkSizes(d Dimension) iter.Seq2[int64, int64] {
	return func(yield func(data, codec int64) bool) {
		left := d.Extent()
		for edge := range Expand(d.Runs()) {
			if left <= 0 || !yield(min(left, edge.Data), edge.Codec) {
				return
			}
			left -= edge.Data
		}
	}
}
