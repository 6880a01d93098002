package patches

import (
	"errors"
	"fmt"
	"path"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// DimensionError is returned for a dimension that no array has.
type DimensionError struct{ Name string }

// Error names the dimension.
func (e *DimensionError) Error() string { return fmt.Sprintf("no array has the dimension %s", e.Name) }

// CheckDims returns a *DimensionError for the first name that is not a dimension of any array.
func CheckDims(arrays []manifest.Array, chunks map[string]int64) error {
	for name := range chunks {
		if !slices.ContainsFunc(arrays, func(a manifest.Array) bool {
			return slices.ContainsFunc(a.Dims, func(dim string) bool { return isCalled(dim, name) })
		}) {
			return &DimensionError{name}
		}
	}
	return nil
}

// isCalled reports whether name is the name or the path of a dimension.
func isCalled(dim, name string) bool { return dim == name || path.Base(dim) == name }

// lengthOf returns the length of merged chunks along a dimension, or 0 if none is given.
func lengthOf(dim string, chunks map[string]int64) int64 {
	if n, ok := chunks[dim]; ok {
		return n
	}
	return chunks[path.Base(dim)]
}

// Merge merges neighbouring chunks of an array along the given dimensions, named by name or path, up
// to the given lengths. It reports whether it merged any. Compacted chunks after the first merged
// chunk are dropped from the array. No value changes. If the array's codecs cannot store all values
// exactly, it does nothing.
func Merge(a *manifest.Array, chunks map[string]int64) (merged bool, err error) {
	if a.Placement == "" {
		return false, nil // the manifest stores its values
	}
	if exact, err := isExact(a.Schema); !exact {
		return false, err
	}
	for axis, dim := range a.Dims {
		if n := lengthOf(dim, chunks); n > 0 && axis < len(a.Schema.Shape) {
			some, err := mergeAxis(a, axis, n)
			if err != nil {
				return false, err
			}
			merged = merged || some
		}
	}
	return merged, nil
}

// isExact reports whether the array's codecs can store any elements exactly.
func isExact(schema *zarrjson.Array) (bool, error) {
	g, err := schema.Grid()
	if err != nil {
		return false, err
	}
	first := make([]int64, g.Rank())
	for axis := range first {
		for r := range g.Dim(axis).Runs() {
			first[axis] = r.Codec
			break
		}
	}
	_, exact, err := codec.ExactCodecs(schema.Codecs, schema.Form(first))
	return exact, err
}

// mergeAxis merges the chunks of an array along one axis, and reports whether it merged any.
func mergeAxis(a *manifest.Array, axis int, length int64) (bool, error) {
	g, err := a.Schema.Grid()
	if err != nil {
		return false, err
	}
	m := merger{length: length}
	for r := range g.Dim(axis).Runs() {
		m.add(r, g.Shape()[axis])
	}
	m.flush()
	if !m.hasMerged {
		return false, nil
	}
	old := a.Schema
	if err := setEdges(a, g, axis, m.out); err != nil {
		return false, err
	}
	patches := a.Patches
	a.Patches = nil
	for _, p := range patches {
		left, err := adaptRun(&p, old, a.Schema, nil)
		if err != nil {
			return false, err
		}
		if left {
			a.Patches = append(a.Patches, p)
		}
	}
	return true, nil
}

// merger merges neighbouring edges, up to a length. Pending edges will be merged, with each other and
// with the edges that follow while the sum is not longer.
type merger struct {
	length int64
	at     int64 // start of the next edge
	out    []grid.Run

	pending   int64     // data size of all pending edges
	edges     int64     // number of pending edges
	last      grid.Edge // the last pending edge
	hasMerged bool
}

// add adds a run of equal edges. The number of steps does not depend on the length of the run.
func (m *merger) add(r grid.Run, extent int64) {
	for count := r.Count; count > 0 && m.at < extent; {
		whole := min(count, (extent-m.at)/r.Data) // edges that the array's end does not cut
		each := m.length / r.Data
		switch {
		case r.Data >= m.length:
			m.flush()
			m.push(r.Edge, count)
			m.at += min(extent-m.at, count*r.Data)
			return
		case whole == 0: // the array's end cuts this edge, so it is the last
			m.addPending(r.Edge, 1, extent-m.at)
			count = 0
		case m.edges == 0 && each == 1 && whole > 1: // two of them are too long together
			m.push(r.Edge, whole-1)
			m.at += (whole - 1) * r.Data
			count -= whole - 1
		case m.edges == 0 && each > 1 && whole/each > 1: // merge all but the last group, which may grow
			some := whole/each - 1
			m.push(grid.Full(each*r.Data), some)
			m.hasMerged = true
			m.at += some * each * r.Data
			count -= some * each
		default:
			n := min(whole, max((m.length-m.pending)/r.Data, 0))
			if n == 0 {
				m.flush()
				continue
			}
			m.addPending(r.Edge, n, r.Data)
			count -= n
		}
	}
}

// addPending makes n edges with this data size pending.
func (m *merger) addPending(e grid.Edge, n, data int64) {
	if m.pending+data > m.length {
		m.flush()
	}
	m.pending += n * data
	m.edges += n
	m.last = e
	m.at += n * data
}

// flush merges the pending edges to one. It does not change a single edge, which may be padded.
func (m *merger) flush() {
	switch {
	case m.edges == 1:
		m.push(m.last, 1)
	case m.edges > 1:
		m.push(grid.Full(m.pending), 1)
		m.hasMerged = true
	}
	m.pending, m.edges = 0, 0
}

// push appends edges to the result.
func (m *merger) push(e grid.Edge, count int64) {
	if k := len(m.out) - 1; k >= 0 && m.out[k].Edge == e {
		m.out[k].Count += count
		return
	}
	m.out = append(m.out, grid.Run{Edge: e, Count: count})
}

// setEdges gives an array a copy of its schema with other edges along an axis.
func setEdges(a *manifest.Array, g *grid.Grid, axis int, runs []grid.Run) (err error) {
	schema := *a.Schema
	if schema.ChunkGrid, err = withEdges(&schema, g, axis, runs); err == nil {
		a.Schema = &schema
	}
	return err
}

// withEdges returns the chunk grid of a schema with other edges along an axis. A regular grid stays
// regular if all edges are equal and fill the axis, so that it can also grow by whole chunks later.
func withEdges(schema *zarrjson.Array, g *grid.Grid, axis int, runs []grid.Run) (c zarrjson.ChunkGrid, err error) {
	if schema.ChunkGrid.Encoded != nil {
		return c, fmt.Errorf("merging chunks of a grid with encoded_chunk_shapes is %w", errors.ErrUnsupported)
	}
	if size := runs[0].Data; schema.ChunkGrid.Name == zarrjson.Regular && len(runs) == 1 && g.Shape()[axis]%size == 0 {
		shape, _ := g.ChunkShape()
		shape = slices.Clone(shape)
		shape[axis] = size
		return zarrjson.RegularGrid(shape...), nil
	}
	sizes := make([]grid.Sizes, g.Rank())
	for k := range sizes {
		edges := slices.Collect(g.Dim(k).Runs())
		if k == axis {
			edges = runs
		}
		sizes[k] = grid.RunLength(edges...)
	}
	return zarrjson.RectilinearGrid(sizes...), nil
}
