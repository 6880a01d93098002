package hdf5

import (
	"fmt"
	"slices"

	"varve/readers"
)

// matchDims finds the dimensions of all variables, innermost groups first.
func (b *netcdfBuilder) matchDims(g *NetCDFGroup) {
	for _, child := range g.Groups {
		b.matchDims(child)
	}
	for _, v := range g.Vars {
		if v.typ == nil {
			continue
		}
		for i, d := range v.Dims {
			if d == nil {
				v.Dims[i] = b.dims[v.dimIDs[i]]
			}
		}
		switch {
		case v.isScale || v.hasCoordinates:
		case v.attached != nil:
			v.matchScales()
		default:
			b.inventDims(g, v)
		}
		if v.typ.isListed && slices.Contains(v.Dims, nil) {
			b.recordError(readers.Corruptf("%s has an axis without a dimension scale", v.Path))
		}
	}
	b.matchHidden(g)
}

// matchHidden finds the dimensions of variables that netcdf-c skips. It does not add or change
// dimensions that other variables use.
func (b *netcdfBuilder) matchHidden(g *NetCDFGroup) {
	for _, v := range g.Vars {
		if v.typ == nil && v.attached != nil {
			v.matchScales()
		}
	}
}

// matchScales finds the dimensions of the attached scales in the variable's group and its
// ancestors.
func (v *NetCDFVar) matchScales() {
	for i := range v.Dims {
		for g := v.group; g != nil && v.Dims[i] == nil && v.attached[i] != 0; g = g.parent {
			for _, d := range g.Dims {
				if d.scale == v.attached[i] {
					v.Dims[i], v.dimIDs[i] = d, d.id
					break
				}
			}
		}
	}
}

// inventDims sets the dimensions of a variable without scales, by length: dimensions of the group
// if they fit, else new ones with numbered names.
func (b *netcdfBuilder) inventDims(g *NetCDFGroup, v *NetCDFVar) {
	d := v.Object.Dataset
	if d.Space == Null {
		b.recordError(unsupported("%s has a null dataspace, which netCDF does not support", v.Path))
		return
	}
	for i, n := range d.Shape {
		unlimited := d.MaxShape[i] == readers.Unlimited // without n == 0, unlike setLength: netcdf-c compares so
		at := slices.IndexFunc(g.Dims, func(x *NetCDFDim) bool {
			return x.Length == n && x.Unlimited == unlimited && !slices.Contains(v.Dims[:i], x)
		})
		if at < 0 {
			dim := b.addDim(g, fmt.Sprintf("phony_dim_%d", b.nextID), -1)
			dim.setLength(n, d.MaxShape[i])
			dim.Phony = true
			at = len(g.Dims) - 1
		}
		v.Dims[i], v.dimIDs[i] = g.Dims[at], g.Dims[at].id
		// A named dimension was chosen by its length alone, so other candidates are recorded.
		if !v.Dims[i].Phony {
			v.addCandidates(i, slices.DeleteFunc(slices.Clone(g.Dims), func(x *NetCDFDim) bool { return x.Phony || x.Length != n || x.Unlimited != unlimited }))
		}
	}
}

// addCandidates records the dimensions that an axis may have according to its length.
func (v *NetCDFVar) addCandidates(axis int, like []*NetCDFDim) {
	if v.candidates == nil {
		v.candidates = make([][]*NetCDFDim, len(v.Dims))
	}
	v.candidates[axis] = like
}

// measureDims sets the length of each unlimited dimension to the length of the longest variable that uses it.
func (b *netcdfBuilder) measureDims(g *NetCDFGroup) {
	longest := map[int]uint64{}
	b.longest(g, longest)
	b.setLengths(g, longest)
}

func (b *netcdfBuilder) longest(g *NetCDFGroup, longest map[int]uint64) {
	for _, child := range g.Groups {
		b.longest(child, longest)
	}
	for _, v := range g.Vars {
		if v.typ == nil {
			continue
		}
		for i, n := range v.Object.Dataset.Shape {
			longest[v.dimIDs[i]] = max(longest[v.dimIDs[i]], n)
		}
	}
}

func (b *netcdfBuilder) setLengths(g *NetCDFGroup, longest map[int]uint64) {
	for _, child := range g.Groups {
		b.setLengths(child, longest)
	}
	for _, d := range g.Dims {
		if d.growsWithVars {
			d.Length = longest[d.id]
		}
	}
}

// mergeDims replaces dimensions that share an ID by the last one of them. They result from a scale with
// several hard links: netcdf-c stores the ID, looks the rest up again, and finds the last one.
func (b *netcdfBuilder) mergeDims(g *NetCDFGroup) {
	for _, child := range g.Groups {
		b.mergeDims(child)
	}
	for _, v := range g.Vars {
		for i, d := range v.Dims {
			if d != nil {
				v.Dims[i] = b.dims[d.id]
			}
		}
	}
	var dims []*NetCDFDim
	for _, d := range g.Dims {
		if d = b.dims[d.id]; !slices.Contains(dims, d) {
			dims = append(dims, d)
		}
	}
	g.Dims = dims
}
