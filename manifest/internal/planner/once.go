package planner

import (
	"fmt"
	"slices"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// shared holds the positions of a placing that several files have. If the files have equal values
// there, one file provides them; otherwise the files are refused.
type shared struct {
	where   placing         // the placing with the tiles of all files
	pairs   [][2]int32      // overlapping tiles
	places  []manifest.Tile // tiles, cut so that two of them have the same positions or none in common; sorted
	cut     bool            // some places are parts of files
	first   *array          // the array that is compared before the others
	differs bool            // the files are refused
}

// morePlaces limits how many more places there are than tiles. Windows that move by one step have as many
// as they have steps.
const morePlaces = 1 << 18

// takeOnce makes one file provide each position, if the values of the others can be compared with its
// values. settleShared compares them.
func (p *arrangement) takeOnce(a *array, w *placing, pairs [][2]int32) bool {
	if a.parted() || p.env.opts.Pad == plan.PadFill {
		return false
	}
	s := &shared{where: placing{dims: w.dims, tiles: w.tiles}, pairs: pairs}
	s.cut = slices.ContainsFunc(w.dims, func(d *dim) bool { return d.joined })
	places, of, ok := placesOf(w.tiles)
	if !ok {
		return false
	}
	s.cut = s.cut || len(places) > len(w.tiles)
	tiles, ok := cutTiles(w.tiles, false)
	if !ok {
		tiles = firstOfPlaces(w.tiles, places, of)
	}
	p.env.sortTiles(places)
	s.places = places
	files := filesIn(w.tiles, pairs)
	p.env.find(p.env.odd(report.Finding{Code: report.Overlapping, Effect: report.Noted, Args: report.Args{"dims": dimList(w.dims), "counts": "equal"}}, files, int64(len(w.tiles))))
	w.shared, w.tiles, w.cut = s, tiles, s.cut
	p.env.sortTiles(w.tiles)
	return true
}

// placesOf cuts tiles at the ends of all others along each dimension, so that two of the results have the
// same positions or none in common. of has the index of the tile of each. ok is false if they are too many.
func placesOf(tiles []manifest.Tile) (places []manifest.Tile, of []int32, ok bool) {
	cuts := make([][]int64, len(tiles[0].Origin))
	for k := range cuts {
		for i := range tiles {
			cuts[k] = append(cuts[k], tiles[i].Origin[k], end(&tiles[i], k))
		}
		slices.Sort(cuts[k])
		cuts[k] = slices.Compact(cuts[k])
	}
	for i, t := range tiles {
		own := []manifest.Tile{t}
		for k := range cuts {
			var next []manifest.Tile
			for _, o := range own {
				for _, part := range (axisPart{o.Origin[k], o.Start[k], o.Shape[k]}).cutAt(cuts[k]) {
					next = append(next, sliced(o, k, part.origin, part.origin+part.length))
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

// cutPlaces cuts overlapping tiles as cutTiles does, also if they overlap along several dimensions. It
// returns false if there would be too many.
func cutPlaces(tiles []manifest.Tile, last bool) ([]manifest.Tile, bool) {
	if last {
		tiles = slices.Clone(tiles)
		slices.Reverse(tiles)
	}
	places, of, ok := placesOf(tiles)
	if !ok {
		return nil, false
	}
	return firstOfPlaces(tiles, places, of), true
}

// firstOfPlaces returns a tile for each place, of the first file that has it. A file that has all of its
// places stays in one tile.
func firstOfPlaces(tiles, places []manifest.Tile, of []int32) (out []manifest.Tile) {
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

// compareFirst compares two files that share positions. Members of an ensemble have the same positions and
// other values. Two files and one array show that, so everything else is read only if these are equal.
func (p *arrangement) compareFirst(a *array, s *shared) ([]want, error) {
	c, groups := p.comparing(a), s.groups()
	if p.refuseLarge(c, s, groups) {
		return nil, nil
	}
	equal, missing, err := c.equalIn([][]manifest.Tile{groups[0][:2]}, s.cut)
	if err == nil && !equal && len(missing) == 0 {
		p.refuseShared(a, s, "differ")
	}
	return missing, err
}

// settleShared compares the values of files at the same positions, and refuses files whose values differ.
func (p *arrangement) settleShared(a *array, s *shared) ([]want, error) {
	c, groups := p.comparing(a), s.groups()
	if s.differs || p.refuseLarge(c, s, groups) {
		return nil, nil
	}
	equal, missing, err := c.equalIn(groups, s.cut)
	if err == nil && !equal && len(missing) == 0 {
		p.refuseShared(a, s, "differ")
	}
	return missing, err
}

// refuseLarge refuses files that share positions, if an array is too large to be compared.
func (p *arrangement) refuseLarge(c *comparison, s *shared, groups [][]manifest.Tile) bool {
	if c.largest() <= manifest.MostSummed && (!s.cut || c.fitPlaces(groups)) {
		return false
	}
	p.refuseShared(c.a, s, "large")
	return true
}

func (p *arrangement) refuseShared(a *array, s *shared, why string) {
	s.differs = true // one array is enough to refuse the files
	p.refuseOverlap(a, &s.where, s.pairs, why)
}

// groups returns the places that several files have.
func (s *shared) groups() (groups [][]manifest.Tile) {
	for from := 0; from < len(s.places); {
		to := from + 1
		for to < len(s.places) && slices.Equal(s.places[from].Origin, s.places[to].Origin) {
			to++
		}
		if to > from+1 {
			groups = append(groups, s.places[from:to])
		}
		from = to
	}
	return groups
}

// fitPlaces reports whether the memory limit permits all elements of the files that share places.
func (c *comparison) fitPlaces(groups [][]manifest.Tile) bool {
	seen := map[int]bool{}
	total := c.p.comparedBytes
	for _, g := range groups {
		for i := range g {
			if f := g[i].File; !seen[f] {
				seen[f] = true
				m := c.a.memberOf(c.p.survey.classOf[f])
				if m.v.Type.Varies() && c.p.env.isLarge(m.v) {
					return false
				}
				if !c.isCompared(int32(f), m) {
					total += sizeOf(m.v)
				}
			}
		}
	}
	return total <= manifest.MostSummed
}

// equalIn reports whether the files of each group have equal known values. If cut is false, places are
// whole files, and digests are enough.
func (c *comparison) equalIn(groups [][]manifest.Tile, cut bool) (equal bool, missing []want, err error) {
	for _, g := range groups {
		var found [][]int32
		var lacks []want
		if cut {
			found, lacks, err = c.partsAt(g)
		} else {
			files := make([]int32, len(g))
			for i := range g {
				files[i] = int32(g[i].File)
			}
			found, lacks, err = c.parts(files)
		}
		if missing = append(missing, lacks...); err != nil || len(found) > 1 {
			return false, missing, err
		}
	}
	return true, missing, nil
}
