package store

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/readers"
)

// Runs yields every chunk in a box of chunk coordinates, in C order, including the Missing ones. An error ends
// the sequence.
func (a *Array) Runs(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Run] {
	if a.isInManifest() {
		return a.inlineRuns(ctx, chunks)
	}
	return func(yield func(*manifest.Run, error) bool) {
		m, err := a.tiles(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		for r, err := range m.Runs(ctx, a.store.tables, chunks) {
			if err == nil && (r.Kind == manifest.Reencoded && len(a.spec.Patches) > 0 || r.InlineRow > 0) {
				for one, err := range manifest.RunsOf(a.each(ctx, r, chunks)) {
					if !yield(one, err) || err != nil {
						return
					}
				}
				continue
			}
			if err == nil {
				err = a.checkRun(r)
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// checkRun returns an error if an offset or size is negative.
func (a *Array) checkRun(r *manifest.Run) error {
	// The sign bit of all is set if any number is negative. That is much faster than a comparison for each
	// chunk.
	all := int64(0)
	for i, offset := range r.Offsets {
		all |= offset | r.Sizes[i]
	}
	if all >= 0 {
		return nil
	}
	bad := func(n int64) bool { return n < 0 }
	return fmt.Errorf("%s: run from chunk %v: %w: size %d or offset %d is negative", a.Path(), r.Coords, codec.ErrCorrupt,
		r.Sizes[max(slices.IndexFunc(r.Sizes, bad), 0)], r.Offsets[max(slices.IndexFunc(r.Offsets, bad), 0)])
}

// each yields the chunks of a run one by one, with their compacted or inline bytes.
func (a *Array) each(ctx context.Context, r *manifest.Run, chunks grid.Region) readers.Reusing[manifest.Location] {
	return func(yield func(*manifest.Location, error) bool) {
		for l := range r.Locations(chunks) {
			err := a.complete(ctx, l)
			if !yield(l, err) || err != nil {
				return
			}
		}
	}
}

// Locations yields every chunk in a box of chunk coordinates one by one, in the order of Runs. Every
// Location is a new one; Runs takes much less time. An error ends the sequence.
func (a *Array) Locations(ctx context.Context, chunks grid.Region) iter.Seq2[*manifest.Location, error] {
	return func(yield func(*manifest.Location, error) bool) {
		for l, err := range manifest.LocationsOf(a.Runs(ctx, chunks), chunks) {
			if err != nil {
				yield(nil, err)
				return
			}
			own := *l
			own.Coords = slices.Clone(l.Coords)
			if !yield(&own, nil) {
				return
			}
		}
	}
}

// Count returns the number of the array's chunks of each kind.
func (a *Array) Count(ctx context.Context) (manifest.Counts, error) {
	return manifest.CountsOf(a.Runs(ctx, grid.Whole(a.grid.Counts())))
}
