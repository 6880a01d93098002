package planner

import (
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/internal/planner/internal/newdim"
	"varve/manifest/report"
)

// earlier is the part of an archive that earlier plans have planned. Its samples are the first of env.files. All
// methods accept nil, which means that there is no such part.
type earlier struct {
	state
	arrays map[string]*manifest.Array // by path
	rows   int                        // the number of sources: the row of the first new file
}

// replanError says that new files may change what earlier plans decided.
type replanError struct{ why report.Replan }

// Error implements error.
func (e replanError) Error() string { return "all files must be planned again: " + string(e.why) }

// has reports whether a file is a sample.
func (e *earlier) has(file int32) bool { return e != nil && int(file) < len(e.Samples) }

// row returns the row of a file in the table of sources.
func (e *earlier) row(file int32) int {
	switch {
	case e == nil:
		return int(file)
	case e.has(file):
		return e.Samples[file].Row
	}
	return e.rows + int(file) - len(e.Samples)
}

// others returns the number of files that a sample represents beside itself.
func (e *earlier) others(file int32) int64 {
	if e.has(file) {
		return e.Samples[file].Files - 1
	}
	return 0
}

// stepKind returns the kind of values that a new dimension has in the earlier plan.
func (e *earlier) stepKind() newdim.Kind {
	if e == nil {
		return ""
	}
	return e.Step
}

// lastText returns the greatest text that places a file in the earlier plan.
func (e *earlier) lastText() string {
	if e == nil {
		return ""
	}
	return string(e.LastText)
}

// array returns the array at a path in the earlier plan, or nil.
func (e *earlier) array(path string) *manifest.Array {
	if e == nil {
		return nil
	}
	return e.arrays[path]
}

// grows reports whether an array has the dimension along which new files follow.
func (e *earlier) grows(dims []string) bool { return e != nil && slices.Contains(dims, e.Dim) }

// placeBehind places the new files after all old files. lineUp placed them after the samples.
func (p *alignment) placeBehind() error {
	e := p.env.earlier
	if e == nil {
		return nil
	}
	d := p.dims[e.Dim]
	if d == nil || d.role != flowing || !d.hasEnd() || e.ByName != (d.by == byNames) {
		return replanError{report.ReplanNewPosition}
	}
	starts, end := map[*coord.Coord]int64{}, int64(0)
	for f, s := range e.Samples {
		if c := d.coordOf(int32(f)); c != nil {
			starts[c] = s.Start
			end = max(end, c.Start+c.Len)
		}
	}
	for f := len(e.Samples); f < len(d.of); f++ {
		if c := d.coordOf(int32(f)); c != nil {
			if _, old := starts[c]; old {
				return replanError{report.ReplanNewPosition} // an old file has the same positions
			}
		}
	}
	last := int64(0)
	for _, c := range d.order {
		start, old := starts[c]
		switch {
		case old && start < last:
			return replanError{report.ReplanNewPosition} // an earlier version moved files, and their names sort differently now
		case old:
			c.Start, last = start, start
		case c.Start < end, d.nature == coord.Text && d.by == byValues && slices.Min(c.Texts()) <= e.lastText():
			return replanError{report.ReplanNewPosition}
		default:
			c.Start += e.Length - end
		}
	}
	d.length += e.Length - end
	return nil
}

// continuesEarlier reports whether files are placed along the same dimensions as in the earlier plan. In a mosaic, the
// samples have all cells, so they have to be where they were.
func (p *arrangement) continuesEarlier() bool {
	e, f := p.env.earlier, p.flow()
	if f == nil || f.along.path != e.Dim || len(f.across) != len(e.Across) {
		return false
	}
	for i, d := range f.across {
		if d.path != e.Across[i] {
			return false
		}
	}
	for file, s := range e.Samples {
		if !slices.Equal(f.startsAcross(int32(file)), s.Across) {
			return false
		}
	}
	return true
}

// oldFiles returns the number of old files that have an array.
func (p *survey) oldFiles(a *array) (n int64) {
	for _, m := range a.members {
		for _, f := range p.classes[m.class].files {
			if p.env.earlier.has(f) {
				n += p.env.earlier.Samples[f].Files
			}
		}
	}
	return n
}

// oldEdges returns the edges that the earlier plan has along an axis, up to its length, or nil. They stay as they are,
// also where the length of the array is now such that netCDF-3 records would be joined: otherwise each append might
// change chunks that clients have opened.
func (c *cutting) oldEdges(axis, at int) []grid.Run {
	e := c.p.env.earlier
	was := e.array(c.a.path)
	if was == nil || c.a.where.dims[at].path != e.Dim || axis >= len(was.Schema.ChunkGrid.Sizes) {
		return nil
	}
	return edge.RunsOf(was.Schema.ChunkGrid.Sizes[axis], was.Schema.Shape[axis])
}
