package planner

import (
	"slices"

	"varve/manifest"
)

// takeScalars turns scalars into coordinates. If files lack a dimension that others have, but have a
// scalar with the name of its coordinate, that scalar is their position along it.
func (p *alignment) takeScalars() {
	for _, at := range p.dimOrder {
		d := p.dims[at]
		// Without a coordinate, no scalar can have its name.
		if d.coord == "" {
			continue
		}
		own := d.classes
		var has map[string]bool
		for n, c := range p.survey.classes {
			x, loose, ok := c.scalarAt(d.coord)
			if !ok || len(c.files) == 0 {
				continue
			}
			if has == nil {
				has = p.having(at)
			}
			if !c.canBeStep(d.coord, at, has) {
				continue
			}
			p.survey.includedSpare = p.survey.includedSpare || loose
			p.survey.classes[n] = c.withScalar(x, at)
			if _, found := slices.BinarySearch(own, int32(n)); !found {
				d.classes = append(d.classes, int32(n))
			}
		}
		slices.Sort(d.classes)
	}
}

// having returns the paths of variables that have a dimension in any file.
func (p *alignment) having(at string) map[string]bool {
	has := map[string]bool{}
	for _, c := range p.survey.classes {
		for i := range c.vars {
			if slices.Contains(c.vars[i].dims, at) {
				has[c.vars[i].path] = true
			}
		}
	}
	return has
}

// canBeStep reports whether files can be a single position along a dimension: either they have the
// dimension with length 1 and no coordinate, or they lack it and have variables with it in other files.
func (c *class) canBeStep(coord, at string, has map[string]bool) bool {
	used, lacks := false, false
	for i := range c.vars {
		x := &c.vars[i]
		along := slices.Contains(x.dims, at)
		if along && (x.path == coord || x.path == at) {
			return false
		}
		used = used || along
		lacks = lacks || !along && has[x.path] && x.path != coord && x.path != at
	}
	return used && c.dims[at].Length == 1 || !used && lacks
}

// scalarAt returns the scalar variable with a path; loose reports that no option selects it.
func (c *class) scalarAt(at string) (x planVar, loose, ok bool) {
	isScalar := func(x planVar) bool {
		return x.path == at && len(x.v.Shape) == 0 && x.v.Unreadable == "" && x.v.Storage.Layout != manifest.Nothing
	}
	if i := c.find(at); i >= 0 {
		return c.vars[i], false, isScalar(c.vars[i])
	}
	if i := slices.IndexFunc(c.loose, isScalar); i >= 0 {
		return c.loose[i], true, true
	}
	return x, false, false
}

// withScalar returns the class with a virtual axis whose position is a scalar.
func (c *class) withScalar(x planVar, at string) *class {
	axis := virtualAxis{scalar: x.v}
	x.v, x.dims, x.aux = withAxis(x.v, 0, at), []string{at}, true
	return c.withVirtual(x, axis)
}

// withAxis returns a copy of a variable with an additional axis of length 1.
func withAxis(v *manifest.Variable, axis int, dim string) *manifest.Variable {
	out := *v
	out.Dims, out.Shape = slices.Insert(slices.Clone(v.Dims), axis, dim), slices.Insert(slices.Clone(v.Shape), axis, 1)
	if s := &out.Storage; s.Edges != nil {
		s.Edges = slices.Insert(slices.Clone(s.Edges), axis, [][2]int64{{1, 1}})
		if s.DataSizes != nil {
			s.DataSizes = slices.Insert(slices.Clone(s.DataSizes), axis, [][2]int64{{1, 1}})
		}
	} else if s.Layout == manifest.Chunked || s.Chunks != nil {
		s.Chunks = slices.Insert(slices.Clone(s.Chunks), axis, 1)
	}
	return &out
}
