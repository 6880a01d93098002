package mosaic

import (
	"context"

	"varve/grid"
	"varve/manifest"
)

// candidate is the only stored chunk that can have the bytes of a declared chunk, before its ref is read.
type candidate struct {
	// kind is the best kind that the declared chunk can have. Depending on the ref, a Verbatim chunk can
	// turn out to be Re-encoded or Missing. A Missing chunk stays Missing.
	kind manifest.ChunkKind
	tile int32 // the only tile with elements of the declared chunk; -1 if there is none or several
	row  int64 // of the only ref with stored bytes of the declared chunk; -1 if there is none or several

	fit          *Fit
	offset, size int64 // of the declared chunk's bytes within the ref's bytes; size is -1 for all of them
	isCovered    bool  // the tile contains the whole declared chunk
	isPadded     bool  // the stored chunk extends beyond the variable's shape
	isMatch      bool  // the result of Fit.matchesSchema for a ref without a mask
}

// locator finds the tiles and candidates of chunks. It remembers the last one, so a chunk near it is found faster. It
// is not safe for concurrent use.
type locator struct {
	ctx    context.Context // for Files, which may have to read headers
	m      *Mosaic
	lo, hi []int // the cells that the last chunk met, for each axis of the layout
	origin []int64
	end    []int64
	found  []int32

	isOneCell bool // the last chunk met only one cell

	header *manifest.FileHeader // of the last tile
	fit    *Fit
	last   chunkBox
}

func (m *Mosaic) locator(ctx context.Context) *locator {
	n := len(m.axes)
	return &locator{ctx: ctx, m: m, lo: make([]int, n), hi: make([]int, n), origin: make([]int64, n), end: make([]int64, n)}
}

// candidate returns the candidate of a chunk of the array's grid.
func (l *locator) candidate(c *grid.Chunk) (candidate, error) {
	tiles := l.tiles(c.Region)
	only, fit, covered := none, (*Fit)(nil), false
	for _, t := range tiles {
		f, err := l.fitOf(t)
		if err != nil {
			return candidate{}, err
		}
		if f == nil { // the source lacks the variable
			continue
		}
		some, all := f.meets(t, c.Region)
		if !some {
			continue
		}
		// A second tile has elements of the chunk, so no stored chunk has all of them.
		if only != none {
			return candidate{kind: manifest.Reencoded, tile: none, row: -1}, nil
		}
		only, fit, covered = t, f, all
	}
	if only == none {
		return candidate{kind: manifest.Missing, tile: none, row: -1}, nil
	}
	return fit.candidate(only, c, covered), nil
}

// tiles returns the tiles whose boxes intersect a region, in increasing order. The slice is valid until
// the next call.
func (l *locator) tiles(r grid.Region) []int32 {
	l.found = l.found[:0]
	lay := l.m.layout
	one := lay.tree == nil
	l.isOneCell = false
	for j, k := range l.m.axes {
		if r.Shape[k] == 0 {
			return nil
		}
		l.origin[j], l.end[j] = r.Origin[k], r.End(k)
		if lay.tree == nil {
			l.lo[j] = search(lay.cuts[j], r.Origin[k], l.lo[j])
			l.hi[j] = search(lay.cuts[j], r.End(k)-1, l.lo[j])
			one = one && l.lo[j] == l.hi[j] && l.lo[j] >= 0
		}
	}
	if lay.tree != nil {
		l.found = lay.tree.appendMeeting(l.found, l.origin, l.end)
		return l.found
	}
	if l.isOneCell = one; one {
		if t := lay.tileOf(lay.cellNumber(l.lo)); t != none {
			l.found = append(l.found, t)
		}
		return l.found
	}
	return l.tilesOfCells()
}

// tilesOfCells returns the tiles of the cells from lo to hi.
func (l *locator) tilesOfCells() []int32 {
	lay := l.m.layout
	lo, hi := make([]int, len(l.lo)), l.hi
	for j := range lo {
		if lo[j] = max(l.lo[j], 0); hi[j] < 0 {
			return nil
		}
	}
	lay.eachCell(lo, hi, func(cell int) bool {
		if t := lay.tileOf(cell); t != none {
			l.found = append(l.found, t)
		}
		return true
	})
	// A tile that covers several of the cells was found several times.
	l.found = sortedUnique(l.found)
	return l.found
}

func (l *locator) fitOf(t int32) (*Fit, error) {
	h, err := l.m.header(l.ctx, t)
	if err != nil || h == l.header {
		return l.fit, err
	}
	f, err := l.m.fit(h)
	if err != nil {
		return nil, err
	}
	l.header, l.fit = h, f
	return f, nil
}

// coveredRange returns the indices of the array along an axis for which a tile's variable has elements.
// A variable can be shorter than its tile. Along an axis that the variable lacks, the range is the whole
// tile.
func (f *Fit) coveredRange(t int32, axis int) (from, to int64) {
	have := f.axes[axis].length
	j := f.m.layoutAxes[axis]
	if j < 0 {
		return 0, have
	}
	from, start, length := f.m.layout.along(t, j)
	if f.axes[axis].axis < 0 {
		return from, from + max(length, 0)
	}
	if start < 0 {
		short := max(-start-have, 0) // positions at the beginning of the tile that the variable lacks
		return from + min(short, length), from + length
	}
	return from, from + max(min(length, have-start), 0)
}

// variableIndex returns the variable's index for an index of the array. It is 0 along an axis that the
// variable lacks.
func (f *Fit) variableIndex(t int32, axis int, at int64) int64 {
	if f.axes[axis].axis < 0 {
		return 0
	}
	j := f.m.layoutAxes[axis]
	if j < 0 {
		return at
	}
	origin, start, _ := f.m.layout.along(t, j)
	if start < 0 {
		return -1 - start - (at - origin)
	}
	return at - origin + start
}

// isReversed reports whether a tile reads its variable backwards along an axis of the array.
func (f *Fit) isReversed(t int32, axis int) bool {
	j := f.m.layoutAxes[axis]
	return f.m.layout.hasReversed && j >= 0 && f.axes[axis].axis >= 0 && f.m.layout.starts[j].At(int(t)) < 0
}

// reversed returns the axes of the array along which a tile reads its variable backwards.
func (f *Fit) reversed(t int32) (axes []int) {
	for k := range f.axes {
		if f.isReversed(t, k) {
			axes = append(axes, k)
		}
	}
	return axes
}

// meets reports whether a tile's variable has some elements of a region, and whether it has all.
func (f *Fit) meets(t int32, r grid.Region) (some, all bool) {
	all = true
	for k := range f.axes {
		from, to := f.coveredRange(t, k)
		origin, end := r.Origin[k], r.End(k)
		if origin >= to || end <= from {
			return false, false
		}
		all = all && origin >= from && end <= to
	}
	return true, all
}
