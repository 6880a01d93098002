package planner

import (
	"slices"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/equal"
	"varve/manifest/internal/planner/internal/tiling"
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
	differs bool            // the files are refused
}

// takeOnce makes one file provide each position, if the values of the others can be compared with its
// values. settleShared compares them.
func (p *arrangement) takeOnce(a *array, w *placing, pairs [][2]int32) bool {
	if a.parted() || p.env.opts.Pad == plan.PadFill {
		return false
	}
	s := &shared{where: placing{dims: w.dims, tiles: w.tiles}, pairs: pairs}
	s.cut = slices.ContainsFunc(w.dims, (*dim).hasParts)
	places, of, ok := tiling.Places(w.tiles)
	if !ok {
		return false
	}
	s.cut = s.cut || len(places) > len(w.tiles)
	tiles, ok := tiling.Cut(w.tiles, false)
	if !ok {
		tiles = tiling.FirstOfPlaces(w.tiles, places, of)
	}
	p.env.sortTiles(places)
	s.places = places
	files := tiling.Files(w.tiles, pairs)
	p.env.find(p.env.odd(report.Finding{Code: report.Overlapping, Effect: report.Noted, Args: report.Args{"dims": dimList(w.dims), "counts": "equal"}}, files, int64(len(w.tiles))))
	w.shared, w.tiles, w.cut = s, tiles, s.cut
	p.env.sortTiles(w.tiles)
	return true
}

// compareOnePair compares the values of one array in two files that share positions. Members of an ensemble have the
// same positions and different values. One pair shows that, so all other values are read only if these are equal.
func (p *arrangement) compareOnePair(a *array, s *shared) ([]want, error) {
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
	total := c.p.env.comparedBytes
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

// isJoinedOnly reports whether an array is placed only along dimensions of whose files parts are placed. Several files may
// then hold the same positions.
func (a *array) isJoinedOnly() bool {
	return len(a.placed) > 0 && !slices.ContainsFunc(a.placed, func(d *dim) bool { return !d.hasParts() })
}

// partsAt groups files by equal values in tiles that have the same position. It leaves out files with
// missing values.
func (c *comparison) partsAt(tiles []manifest.Tile) (groups [][]int32, missing []want, err error) {
	found := equal.NewComparer(c.alike, c.units)
	for i := range tiles {
		t := &tiles[i]
		at := placeOf(c.a.members, c.p.survey.classOf[t.File])
		m := &c.a.members[at]
		values := coord.None
		if m.v.Storage.Layout != manifest.Nothing {
			w := c.elements(int32(t.File), m)
			var ok bool
			if values, ok, err = c.p.env.values(w); err != nil {
				return nil, nil, err
			}
			if !ok {
				missing = append(missing, w)
				continue
			}
		}
		x, err := c.a.inTile(c.content(at, int32(t.File), values), t)
		if err == nil {
			err = found.Add(int32(t.File), x)
		}
		if err != nil {
			return nil, nil, c.p.env.inFile(int32(t.File), err)
		}
	}
	return found.Groups, missing, nil
}

// inTile returns the content of the part of a file that is in a tile.
func (a *array) inTile(x equal.Content, t *manifest.Tile) (equal.Content, error) {
	start, shape := make([]int64, len(x.Variable.Shape)), slices.Clone(x.Variable.Shape)
	for i, d := range a.placed {
		if k := slices.Index(a.dims, d.path); k >= 0 {
			start[x.Axes[k]], shape[x.Axes[k]] = t.Start[i], t.Shape[i]
		}
	}
	return x.Part(start, shape)
}
