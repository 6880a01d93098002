package tiling

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest"
)

// random returns sorted tiles within a box of 12 × 12 positions.
func random(r *rand.Rand, dims int) (tiles []manifest.Tile) {
	for f := range 1 + r.IntN(6) {
		t := manifest.Tile{File: f}
		for range dims {
			from := int64(r.IntN(10))
			t.Origin, t.Start, t.Shape = append(t.Origin, from), append(t.Start, 0), append(t.Shape, 1+r.Int64N(12-from))
		}
		tiles = append(tiles, t)
	}
	return SortByOrigin(tiles)
}

// owners returns, for each position, the files of the tiles that cover it. Each tile must be where it was in its file.
func owners(t *testing.T, tiles, whole []manifest.Tile) map[string][]int {
	t.Helper()
	at := map[string][]int{}
	for _, tile := range tiles {
		w := whole[slices.IndexFunc(whole, func(w manifest.Tile) bool { return w.File == tile.File })]
		for k := range tile.Origin {
			if tile.Origin[k]-tile.Start[k] != w.Origin[k] {
				t.Fatalf("%+v is not a part of %+v", tile, w)
			}
		}
		position := slices.Clone(tile.Origin)
		for {
			at[fmt.Sprint(position)] = append(at[fmt.Sprint(position)], tile.File)
			k := 0
			for ; k < len(position); k++ {
				if position[k]++; position[k] < End(&tile, k) {
					break
				}
				position[k] = tile.Origin[k]
			}
			if k == len(position) {
				break
			}
		}
	}
	return at
}

// TestCut: after a cut, the same positions are covered, each by the first or the last of the tiles that had it.
func TestCut(t *testing.T) {
	for seed := range soak.Seeds(t, 500) {
		r := rand.New(rand.NewPCG(seed, 0))
		tiles, last := random(r, 1+r.IntN(2)), r.IntN(2) == 0
		before := owners(t, tiles, tiles)
		overlap := slices.ContainsFunc(slices.Collect(maps.Values(before)), func(files []int) bool { return len(files) > 1 })
		if got := len(Overlapping(tiles)) > 0; got != overlap {
			t.Fatalf("seed %d: tiles overlap: %v, want %v", seed, got, overlap)
		}
		for name, cut := range map[string]func([]manifest.Tile, bool) ([]manifest.Tile, bool){"Cut": Cut, "CutPlaces": CutPlaces} {
			after, ok := cut(slices.Clone(tiles), last)
			if !ok && name == "Cut" {
				continue // they overlap along several dimensions
			}
			left := owners(t, after, tiles)
			if len(left) != len(before) {
				t.Fatalf("seed %d, %s: %d positions are covered, not %d", seed, name, len(left), len(before))
			}
			for position, files := range left {
				want := before[position][0]
				if last {
					want = before[position][len(before[position])-1]
				}
				if len(files) != 1 || files[0] != want {
					t.Fatalf("seed %d, %s, last %v: the files %v have %s, want %d", seed, name, last, files, position, want)
				}
			}
		}
	}
}
