// Package tiling finds tiles that overlap, and cuts them.
package tiling

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
)

// morePlaces limits the number of places that Places makes beyond four for each tile. It bounds memory: a window of n
// steps that moves by one step in each file has n places in each tile.
const morePlaces = 1 << 18

// Overlapping returns pairs of overlapping tiles: each tile with the first one that it overlaps.
func Overlapping(tiles []manifest.Tile) (pairs [][2]int32) {
	if len(tiles) == 0 || len(tiles[0].Origin) == 0 {
		return nil
	}
	// In a lattice only neighbours can overlap, so a million tiles take one pass.
	if isLattice(tiles) {
		for i := 1; i < len(tiles); i++ {
			if slices.Equal(tiles[i-1].Origin, tiles[i].Origin) {
				pairs = append(pairs, [2]int32{int32(i - 1), int32(i)})
			}
		}
		return pairs
	}
	var active []int32 // tiles that end after the current start along the first dimension
	for i := range tiles {
		kept := active[:0]
		met := false
		for _, k := range active {
			if End(&tiles[k], 0) <= tiles[i].Origin[0] {
				continue
			}
			kept = append(kept, k)
			// One pair per tile is enough to refuse, and keeps the list linear.
			if !met && meet(&tiles[k], &tiles[i]) {
				pairs = append(pairs, [2]int32{k, int32(i)})
				met = true
			}
		}
		active = append(kept, int32(i))
	}
	return pairs
}

// isLattice reports whether the tiles are cells of a lattice: along each dimension, two tiles cover
// either the same positions or disjoint ones.
func isLattice(tiles []manifest.Tile) bool {
	for k := range tiles[0].Origin {
		length := make(map[int64]int64)
		for i := range tiles {
			t := &tiles[i]
			if n, ok := length[t.Origin[k]]; ok && n != t.Shape[k] {
				return false
			}
			length[t.Origin[k]] = t.Shape[k]
		}
		reach := int64(math.MinInt64)
		for _, from := range slices.Sorted(maps.Keys(length)) {
			if from < reach {
				return false
			}
			reach = from + length[from]
		}
	}
	return true
}

// End returns where a tile ends along dimension k.
func End(t *manifest.Tile, k int) int64 { return t.Origin[k] + t.Shape[k] }

func meet(a, b *manifest.Tile) bool {
	for k := range a.Origin {
		if End(a, k) <= b.Origin[k] || End(b, k) <= a.Origin[k] {
			return false
		}
	}
	return true
}

// Files returns the files of pairs of tiles.
func Files(tiles []manifest.Tile, pairs [][2]int32) (files []int32) {
	for _, pair := range pairs {
		files = append(files, int32(tiles[pair[0]].File), int32(tiles[pair[1]].File))
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// Cut cuts overlapping tiles so that each position has one: the tile that starts first, or
// last. It returns false if tiles overlap along more than one dimension.
func Cut(tiles []manifest.Tile, last bool) ([]manifest.Tile, bool) {
	if len(tiles) == 0 {
		return tiles, true
	}
	along, ok := overlapAxis(tiles)
	if !ok {
		return nil, false
	}
	rows := rowsOf(tiles, along)
	var out []manifest.Tile
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, cutRow(rows[key], along, last)...)
	}
	return out, len(Overlapping(SortByOrigin(out))) == 0
}

// overlapAxis returns the dimension along which overlapping tiles differ. ok is false if there are
// several. Tiles with equal extents can be cut along any dimension.
func overlapAxis(tiles []manifest.Tile) (along int, ok bool) {
	along = -1
	for _, pair := range Overlapping(tiles) {
		for k := range tiles[0].Origin {
			a, b := &tiles[pair[0]], &tiles[pair[1]]
			if a.Origin[k] != b.Origin[k] || a.Shape[k] != b.Shape[k] {
				if along >= 0 && along != k {
					return 0, false
				}
				along = k
			}
		}
	}
	return max(along, 0), true
}

// rowsOf groups tiles that differ at most along one dimension.
func rowsOf(tiles []manifest.Tile, along int) map[string][]manifest.Tile {
	rows := map[string][]manifest.Tile{}
	for _, t := range tiles {
		key := rowKey(&t, along)
		rows[key] = append(rows[key], t)
	}
	return rows
}

// SortByOrigin sorts tiles in place by their origins.
func SortByOrigin(tiles []manifest.Tile) []manifest.Tile {
	slices.SortStableFunc(tiles, func(a, b manifest.Tile) int { return slices.Compare(a.Origin, b.Origin) })
	return tiles
}

// rowKey identifies the extent of a tile in all dimensions except one.
func rowKey(t *manifest.Tile, along int) string {
	var b strings.Builder
	for k := range t.Origin {
		if k != along {
			fmt.Fprintf(&b, "%d+%d,", t.Origin[k], t.Shape[k])
		}
	}
	return b.String()
}

// cutRow cuts the tiles of a row along a dimension, so that the first or the last tile wins. The row
// must be sorted by origin.
func cutRow(row []manifest.Tile, along int, last bool) (out []manifest.Tile) {
	if !last {
		reach := int64(math.MinInt64)
		for _, t := range row {
			if from := max(t.Origin[along], reach); from < End(&t, along) {
				out = append(out, sliced(t, along, from, End(&t, along)))
				reach = End(&t, along)
			}
		}
		return out
	}
	// From the last tile on, each tile keeps only positions that no later one covers.
	for i := len(row) - 1; i >= 0; i-- {
		out = append(out, uncovered(row[i], row[i+1:], along)...)
	}
	return out
}

// uncovered returns the parts of a tile that no later tile covers.
func uncovered(t manifest.Tile, over []manifest.Tile, along int) (out []manifest.Tile) {
	from, to := t.Origin[along], End(&t, along)
	for i := range over {
		o := &over[i]
		if o.Origin[along] >= to {
			break
		}
		if o.Origin[along] > from {
			out = append(out, sliced(t, along, from, o.Origin[along]))
		}
		from = max(from, End(o, along))
	}
	if from < to {
		out = append(out, sliced(t, along, from, to))
	}
	return out
}

// sliced returns the part of a tile between two positions.
func sliced(t manifest.Tile, along int, from, to int64) manifest.Tile {
	if from == t.Origin[along] && to == End(&t, along) {
		return t
	}
	s := manifest.Tile{File: t.File, Origin: slices.Clone(t.Origin), Start: slices.Clone(t.Start), Shape: slices.Clone(t.Shape)}
	s.Start[along] += from - t.Origin[along]
	s.Origin[along], s.Shape[along] = from, to-from
	return s
}

// Places cuts tiles where other tiles begin or end along each dimension, so that two places have the same
// positions or none in common. of has, for each place, the index of its tile. ok is false if there are too many places.
func Places(tiles []manifest.Tile) (places []manifest.Tile, of []int32, ok bool) {
	cuts := make([][]int64, len(tiles[0].Origin))
	for k := range cuts {
		for i := range tiles {
			cuts[k] = append(cuts[k], tiles[i].Origin[k], End(&tiles[i], k))
		}
		slices.Sort(cuts[k])
		cuts[k] = slices.Compact(cuts[k])
	}
	for i, t := range tiles {
		own := []manifest.Tile{t}
		for k := range cuts {
			var next []manifest.Tile
			for _, o := range own {
				for _, part := range (coord.Part{Origin: o.Origin[k], Start: o.Start[k], Length: o.Shape[k]}).CutAt(cuts[k]) {
					next = append(next, sliced(o, k, part.Origin, part.Origin+part.Length))
				}
			}
			own = next
		}
		places = append(places, own...)
		for range own {
			of = append(of, int32(i))
		}
		if len(places) > 4*len(tiles)+morePlaces {
			return nil, nil, false
		}
	}
	return places, of, true
}

// CutPlaces cuts overlapping tiles as Cut does, also if they overlap along several dimensions. It
// returns false if there are too many places.
func CutPlaces(tiles []manifest.Tile, last bool) ([]manifest.Tile, bool) {
	if last {
		tiles = slices.Clone(tiles)
		slices.Reverse(tiles)
	}
	places, of, ok := Places(tiles)
	if !ok {
		return nil, false
	}
	return FirstOfPlaces(tiles, places, of), true
}

// FirstOfPlaces returns a tile for each place: a part of the first of the tiles that have the place. A tile that is
// first at all of its places is not cut.
func FirstOfPlaces(tiles, places []manifest.Tile, of []int32) (out []manifest.Tile) {
	taken := map[string]bool{}
	for from := 0; from < len(places); {
		to := from
		var own []manifest.Tile
		for ; to < len(places) && of[to] == of[from]; to++ {
			if at := fmt.Sprint(places[to].Origin); !taken[at] {
				taken[at] = true
				own = append(own, places[to])
			}
		}
		if len(own) == to-from {
			own = tiles[of[from] : of[from]+1]
		}
		out = append(out, own...)
		from = to
	}
	return out
}
