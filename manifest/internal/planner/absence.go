package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/tiling"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// absences finds the files at positions that no tile of an array covers. It visits only files whose
// boxes overlap tiles. The cost grows with the tiles that exist, not with the missing ones:
// an archive may have many variables that only one file has.
func (p *arrangement) absences(a *array, w *placing) {
	covered, all := p.cover(w)
	w.holes = covered < all
	if !w.holes {
		return
	}
	t := p.territoryOf(w.dims)
	present := map[int32]bool{}
	for _, m := range a.members {
		for _, f := range p.survey.classes[m.class].files {
			if t.boxes[f] != nil {
				present[f] = true
			}
		}
	}
	t.addCovered(w.tiles, present)
	w.absent = t.without(present)
}

// territory holds the positions of files along some dimensions, regardless of their variables.
type territory struct {
	boxes   map[int32]*manifest.Tile // of files that are not empty
	byName  []int32                  // the files of boxes, by name
	byStart []int32                  // the files of boxes by origin, if there is one dimension
	begins  map[string][]int32       // the files of boxes by origin, if there are several dimensions
}

func (p *arrangement) territoryOf(dims []*dim) *territory {
	key := dimPaths(dims)
	if t := p.territories[key]; t != nil {
		return t
	}
	t := &territory{boxes: map[int32]*manifest.Tile{}, begins: map[string][]int32{}}
	for f := range int32(len(p.env.files)) {
		if box := p.survey.boxOf(f, dims); box != nil {
			t.boxes[f] = box
			t.byName = append(t.byName, f)
		}
	}
	slices.SortFunc(t.byName, p.env.byName)
	if len(dims) == 1 {
		t.byStart = slices.Clone(t.byName)
		slices.SortStableFunc(t.byStart, func(f, g int32) int { return cmp.Compare(t.boxes[f].Origin[0], t.boxes[g].Origin[0]) })
	} else {
		for _, f := range t.byName {
			key := fmt.Sprint(t.boxes[f].Origin)
			t.begins[key] = append(t.begins[key], f)
		}
	}
	p.territories[key] = t
	return t
}

func dimPaths(dims []*dim) string {
	var b strings.Builder
	for _, d := range dims {
		b.WriteString(d.path)
		b.WriteByte(0)
	}
	return b.String()
}

// boxOf returns the position of a file along dimensions, or nil if it is empty along one of them.
func (p *survey) boxOf(file int32, dims []*dim) *manifest.Tile {
	if p.classOf[file] < 0 {
		return nil
	}
	box := &manifest.Tile{}
	for _, d := range dims {
		start, length, ok := p.extent(d, file)
		if !ok || length == 0 {
			return nil
		}
		box.Origin, box.Shape = append(box.Origin, start), append(box.Shape, length)
	}
	return box
}

// addCovered adds to found the files whose boxes are covered by tiles. The tiles must be sorted.
func (t *territory) addCovered(tiles []manifest.Tile, found map[int32]bool) {
	if t.byStart == nil {
		for i := range tiles {
			for _, f := range t.begins[fmt.Sprint(tiles[i].Origin)] {
				if within(t.boxes[f].Shape, tiles[i].Shape) {
					found[f] = true
				}
			}
		}
		return
	}
	for i := 0; i < len(tiles); {
		from, to := tiles[i].Origin[0], tiling.End(&tiles[i], 0)
		for i++; i < len(tiles) && tiles[i].Origin[0] <= to; i++ {
			to = max(to, tiling.End(&tiles[i], 0))
		}
		at, _ := slices.BinarySearchFunc(t.byStart, from, func(f int32, from int64) int { return cmp.Compare(t.boxes[f].Origin[0], from) })
		for _, f := range t.byStart[at:] {
			if t.boxes[f].Origin[0] >= to {
				break
			}
			if tiling.End(t.boxes[f], 0) <= to {
				found[f] = true
			}
		}
	}
}

// without returns the files of the territory that are not in some.
func (t *territory) without(some map[int32]bool) []int32 {
	if len(some) == len(t.byName) {
		return nil
	}
	rest := make([]int32, 0, len(t.byName)-len(some))
	for _, f := range t.byName {
		if !some[f] {
			rest = append(rest, f)
		}
	}
	return rest
}

// settleAbsent reports variables that some files lack, and applies the option for them.
func (p *arrangement) settleAbsent() {
	groups := map[*placing][]*array{}
	for _, a := range p.arrays {
		if a.where != nil && len(a.where.absent) > 0 && !p.alignment.isCoordinate(a) {
			groups[a.where] = append(groups[a.where], a)
		}
	}
	for _, w := range p.placeOrder {
		group := groups[w]
		if len(group) == 0 {
			continue
		}
		var paths []string
		for _, a := range group {
			paths = append(paths, strings.TrimPrefix(a.path, "/"))
			a.dropped = p.env.opts.Missing == plan.AbsentDrop
		}
		f := report.Finding{Code: report.VariableAbsent, Effect: report.Filled, Args: report.Args{"variables": paths}}
		// A finding about several arrays lists them in its arguments.
		if len(group) == 1 {
			f.Array = group[0].path
		}
		fill, drop := report.Do(report.Missing, "fill", report.FillAbsent), report.Do(report.Missing, string(plan.AbsentDrop), report.LeavesOut)
		switch p.env.opts.Missing {
		case plan.AbsentDrop:
			f.Effect, f.By = report.Dropped, report.Setting{Option: report.Missing, Value: string(plan.AbsentDrop)}
		case plan.AbsentRefuse:
			f.Effect, f.By = report.Refused, report.Setting{Option: report.Missing, Value: string(plan.AbsentRefuse)}
			f.Remedies = []report.Remedy{fill, drop}
		default:
			f.Remedies = []report.Remedy{drop}
		}
		p.env.find(p.env.odd(f, w.absent, int64(len(w.absent)+len(w.tiles))))
	}
	p.arrays = slices.DeleteFunc(p.arrays, func(a *array) bool { return a.dropped })
	p.settleHoles()
}

// settleHoles reports positions of a mosaic that no file covers. If half of it or more is uncovered
// and the user did not name the dimensions, it refuses the files, because some probably have wrong
// coordinates.
func (p *arrangement) settleHoles() {
	for _, w := range p.placeOrder {
		covered, all := p.cover(w)
		if !w.holes || covered == all || len(w.absent) > 0 || len(w.dims) < 2 || len(w.tiles) == 0 {
			continue
		}
		f := report.Finding{Code: report.MosaicIncomplete, Effect: report.Filled, Args: report.Args{"share": 1 - covered/all, "dims": dimList(w.dims)}}
		if places, n := p.uncovered(w); n > 0 {
			f.Args["places"], f.Args["places_count"] = places, n
		}
		if d := w.doubtful(covered / all); d != nil {
			f = report.Finding{Code: report.MosaicSparse, Effect: report.Refused, Array: d.coord, Dim: d.name(),
				Remedies: []report.Remedy{report.Do(report.Concat, strings.ReplaceAll(dimNames(w.dims), ", ", ","), "")}}
			if live := d.live(); !isHorizontal(live[0].Variable) && p.alignment.canJoin(d, live) {
				f.Remedies = slices.Insert(f.Remedies, 0, joinOuter(d))
			}
			f = p.env.odd(f, p.env.smallest(d), d.total())
		}
		p.env.find(f)
	}
}

// doubtful returns a dimension along which files are perhaps not meant to be concatenated, or nil.
func (w *placing) doubtful(share float64) *dim {
	if share > 0.5 {
		return nil
	}
	for _, d := range w.dims {
		if !d.named && !d.hinted && d.by != byOption && d.by != byLabels && d.coord != "" {
			return d
		}
	}
	return nil
}

// smallest returns the files of all coordinates except the most frequent one.
func (p *env) smallest(d *dim) []int32 {
	standard := p.standard(d.order)
	var odd []*coord.Coord
	for _, c := range d.order {
		if c != standard {
			odd = append(odd, c)
		}
	}
	return d.filesOf(odd...)
}
