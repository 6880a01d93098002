package mosaic

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/packed"
)

// Layout finds the tiles of a placement. All arrays of a placement share it. It does not change.
//
// The bounds of all tiles cut each axis, and the cuts form cells. Each cell is in one tile or in none:
//
//	cuts      0     31    59        90     tile 2 starts after a gap
//	cells     │  0  │  1  │    2    │  3
//	table        0     1      none     2
//
// In nearly all archives tiles follow one another along one axis, or are the product of cuts along
// several axes, so there are not many more cells than tiles. If there would be too many cells, a tree
// of bounding boxes finds the tiles instead.
type Layout struct {
	dims []string
	n    int // number of tiles

	// The file of each tile, and its origin, start and length along each axis. A million tiles are usual.
	files                    packed.Ints
	origins, starts, lengths []packed.Ints
	hasReversed              bool // some tiles are read backwards

	cuts  []*packed.Ints // for each axis: see cutsAlong
	table *packed.Ints   // tile of each cell in C order, or none
	tree  *boxTree       // instead of cuts and table, if there would be too many cells

	shared *sharedCache
}

// none is the tile number of a cell that is in no tile.
const none = int32(-1)

// maxTiles is the largest number of tiles of a placement. Numbers of tiles are int32.
const maxTiles = math.MaxInt32 / 16

// Arrange returns the layout of a placement. Tiles that overlap are an error.
func Arrange(p *manifest.Placement) (*Layout, error) {
	a := NewArranger(p.Dims)
	for i := range p.Tiles {
		if err := a.Add(&p.Tiles[i]); err != nil {
			return nil, fmt.Errorf("placement %s: %w", p.ID, err)
		}
	}
	l, err := a.Layout()
	if err != nil {
		return nil, fmt.Errorf("placement %s: %w", p.ID, err)
	}
	return l, nil
}

// Arranger makes a Layout from one tile after another. A Layout needs a fraction of the memory of the
// tiles as manifest.Tile.
type Arranger struct{ l *Layout }

// NewArranger returns an arranger of tiles along these dimensions.
func NewArranger(dims []string) *Arranger {
	n := len(dims)
	return &Arranger{&Layout{dims: slices.Clone(dims), shared: &sharedCache{},
		origins: make([]packed.Ints, n), starts: make([]packed.Ints, n), lengths: make([]packed.Ints, n)}}
}

// Add adds the next tile.
func (a *Arranger) Add(t *manifest.Tile) error {
	l := a.l
	n := len(l.dims)
	if len(t.Origin) != n || len(t.Start) != n || len(t.Shape) != n {
		return corruptf("tile %d: origin, start and shape have %d, %d and %d numbers for %d dimensions", l.n, len(t.Origin), len(t.Start), len(t.Shape), n)
	}
	for k := range n {
		if !t.IsValid(k) {
			return corruptf("tile %d: length %d, start %d or origin %d along %s is out of range", l.n, t.Shape[k], t.Start[k], t.Origin[k], l.dims[k])
		}
	}
	if l.n == maxTiles {
		return fmt.Errorf("more than %d tiles are %w", maxTiles, errors.ErrUnsupported)
	}
	l.files.Append(int64(t.File))
	for k := range n {
		l.origins[k].Append(t.Origin[k])
		l.starts[k].Append(t.Start[k])
		l.hasReversed = l.hasReversed || t.Start[k] < 0
		l.lengths[k].Append(t.Shape[k])
	}
	l.n++
	return nil
}

// Layout returns the layout of all tiles that were added. The arranger must not be used afterwards.
func (a *Arranger) Layout() (*Layout, error) {
	l := a.l
	for k := range l.dims {
		l.cuts = append(l.cuts, l.cutsAlong(k))
	}
	overlapping, ok, err := l.fillTable()
	if err != nil {
		return nil, err
	}
	if !ok {
		// For tiles on a diagonal, the table would grow with the square of their number.
		l.cuts, l.table = nil, nil
		l.tree = newBoxTree(l)
		overlapping, err = l.overlap()
	}
	if err != nil {
		return nil, err
	}
	if overlapping != none {
		return nil, corruptf("tile %d of source %d overlaps another tile", overlapping, l.file(overlapping))
	}
	return l, nil
}

func corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %w", codec.ErrCorrupt, fmt.Errorf(format, args...))
}

// Dims returns the paths of the dimensions along which tiles are placed. They must not be changed.
func (l *Layout) Dims() []string { return l.dims }

func (l *Layout) file(t int32) int64 { return l.files.At(int(t)) }

// along returns the position of a tile along one axis.
func (l *Layout) along(t int32, axis int) (origin, start, length int64) {
	return l.origins[axis].At(int(t)), l.starts[axis].At(int(t)), l.lengths[axis].At(int(t))
}

// ends returns the first index of a tile along one axis and the index after its last.
func (l *Layout) ends(t int32, axis int) (from, to int64) {
	from = l.origins[axis].At(int(t))
	return from, from + l.lengths[axis].At(int(t))
}

// isEmpty reports whether a tile has no elements.
func (l *Layout) isEmpty(t int32) bool {
	for k := range l.lengths {
		if l.lengths[k].At(int(t)) == 0 {
			return true
		}
	}
	return false
}

// cutsAlong returns the start of each cell along an axis, in increasing order. The last cell is beyond
// all tiles and has no end.
func (l *Layout) cutsAlong(axis int) *packed.Ints {
	// Tiles usually come in order. Then the cuts need no sorting, and no memory for that.
	cuts := &packed.Ints{}
	for at := range l.eachCut(axis) {
		n := cuts.Len()
		if n > 0 && cuts.At(n-1) > at {
			return l.sortedCuts(axis)
		}
		if n == 0 || cuts.At(n-1) != at {
			cuts.Append(at)
		}
	}
	return cuts
}

func (l *Layout) sortedCuts(axis int) *packed.Ints {
	var cuts []int64
	for at := range l.eachCut(axis) {
		if n := len(cuts); n == 0 || cuts[n-1] != at {
			cuts = append(cuts, at)
		}
	}
	slices.Sort(cuts)
	return packed.Of(slices.Compact(cuts))
}

// eachCut yields the bounds along an axis of all tiles that have elements. An empty tile needs no cell.
func (l *Layout) eachCut(axis int) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for t := range int32(l.n) {
			if from, to := l.ends(t, axis); !l.isEmpty(t) && !(yield(from) && yield(to)) {
				return
			}
		}
	}
}

// fillTable sets the tile of each cell. ok is false if there would be too many cells. overlapping is a
// tile that overlaps another, or none.
func (l *Layout) fillTable() (overlapping int32, ok bool, err error) {
	// Tiles with gaps between them need up to 2 cells a tile along an axis, so 8 in three dimensions.
	limit, cells := 1<<16+8*l.n, 1
	for _, cuts := range l.cuts {
		if cells *= max(cuts.Len(), 1); cells > limit {
			return none, false, nil
		}
	}
	table := make([]int32, cells)
	for i := range table {
		table[i] = none
	}
	lo, hi := make([]int, len(l.dims)), make([]int, len(l.dims))
	for t := range int32(l.n) {
		if l.isEmpty(t) {
			continue
		}
		for k := range l.dims {
			// Tiles usually come in order, so the cell of the tile before is a good hint.
			from, to := l.ends(t, k)
			lo[k] = search(l.cuts[k], from, lo[k])
			hi[k] = search(l.cuts[k], to-1, lo[k])
		}
		free := true
		l.eachCell(lo, hi, func(cell int) bool {
			free = table[cell] == none
			table[cell] = t
			return free
		})
		if !free {
			return t, true, nil
		}
	}
	l.table = &packed.Ints{}
	for _, t := range table {
		l.table.Append(int64(t))
	}
	return none, true, nil
}

// overlap returns a tile that overlaps another, or none.
func (l *Layout) overlap() (int32, error) {
	origin, end := make([]int64, len(l.dims)), make([]int64, len(l.dims))
	var found []int32
	for t := range int32(l.n) {
		if l.isEmpty(t) {
			continue
		}
		for k := range l.dims {
			origin[k], end[k] = l.ends(t, k)
		}
		found = l.tree.appendMeeting(found[:0], origin, end)
		if len(found) > 1 { // besides the tile itself
			return t, nil
		}
	}
	return none, nil
}

// eachCell calls do with the number of every cell in a box of cells, until do returns false. A layout
// without axes has one cell.
func (l *Layout) eachCell(lo, hi []int, do func(cell int) bool) {
	// An array on the stack, because this runs for each tile and chunk and must not allocate.
	var at [8]int
	cell := at[:]
	if len(lo) > len(cell) {
		cell = make([]int, len(lo))
	}
	cell = cell[:len(lo)]
	copy(cell, lo)
	for {
		if !do(l.cellNumber(cell)) {
			return
		}
		k := len(lo) - 1
		for ; k >= 0; k-- {
			if cell[k]++; cell[k] <= hi[k] {
				break
			}
			cell[k] = lo[k]
		}
		if k < 0 {
			return
		}
	}
}

// tileOf returns the tile of a cell, or none.
func (l *Layout) tileOf(cell int) int32 { return int32(l.table.At(cell)) }

func (l *Layout) cellNumber(cell []int) (number int) {
	for k, c := range cell {
		number = number*l.cuts[k].Len() + c
	}
	return number
}

// search returns the cell that contains an index, or -1 before the first cut. It tries the cell hint and
// the cell after it first, because neighbouring chunks are in the same cell or in the next.
func search(cuts *packed.Ints, index int64, hint int) int {
	if n := cuts.Len(); hint >= 0 && hint < n && cuts.At(hint) <= index {
		if hint+1 == n || index < cuts.At(hint+1) {
			return hint
		}
		if hint+2 == n || index < cuts.At(hint+2) {
			return hint + 1
		}
	}
	return cuts.Search(index) - 1
}

func sortedUnique(tiles []int32) []int32 {
	slices.Sort(tiles)
	return slices.Compact(tiles)
}
