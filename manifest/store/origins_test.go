package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
)

// TestOrigins compares the origins of chunks with their locations: a verbatim chunk has one origin, a missing
// chunk has none, and a re-encoded chunk has only origins whose tiles overlap it.
func TestOrigins(t *testing.T) {
	seed := soak.Seed(t)
	reencoded := 0
	for i := range 60 {
		t.Run(fmt.Sprintf("seed %d-%d", seed, i), func(t *testing.T) {
			w := newWorld(t, rand.New(rand.NewPCG(seed, uint64(i))))
			a, err := openMemory(t, w.snapshot(), w.tables, Options{}).Array("v")
			if err != nil {
				t.Fatal(err)
			}
			walk := a.Grid().Walk()
			for l, err := range a.Locations(t.Context(), grid.Whole(a.Grid().Counts())) {
				if err != nil || !walk.Next() {
					t.Fatal(err)
				}
				got, err := a.Origins(t.Context(), l.Coords)
				if err != nil {
					t.Fatal(err)
				}
				switch want := w.meeting(walk.Region); {
				case l.Kind == manifest.Missing && len(got) > 0:
					t.Errorf("chunk %v is missing, but has origins %v", l.Coords, got)
				case l.Kind != manifest.Reencoded && l.Source >= 0 && !slices.Equal(got, []int64{l.Source}):
					t.Errorf("chunk %v is in source %d, but has origins %v", l.Coords, l.Source, got)
				case slices.ContainsFunc(got, func(row int64) bool { return !slices.Contains(want, row) }):
					t.Errorf("chunk %v overlaps sources %v, but has origins %v", l.Coords, want, got)
				case l.Kind == manifest.Reencoded && len(got) > 0:
					reencoded++
				}
			}
			if _, err := a.Origins(t.Context(), a.Grid().Counts()); len(w.shape) > 0 && !errors.Is(err, grid.ErrOutOfBounds) {
				t.Errorf("beyond the last chunk: %v", err)
			}
		})
	}
	if reencoded < 10 {
		t.Errorf("seed %d: only %d chunks are re-encoded", seed, reencoded)
	}
}

// meeting returns the sources of the tiles that overlap a region.
func (w *world) meeting(r grid.Region) (rows []int64) {
	for i := range w.tiles {
		tile, shared := &w.tiles[i], grid.MakeRegion(len(w.shape))
		box := grid.Whole(slices.Clone(w.shape)).Clone()
		for k, axis := range w.placed {
			box.Origin[axis], box.Shape[axis] = tile.Origin[k], tile.Shape[k]
		}
		if shared.Intersect(box, r) {
			rows = append(rows, int64(tile.File))
		}
	}
	return rows
}
