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
// chunk are dropped from the array. No value changes. It does nothing if the array's codecs cannot
// store all values exactly.
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

func mergeAxis(a *manifest.Array, axis int, length int64) (bool, error) {
	g, err := a.Schema.Grid()
	if err != nil {
		return false, err
	}
	m := merger{length: length}
	for r := range g.Dim(axis).Runs() {
		m.run(r, g.Shape()[axis])
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

// merger merges edges, up to a length.
type merger struct {
	length int64
	at     int64 // start of the next edge
	out    []grid.Run

	pending   int64 // data size of the edges that wait to be merged
	only      grid.Edge
	edges     int64
	hasMerged bool
}

// run adds edges. The number of steps does not depend on the number of equal edges.
func (m *merger) run(r grid.Run, extent int64) {
	for count := r.Count; count > 0 && m.at < extent; {
		whole := min(count, (extent-m.at)/r.Data) // edges that the array's end does not cut
		each := m.length / r.Data
		switch {
		case r.Data >= m.length:
			m.flush()
			m.push(r.Edge, count)
			m.at += min(extent-m.at, count*r.Data)
			return
		case whole == 0: // the last edge
			m.take(r.Edge, 1, extent-m.at)
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
			m.take(r.Edge, n, r.Data)
			count -= n
		}
	}
}

// take adds n edges with this data size to those that wait.
func (m *merger) take(e grid.Edge, n, data int64) {
	if m.pending+data > m.length {
		m.flush()
	}
	m.pending += n * data
	m.edges += n
	m.only = e
	m.at += n * data
}

// flush makes one edge of the edges that wait. A single one is not changed.
func (m *merger) flush() {
	switch {
	case m.edges == 1:
		m.push(m.only, 1)
	case m.edges > 1:
		m.push(grid.Full(m.pending), 1)
		m.hasMerged = true
	}
	m.pending, m.edges = 0, 0
}

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
// regular if that is possible, also when the array grows by whole chunks later.
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
