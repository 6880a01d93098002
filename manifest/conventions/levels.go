package conventions

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"

	"varve/manifest/internal/georef"
	"varve/manifest/store"
)

// level is a group or an array at one resolution.
type level struct {
	name   string // below the group with the levels: a path
	grid   *georef.Grid
	arrays string // the names, types and other dimensions of its arrays
}

// item is an item of the layout of multiscales.
type item struct {
	Asset       string      `json:"asset"`
	DerivedFrom string      `json:"derived_from,omitempty"`
	Transform   scaling     `json:"transform"`
	Shape       []int64     `json:"spatial:shape,omitempty"`
	Affine      *[6]float64 `json:"spatial:transform,omitempty"`
}

// scaling is the relation to the level that an item is derived from. Both lists are of rows and columns.
type scaling struct {
	Scale       [2]float64 `json:"scale"`
	Translation [2]float64 `json:"translation"`
}

// cornerSlack is the part of a cell by which corners of levels may differ.
const cornerSlack = 0.01

// levels describes groups whose members are levels: the same arrays at several resolutions, which cover the same extent.
//
// The members are groups, or arrays with the numbers 0, 1, 2 … as names, or an array of the group and those with its name in the
// groups below. They have arrays of the same names, types and lengths along other dimensions, the same coordinate reference
// system, and the same first corner. Each level has cells a whole number of times (at least 2) larger than the level before it,
// and ends less than one of its cells before or after it; or it has that number of times fewer cells, rounded up, over exactly the
// same extent.
func (d *Description) levels(st *store.Store, list []described, set Set) error {
	groups := map[string][]described{}
	for _, a := range list {
		groups[path.Dir(a.Path())] = append(groups[path.Dir(a.Path())], a)
	}
	members := map[string][]level{}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		for _, a := range groups[group] {
			if _, err := strconv.ParseUint(path.Base(a.Path()), 10, 16); err == nil {
				members[group] = append(members[group], level{path.Base(a.Path()), a.grid, signature(a, "")})
			}
		}
		if l, ok := levelOf(groups[group]); ok && group != "/" {
			members[path.Dir(group)] = append(members[path.Dir(group)], l)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if _, ok := members[group]; !ok {
			members[group] = nil // it may have pyramids
		}
	}
	for _, group := range slices.Sorted(maps.Keys(members)) {
		series := d.pyramids(group, groups)
		if series == nil {
			series = d.series(group, members[group])
		}
		if len(series) == 0 {
			continue
		}
		if err := d.group(st, group, series, set); err != nil {
			return fmt.Errorf("%s: %w", group, err)
		}
	}
	return nil
}

// series returns the members of a group as one series of levels, or none if they are not the same data at several resolutions.
func (d *Description) series(group string, levels []level) [][]level {
	if len(levels) < 2 {
		return nil
	}
	sortLevels(levels)
	first := &levels[0]
	hasOtherCells := func(l level) bool { return l.grid.Transform() != first.grid.Transform() }
	hasOtherArrays := func(l level) bool { return l.arrays != first.arrays }
	if !slices.ContainsFunc(levels, hasOtherCells) || slices.ContainsFunc(levels, hasOtherArrays) {
		return nil
	}
	if why := related(levels); why != nil {
		d.omit(group, Multiscales, why)
		return nil
	}
	return [][]level{levels}
}

// pyramids returns a series of levels for each array of a group that has coarser levels in the groups below: arrays with its name.
// An image and its overviews in a TIFF file are stored so. nil means that there are none.
func (d *Description) pyramids(group string, groups map[string][]described) (all [][]level) {
	children := slices.DeleteFunc(slices.Sorted(maps.Keys(groups)), func(child string) bool { return child == group || path.Dir(child) != group })
	for _, a := range groups[group] {
		name := path.Base(a.Path())
		levels := []level{{name, a.grid, signature(a, name)}}
		for _, child := range children {
			for _, b := range groups[child] {
				if path.Base(b.Path()) == name && signature(b, name) == levels[0].arrays && math.Abs(b.grid.X.Step) > math.Abs(a.grid.X.Step) {
					levels = append(levels, level{path.Join(path.Base(child), name), b.grid, levels[0].arrays})
				}
			}
		}
		if len(levels) == 1 {
			continue
		}
		sortLevels(levels)
		if why := related(levels); why != nil {
			d.omit(group, Multiscales, why)
			continue
		}
		all = append(all, levels)
	}
	return all
}

// sortLevels sorts levels by the size of their cells.
func sortLevels(levels []level) {
	slices.SortStableFunc(levels, func(a, b level) int { return cmp.Compare(math.Abs(a.grid.X.Step), math.Abs(b.grid.X.Step)) })
}

// levelOf returns a group as a level. Its arrays must have one grid.
func levelOf(arrays []described) (level, bool) {
	l := level{name: path.Base(path.Dir(arrays[0].Path())), grid: arrays[0].grid}
	for _, a := range arrays {
		if !isSame(a.grid, l.grid) {
			return l, false
		}
		l.arrays += signature(a, path.Base(a.Path()))
	}
	return l, true
}

// isSame reports whether two grids have the same cells.
func isSame(a, b *georef.Grid) bool {
	return a.Transform() == b.Transform() && a.X.Length == b.X.Length && a.Y.Length == b.Y.Length && textOf(a) == textOf(b)
}

func textOf(g *georef.Grid) string {
	if g.CRS == nil {
		return ""
	}
	return g.CRS.Code + g.CRS.WKT2
}

// signature describes an array without its rows and columns.
func signature(a described, name string) string {
	text := name + " " + a.Schema().DataType.Name()
	for axis, n := range a.Schema().Shape {
		switch axis {
		case a.grid.X.Axis:
			text += " x"
		case a.grid.Y.Axis:
			text += " y"
		default:
			text += fmt.Sprintf(" %s=%d", a.Schema().Dim(axis), n)
		}
	}
	return text + "\n"
}

// related returns why members with the same arrays, sorted by the size of their cells, are no levels, or nil if they are.
func related(levels []level) error {
	for i := 1; i < len(levels); i++ {
		fine, coarse := &levels[i-1], &levels[i]
		if textOf(fine.grid) != textOf(coarse.grid) {
			return fmt.Errorf("%s and %s have different coordinate reference systems", fine.name, coarse.name)
		}
		for _, axes := range [][2]georef.Axis{{fine.grid.X, coarse.grid.X}, {fine.grid.Y, coarse.grid.Y}} {
			if !nested(axes[0], axes[1]) {
				return fmt.Errorf("the cells of %s are not a whole number of times larger than those of %s, from the same corner over the same extent", coarse.name, fine.name)
			}
		}
	}
	return nil
}

// nested reports whether the cells of coarse are whole numbers of cells of fine, of the same extent, or as many times fewer.
func nested(fine, coarse georef.Axis) bool {
	ratio := coarse.Step / fine.Step
	cell := math.Abs(coarse.Step)
	if math.Abs(coarse.Edge-fine.Edge) > cornerSlack*cell {
		return false
	}
	whole := math.Round(ratio)
	if whole >= 2 && math.Abs(ratio-whole) <= cornerSlack*ratio/float64(max(coarse.Length, 1)) {
		return math.Abs(coarse.End()-fine.End()) < cell
	}
	// GDAL stretches the cells of an overview over the extent of its image if the lengths are no multiples.
	fewer := int64(math.Round(float64(fine.Length) / float64(max(coarse.Length, 1))))
	return ratio > 0 && fewer >= 2 && coarse.Length == (fine.Length+fewer-1)/fewer && math.Abs(coarse.End()-fine.End()) <= cornerSlack*cell
}

// scaleOf returns how many times larger the cells of coarse are.
func scaleOf(fine, coarse georef.Axis) float64 {
	ratio := coarse.Step / fine.Step
	if whole := math.Round(ratio); math.Abs(ratio-whole) <= cornerSlack*ratio/float64(max(coarse.Length, 1)) {
		return whole
	}
	return float64(fine.Length) / float64(coarse.Length)
}

// group describes a group with series of levels, the finest first.
func (d *Description) group(st *store.Store, group string, all [][]level, set Set) error {
	w := &writer{d: d, path: group, attributes: groupOf(st, group)}
	if !w.declare(Multiscales) {
		return w.err
	}
	var layout []item
	for _, levels := range all {
		for i, l := range levels {
			one := item{Asset: l.name, Transform: scaling{Scale: [2]float64{1, 1}}}
			if i > 0 {
				finer := levels[i-1].grid
				one.DerivedFrom = levels[i-1].name
				one.Transform.Scale = [2]float64{scaleOf(finer.Y, l.grid.Y), scaleOf(finer.X, l.grid.X)}
			}
			if set.has(Spatial) {
				affine := l.grid.Transform()
				one.Shape, one.Affine = []int64{l.grid.Y.Length, l.grid.X.Length}, &affine
			}
			layout = append(layout, one)
		}
	}
	w.set("multiscales", map[string]any{"layout": layout})
	finest := all[0][0].grid
	if set.has(Spatial) && w.declare(Spatial) {
		w.spatial(finest)
	}
	if set.has(Proj) && finest.CRS != nil && w.declare(Proj) {
		w.proj(finest.CRS)
	}
	if w.err == nil {
		d.Groups[group] = w.attributes
	}
	return w.err
}
