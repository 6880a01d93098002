package mosaic

import (
	"context"
	"iter"

	"varve/grid"
)

// Tile is the part of the array that one variable of one source provides.
type Tile struct {
	File int64 // the row of the source
	Fit  *Fit
	// Box is the tile in the array, Within the same elements in the variable, with the variable's order of axes: see Fit.Order.
	// Along an axis that the variable lacks, its elements repeat.
	Box, Within grid.Region
	Reversed    []int // the axes of the array along which Within is read backwards
}

// Tiles yields the tiles that have elements, in the order of the placement. A source without the variable has no tile.
func (m *Mosaic) Tiles(ctx context.Context) iter.Seq2[*Tile, error] {
	return func(yield func(*Tile, error) bool) {
		for t := range int32(m.layout.n) {
			tile, err := m.tile(ctx, t)
			if err != nil {
				yield(nil, err)
				return
			}
			if tile != nil && !yield(tile, nil) {
				return
			}
		}
	}
}

// tile returns a tile, or nil if it has no elements.
func (m *Mosaic) tile(ctx context.Context, t int32) (*Tile, error) {
	h, err := m.header(ctx, t)
	if err != nil {
		return nil, err
	}
	f, err := m.fit(h)
	if f == nil || err != nil {
		return nil, err
	}
	box := grid.MakeRegion(len(f.axes))
	for k := range f.axes {
		from, to := f.coveredRange(t, k)
		box.Origin[k], box.Shape[k] = from, min(to, m.grid.Shape()[k])-from
		if box.Shape[k] <= 0 {
			return nil, nil
		}
	}
	return &Tile{m.layout.file(t), f, box, f.inVariable(t, box), f.reversed(t)}, nil
}

// Axis returns the variable's axis for an axis of the array, or -1 if the variable lacks it.
func (f *Fit) Axis(axis int) int { return f.axes[axis].axis }
