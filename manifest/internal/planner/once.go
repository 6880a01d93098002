package planner

import (
	"slices"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// shared holds the positions of a placing that several files have. If the files have equal values
// there, one file provides them; otherwise the files are refused.
type shared struct {
	where  placing         // the placing with the tiles of all files
	pairs  [][2]int32      // overlapping tiles
	places []manifest.Tile // tiles, cut so that two of them have the same positions or none in common; sorted
	cut    bool            // some places are parts of files
	first  *array          // the array that is compared before the others
	state  sharedState
}

// sharedState says how much of shared is compared.
type sharedState uint8

const (
	notCompared   sharedState = iota
	firstCompared             // two files have equal values of one array
	sharedDiffers
)

// mostPlaces limits the places of each tile. Windows that move by one step have as many as they have steps.
const mostPlaces = 64

// takeOnce makes one file provide each position, if the values of the others can be compared with its
// values. settleShared compares them.
func (p *layout) takeOnce(a *array, w *placing, pairs [][2]int32) bool {
	if a.parted() || p.opts.Pad == plan.PadFill {
		return false
	}
	along, ok := overlapAxis(w.tiles)
	if !ok {
		return false
	}
	s := &shared{where: placing{dims: w.dims, tiles: w.tiles}, pairs: pairs}
	s.cut = slices.ContainsFunc(w.dims, func(d *dim) bool { return d.joined })
	rows := rowsOf(w.tiles, along)
	for _, key := range sorted(rows) {
		row := rows[key]
		var ends []int64
		for i := range row {
			ends = append(ends, row[i].Origin[along], end(&row[i], along))
		}
		slices.Sort(ends)
		ends = slices.Compact(ends)
		for _, t := range row {
			parts := axisPart{t.Origin[along], t.Start[along], t.Shape[along]}.cutAt(ends)
			for _, part := range parts {
				s.places = append(s.places, sliced(t, along, part.origin, part.origin+part.length))
			}
			s.cut = s.cut || len(parts) > 1
		}
		if len(s.places) > mostPlaces*len(w.tiles) {
			return false
		}
	}
	p.sortTiles(s.places)
	tiles, ok := cutTiles(w.tiles, false)
	if !ok {
		return false
	}
	files := filesIn(w.tiles, pairs)
	p.find(p.odd(report.Finding{Code: report.Overlapping, Effect: report.Noted, Args: report.Args{"dims": dimList(w.dims), "counts": "equal"}}, files, int64(len(w.tiles))))
	w.shared, w.tiles, w.cut = s, tiles, s.cut
	p.sortTiles(w.tiles)
	return true
}

// settleShared compares the values of files at the same positions, and refuses files whose values differ.
//
// Members of an ensemble have the same positions and other values. Two files and one array show that, so
// everything else is read only if these are equal.
func (p *layout) settleShared(a *array, s *shared) error {
	if s.first == nil {
		s.first = a
	}
	c := p.comparing(a)
	groups := s.groups()
	switch {
	case s.state == sharedDiffers || s.state == notCompared && s.first != a:
		return nil
	case c.largest() > manifest.MostSummed || s.cut && !c.fitPlaces(groups):
		p.refuseShared(a, s, "large")
		return nil
	case s.state == notCompared:
		if equal, err := c.equalIn([][]manifest.Tile{groups[0][:2]}, s.cut); err != nil || len(p.needs) > 0 {
			return err
		} else if !equal {
			p.refuseShared(a, s, "differ")
			return nil
		}
		s.state = firstCompared
	}
	equal, err := c.equalIn(groups, s.cut)
	if err == nil && !equal && len(p.needs) == 0 {
		p.refuseShared(a, s, "differ")
	}
	return err
}

func (p *layout) refuseShared(a *array, s *shared, why string) {
	s.state = sharedDiffers // one array is enough to refuse the files
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
				v := c.a.memberOf(c.p.classOf[f]).v
				if v.Type.Varies() && c.p.isLarge(v) {
					return false
				}
				total += sizeOf(v)
			}
		}
	}
	return total <= manifest.MostSummed
}

// equalIn reports whether the files of each group have equal values. It requests unknown values. If
// cut is false, places are whole files, and digests are enough.
func (c *comparison) equalIn(groups [][]manifest.Tile, cut bool) (bool, error) {
	for _, g := range groups {
		var found [][]int32
		var err error
		if cut {
			found, err = c.partsAt(g)
		} else {
			files := make([]int32, len(g))
			for i := range g {
				files[i] = int32(g[i].File)
			}
			found, err = c.parts(files)
		}
		if err != nil {
			return false, err
		}
		if len(found) > 1 {
			return false, nil
		}
	}
	return true, nil
}
