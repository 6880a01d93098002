package mosaic

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/manifest"
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
	dims  []string
	tiles []int64 // for each tile: file, origin, start and shape
	n     int     // number of tiles

	cuts  [][]int64 // for each axis: see cutsAlong
	table []int32   // tile of each cell in C order, or none
	tree  *boxTree  // instead of cuts and table, if there would be too many cells

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
	return &Arranger{&Layout{dims: slices.Clone(dims), shared: &sharedCache{}}}
}

// Add adds the next tile.
func (a *Arranger) Add(t *manifest.Tile) error {
	l := a.l
	n := len(l.dims)
	if len(t.Origin) != n || len(t.Start) != n || len(t.Shape) != n {
		return corruptf("tile %d: origin, start and shape have %d, %d and %d numbers for %d dimensions", l.n, len(t.Origin), len(t.Start), len(t.Shape), n)
	}
	for k := range n {
		if t.Origin[k] < 0 || t.Start[k] < 0 || t.Shape[k] < 0 || t.Origin[k] > math.MaxInt64-t.Shape[k] || t.Start[k] > math.MaxInt64-t.Shape[k] {
			return corruptf("tile %d: length %d, start %d or origin %d along %s is out of range", l.n, t.Shape[k], t.Start[k], t.Origin[k], l.dims[k])
		}
	}
	if l.n == maxTiles {
		return fmt.Errorf("more than %d tiles are %w", maxTiles, errors.ErrUnsupported)
	}
	// Grow by a half. append could double a slice that is already most of the memory.
	if l.n == cap(l.tiles)/max(l.stride(), 1) {
		l.tiles = slices.Grow(l.tiles, max(l.stride(), len(l.tiles)/2))
	}
	l.tiles = append(l.tiles, int64(t.File))
	l.tiles = append(append(append(l.tiles, t.Origin...), t.Start...), t.Shape...)
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

// stride is the number of integers that store a tile.
func (l *Layout) stride() int { return 1 + 3*len(l.dims) }

func (l *Layout) file(t int32) int64 { return l.tiles[int(t)*l.stride()] }

func (l *Layout) origin(t int32) []int64 { return l.numbers(t, 0) }
func (l *Layout) shape(t int32) []int64  { return l.numbers(t, 2) }

// numbers returns the origin (0), start (1) or shape (2) of a tile.
func (l *Layout) numbers(t int32, which int) []int64 {
	n := len(l.dims)
	at := int(t)*l.stride() + 1 + which*n
	return l.tiles[at : at+n : at+n]
}

// along returns the position of a tile along one axis.
func (l *Layout) along(t int32, axis int) (origin, start, length int64) {
	n := len(l.dims)
	of := l.tiles[int(t)*l.stride()+1:]
	return of[axis], of[n+axis], of[2*n+axis]
}

// isEmpty reports whether a tile has no elements.
func (l *Layout) isEmpty(t int32) bool { return slices.Contains(l.shape(t), 0) }

// cutsAlong returns the start of each cell along an axis, in increasing order. The last cell is beyond
// all tiles and has no end.
func (l *Layout) cutsAlong(axis int) []int64 {
	cuts := make([]int64, 0, l.n+1)
	add := func(at int64) {
		if n := len(cuts); n == 0 || cuts[n-1] != at {
			cuts = append(cuts, at)
		}
	}
	for t := range int32(l.n) {
		// An empty tile needs no cell.
		if !l.isEmpty(t) {
			at := l.origin(t)[axis]
			add(at)
			add(at + l.shape(t)[axis])
		}
	}
	if !slices.IsSorted(cuts) {
		slices.Sort(cuts)
	}
	return slices.Compact(cuts)
}

// fillTable sets the tile of each cell. ok is false if there would be too many cells. overlapping is a
// tile that overlaps another, or none.
func (l *Layout) fillTable() (overlapping int32, ok bool, err error) {
	// Tiles with gaps between them need up to 2 cells a tile along an axis, so 8 in three dimensions.
	limit, cells := 1<<16+8*l.n, 1
	for _, cuts := range l.cuts {
		if cells *= max(len(cuts), 1); cells > limit {
			return none, false, nil
		}
	}
	l.table = make([]int32, cells)
	for i := range l.table {
		l.table[i] = none
	}
	lo, hi := make([]int, len(l.dims)), make([]int, len(l.dims))
	for t := range int32(l.n) {
		if l.isEmpty(t) {
			continue
		}
		for k, at := range l.origin(t) {
			// Tiles usually come in order, so the cell of the tile before is a good hint.
			lo[k] = search(l.cuts[k], at, lo[k])
			hi[k] = search(l.cuts[k], at+l.shape(t)[k]-1, lo[k])
		}
		free := true
		l.eachCell(lo, hi, func(cell int) bool {
			free = l.table[cell] == none
			l.table[cell] = t
			return free
		})
		if !free {
			return t, true, nil
		}
	}
	return none, true, nil
}

// overlap returns a tile that overlaps another, or none.
func (l *Layout) overlap() (int32, error) {
	end := make([]int64, len(l.dims))
	var found []int32
	for t := range int32(l.n) {
		if l.isEmpty(t) {
			continue
		}
		for k, at := range l.origin(t) {
			end[k] = at + l.shape(t)[k]
		}
		found = l.tree.appendMeeting(found[:0], l.origin(t), end)
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

func (l *Layout) cellNumber(cell []int) (number int) {
	for k, c := range cell {
		number = number*len(l.cuts[k]) + c
	}
	return number
}

// search returns the cell that contains an index, or -1 before the first cut. It tries the cell hint and
// the cell after it first, because neighbouring chunks are in the same cell or in the next.
func search(cuts []int64, index int64, hint int) int {
	if hint >= 0 && hint < len(cuts) && cuts[hint] <= index {
		if hint+1 == len(cuts) || index < cuts[hint+1] {
			return hint
		}
		if hint+2 == len(cuts) || index < cuts[hint+2] {
			return hint + 1
		}
	}
	lo, hi := 0, len(cuts)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); cuts[mid] <= index {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

func sortedUnique(tiles []int32) []int32 {
	slices.Sort(tiles)
	return slices.Compact(tiles)
}
