package store

import (
	"context"
	"iter"

	"varve/grid"
	"varve/manifest"
)

// Tile is the part of an array that one variable of one source provides.
type Tile struct {
	Source   manifest.Source
	Variable *manifest.Variable // with only the attributes on which its values depend; must not be changed
	// Axes has the variable's axis for each axis of the array, or -1 if the variable lacks it, so that its elements repeat.
	Axes []int
	// Box is the tile in the array, Within the same elements in the variable, with the variable's order of axes.
	Box, Within grid.Region
	Reversed    []int // the axes of the array along which Within is read backwards
	// IsSame is true if the array has the elements of the variable bit for bit, without conversion.
	IsSame bool
}

// Tiles yields the tiles of the array, in the order of the placement. Elements without a tile have the fill value. It reads only
// the manifest. An array whose values are in the manifest has no tiles.
func (a *Array) Tiles(ctx context.Context) iter.Seq2[*Tile, error] {
	return func(yield func(*Tile, error) bool) {
		if a.IsInManifest() {
			return
		}
		m, err := a.tiles(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for t, err := range m.Tiles(ctx) {
			if err != nil {
				yield(nil, err)
				return
			}
			src, err := a.store.Source(ctx, t.File)
			if err != nil {
				yield(nil, err)
				return
			}
			out := &Tile{Source: src, Variable: t.Fit.Variable, Box: t.Box, Within: t.Within, Reversed: t.Reversed, IsSame: t.Fit.Conversion.Identity()}
			for axis := range t.Box.Shape {
				out.Axes = append(out.Axes, t.Fit.Axis(axis))
			}
			if !yield(out, nil) {
				return
			}
		}
	}
}

// IsInManifest reports whether the array's values are stored in the manifest.
func (a *Array) IsInManifest() bool { return a.isInManifest() }
