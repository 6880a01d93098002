package zarrjson

import (
	"iter"
	"slices"

	"varve/grid"
)

func collect(runs iter.Seq[grid.Run]) []grid.Run { return slices.Collect(runs) }

func each(runs []grid.Run) iter.Seq[grid.Run] { return slices.Values(runs) }

func (c ChunkGrid) validate() error {
	switch {
	case c.Name != Regular && c.Name != Rectilinear:
		return corruptError("chunk_grid.name", `%q is not "regular" or "rectilinear"`, abbreviate(string(c.Name)))
	case c.Name == Regular && c.Encoded != nil:
		return corruptError(encodedField, "a regular grid has none")
	}
	for axis, s := range c.Sizes {
		if _, isInteger := s.RegularSize(); c.Name == Regular && !isInteger {
			return corruptError(indexPath(c.field(), axis), `a list of edges in a regular grid; use the name "rectilinear"`)
		}
	}
	return nil
}

// write writes the grid of an array with the given shape, which Bind has accepted.
func (c ChunkGrid) write(w *writer, shape []int64) error {
	w.begin('{')
	w.name("name")
	w.text(string(c.Name))
	w.name("configuration")
	w.begin('{')
	if c.Name == Regular {
		w.name("chunk_shape")
		c.writeShape(w)
	} else {
		w.name("kind")
		w.text("inline")
		w.name("chunk_shapes")
		if err := writeAxes(w, c.Sizes, shape); err != nil {
			return atPath(shapesField, err)
		}
	}
	if c.Encoded != nil {
		w.name("encoded_chunk_shapes")
		if err := writeAxes(w, c.Encoded, shape); err != nil {
			return atPath(encodedField, err)
		}
	}
	w.end('}')
	w.end('}')
	return nil
}

func (c ChunkGrid) writeShape(w *writer) {
	w.begin('[')
	for _, s := range c.Sizes {
		size, _ := s.RegularSize()
		w.next()
		w.integer(size)
	}
	w.end(']')
}

func writeAxes(w *writer, sizes []grid.Sizes, shape []int64) error {
	w.begin('[')
	for axis, s := range sizes {
		w.next()
		if size, isInteger := s.RegularSize(); isInteger {
			w.integer(size)
			continue
		}
		d, err := s.Bind(shape[axis])
		if err != nil {
			return atPath(indexPath("", axis), err)
		}
		if err := writeEdges(w, d); err != nil {
			return atPath(indexPath("", axis), err)
		}
	}
	w.end(']')
	return nil
}

func writeEdges(w *writer, d grid.Dimension) error {
	if err := checkRuns(d); err != nil {
		return err
	}
	writeRuns(w, grid.DataRuns(d.Runs()))
	return nil
}

func writeRuns(w *writer, runs iter.Seq[grid.Run]) {
	w.begin('[')
	for run := range runs {
		w.next()
		if run.Count == 1 {
			w.integer(run.Data)
			continue
		}
		w.integers([]int64{run.Data, run.Count})
	}
	w.end(']')
}
