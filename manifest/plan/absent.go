package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/report"
)

// absences finds the files that lie where no tile is.
func (p *planner) absences(a *array, w *placing) {
	held, all := w.cover()
	w.holes = held < all
	if !w.holes {
		return
	}
	has := make([]bool, len(p.classes))
	for _, m := range a.members {
		has[m.class] = true
	}
	var box manifest.Tile
	box.Origin, box.Shape = make([]int64, len(w.dims)), make([]int64, len(w.dims))
	index := newCover(w.tiles)
files:
	for f, c := range p.classOf {
		if c < 0 || has[c] {
			continue
		}
		for k, d := range w.dims {
			var ok bool
			if box.Origin[k], box.Shape[k], ok = p.extent(d, int32(f)); !ok || box.Shape[k] == 0 {
				continue files
			}
		}
		if !index.holds(&box) {
			w.absent = append(w.absent, int32(f))
		}
	}
}

// cover answers whether tiles hold a box.
type cover struct {
	tiles  []manifest.Tile
	origin map[string]bool
	joined [][2]int64 // along the only dimension
}

func newCover(tiles []manifest.Tile) *cover {
	c := &cover{tiles: tiles, origin: make(map[string]bool, len(tiles))}
	for i := range tiles {
		t := &tiles[i]
		if len(t.Origin) > 1 {
			c.origin[rowKey(t, -1)] = true
			continue
		}
		if n := len(c.joined); n > 0 && t.Origin[0] <= c.joined[n-1][1] {
			c.joined[n-1][1] = max(c.joined[n-1][1], end(t, 0))
		} else {
			c.joined = append(c.joined, [2]int64{t.Origin[0], end(t, 0)})
		}
	}
	return c
}

func (c *cover) holds(box *manifest.Tile) bool {
	if len(box.Origin) == 1 {
		n, ok := slices.BinarySearchFunc(c.joined, box.Origin[0], func(r [2]int64, at int64) int { return int(min(max(r[0]-at, -1), 1)) })
		if !ok {
			n--
		}
		return n >= 0 && end(box, 0) <= c.joined[n][1]
	}
	return c.origin[rowKey(box, -1)]
}

// settleAbsent says which variables some files lack, and does what the user wants of them.
func (p *planner) settleAbsent() {
	groups := map[*placing][]*array{}
	for _, a := range p.arrays {
		if a.where != nil && len(a.where.absent) > 0 && p.isCoordinate(a) == nil {
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
			a.dropped = p.opts.Missing == MissingDrop
		}
		f := report.Finding{Kind: report.Absent, Effect: report.Filled, Option: "--missing drop, --missing refuse",
			Says: fmt.Sprintf("%s %s no %s", count(len(w.absent), len(w.absent)+len(w.tiles)), have(len(w.absent)), some(paths))}
		switch {
		case len(group) == 1:
			f.Array = group[0].path
		}
		switch p.opts.Missing {
		case MissingDrop:
			f.Effect, f.Option = report.Dropped, "without --missing drop there is fill"
		case MissingRefuse:
			f.Effect, f.Option = report.Refused, "--missing fill, --missing drop"
		default:
			f.Says += ", and fill there"
		}
		p.find(p.odd(f, w.absent, int64(len(w.absent)+len(w.tiles))))
	}
	p.arrays = slices.DeleteFunc(p.arrays, func(a *array) bool { return a.dropped })
	p.settleHoles()
}

// settleHoles says where a mosaic has no file at all. Where that is half of it or more, and
// nobody asked for it, a file more likely has other coordinates by mistake.
func (p *planner) settleHoles() {
	for _, w := range p.placeOrder {
		held, all := w.cover()
		if !w.holes || held == all || len(w.absent) > 0 || len(w.dims) < 2 || len(w.tiles) == 0 {
			continue
		}
		f := report.Finding{Kind: report.Gap, Effect: report.Filled,
			Says: fmt.Sprintf("no file holds %.0f%% of the mosaic along %s: fill there", 100*(1-held/all), dimNames(w.dims))}
		if d := w.doubtful(held / all); d != nil {
			odd := p.smallest(d)
			f.Kind, f.Effect, f.Array = report.Coordinate, report.Refused, d.coord
			f.Says = fmt.Sprintf("%s %s values of %s that no other has, and more than half of the mosaic would be fill",
				count(len(odd), int(d.total())), have(len(odd)), path.Base(d.path))
			f.Option = "--concat " + strings.ReplaceAll(dimNames(w.dims), ", ", ",")
			f = p.odd(f, odd, d.total())
		}
		p.find(f)
	}
}

// doubtful is a dimension along which files may not be meant to follow one another.
func (w *placing) doubtful(share float64) *dim {
	if share > 0.5 {
		return nil
	}
	for _, d := range w.dims {
		if !d.named && !d.hinted && !d.made && d.coord != "" {
			return d
		}
	}
	return nil
}

// smallest are the files of all coordinates but the one that most files have.
func (p *planner) smallest(d *dim) []int32 {
	standard := p.standard(d, d.order)
	var odd []*coord
	for _, c := range d.order {
		if c != standard {
			odd = append(odd, c)
		}
	}
	return p.filesOfCoords(d, odd)
}
