package mosaic

import (
	"context"

	"varve/grid"
	"varve/manifest"
)

// Place is where a declared chunk is, as far as that can be told without its ref.
type Place struct {
	// Kind is the best that the chunk can be, whatever the ref at Row says: one that is
	// Verbatim here can turn out to be Re-encoded or Missing. One that is Missing stays so.
	Kind Kind
	Tile int32 // the one tile that meets the chunk; -1 if there are none or several
	Row  int64 // of the ref of all that is stored of the chunk; -1 if there is not one

	fit          *Fit
	offset, size int64 // of the chunk's bytes in those that the ref is of; size -1 for all
	covered      bool  // all of the chunk is in the tile
	reaches      bool
	same         bool // if the ref has no mask
}

// Locator finds places one after another, faster where they are near each other. It is for
// one goroutine.
type Locator struct {
	ctx    context.Context // of the search: headers may have to be read
	m      *Mosaic
	lo, hi []int // the cells that the last chunk met, by the layout's axes
	origin []int64
	end    []int64
	found  []int32

	one bool // that is one cell

	header *manifest.Header // of the last tile
	fit    *Fit
	last   sheet
}

// Locator returns a new one.
func (m *Mosaic) Locator(ctx context.Context) *Locator {
	n := len(m.axes)
	return &Locator{ctx: ctx, m: m, lo: make([]int, n), hi: make([]int, n), origin: make([]int64, n), end: make([]int64, n)}
}

// Locate finds the place of a declared chunk.
func (m *Mosaic) Locate(ctx context.Context, coords []int64) (Place, error) {
	c, ok := m.grid.Chunk(coords)
	if !ok {
		return Place{}, m.wrap(noChunk(coords, m.grid))
	}
	return m.Locator(ctx).Place(&c)
}

// Place finds the place of a chunk of the array's grid.
func (l *Locator) Place(c *grid.Chunk) (Place, error) {
	tiles := l.tiles(c.Region)
	only, fit, covered := none, (*Fit)(nil), false
	for _, t := range tiles {
		f, err := l.fitOf(t)
		if err != nil {
			return Place{}, err
		}
		if f == nil {
			continue
		}
		some, all := f.meets(t, c.Region)
		if !some {
			continue
		}
		if only != none {
			return Place{Kind: Reencoded, Tile: none, Row: -1}, nil
		}
		only, fit, covered = t, f, all
	}
	if only == none {
		return Place{Kind: Missing, Tile: none, Row: -1}, nil
	}
	return fit.place(only, c, covered), nil
}

// tiles returns the tiles whose boxes meet a region, in their order.
func (l *Locator) tiles(r grid.Region) []int32 {
	l.found = l.found[:0]
	lay := l.m.layout
	one := lay.tree == nil
	l.one = false
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
		l.found = lay.tree.meeting(l.found, l.origin, l.end)
		return l.found
	}
	if l.one = one; one {
		if t := lay.table[lay.cellNumber(l.lo)]; t != none {
			l.found = append(l.found, t)
		}
		return l.found
	}
	return l.several()
}

// several collects the tiles of more than one cell.
func (l *Locator) several() []int32 {
	lay := l.m.layout
	lo, hi := make([]int, len(l.lo)), l.hi
	for j := range lo {
		if lo[j] = max(l.lo[j], 0); hi[j] < 0 {
			return nil
		}
	}
	lay.eachCell(lo, hi, func(cell int) bool {
		if t := lay.table[cell]; t != none {
			l.found = append(l.found, t)
		}
		return true
	})
	l.found = sortedUnique(l.found)
	return l.found
}

func (l *Locator) fitOf(t int32) (*Fit, error) {
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

// extent is where a tile's variable lies along an axis of the array: not further than the
// variable goes, and all along an axis that it lacks.
func (f *Fit) extent(t int32, axis int) (from, to int64) {
	have := f.axes[axis].length
	j := f.m.placed[axis]
	if j < 0 {
		return 0, have
	}
	from, start, length := f.m.layout.along(t, j)
	if f.axes[axis].axis < 0 {
		return from, from + max(length, 0)
	}
	return from, from + max(min(length, have-start), 0)
}

// within is the index of the variable that is at an index of the array: along an axis that it
// lacks the only one.
func (f *Fit) within(t int32, axis int, at int64) int64 {
	if f.axes[axis].axis < 0 {
		return 0
	}
	j := f.m.placed[axis]
	if j < 0 {
		return at
	}
	origin, start, _ := f.m.layout.along(t, j)
	return at - origin + start
}

// meets reports whether a tile's variable has any element of a region, and whether it has
// all of them.
func (f *Fit) meets(t int32, r grid.Region) (some, all bool) {
	all = true
	for k := range f.axes {
		from, to := f.extent(t, k)
		origin, end := r.Origin[k], r.End(k)
		if origin >= to || end <= from {
			return false, false
		}
		all = all && origin >= from && end <= to
	}
	return true, all
}
