package hdf5

import (
	"fmt"
	"slices"

	"varve/readers"
)

// match finds the dimensions of variables, in the groups below first.
func (b *netcdfBuilder) match(g *NetCDFGroup) {
	for _, child := range g.Groups {
		b.match(child)
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
		case v.isScale || v.coordsRead:
		case v.attached != nil:
			v.matchScales()
		default:
			b.inventDims(g, v)
		}
		if v.typ.listed && slices.Contains(v.Dims, nil) {
			b.refuse(readers.Corruptf("%s has a dimension without a scale", v.Path))
		}
	}
	b.matchHidden(g)
}

// matchHidden gives variables that netcdf-c does not know dimensions that are like those of
// the others, without telling the others.
func (b *netcdfBuilder) matchHidden(g *NetCDFGroup) {
	for _, v := range g.Vars {
		if v.typ == nil && v.attached != nil {
			v.matchScales()
		}
	}
}

// matchScales finds the dimensions of the attached scales in this and the groups above.
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

// inventDims gives a variable without scales dimensions of the right lengths: those of the
// group that fit, else new ones with numbered names.
func (b *netcdfBuilder) inventDims(g *NetCDFGroup, v *NetCDFVar) {
	d := v.Object.Dataset
	if d.Space == Null {
		b.refuse(unsupported("%s has no elements and no shape, which netCDF does not know", v.Path))
		return
	}
	for i, n := range d.Shape {
		unlimited := d.MaxShape[i] == readers.Unlimited // and not n == 0: netcdf-c compares so
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
		if !v.Dims[i].Phony {
			v.guess(i, slices.DeleteFunc(slices.Clone(g.Dims), func(x *NetCDFDim) bool { return x.Phony || x.Length != n || x.Unlimited != unlimited }))
		}
	}
}

// guess notes which dimensions an axis may have, for all that its length tells.
func (v *NetCDFVar) guess(axis int, like []*NetCDFDim) {
	if v.like == nil {
		v.like = make([][]*NetCDFDim, len(v.Dims))
	}
	v.like[axis] = like
}

// measure gives unlimited dimensions the length of the longest variable that uses them.
func (b *netcdfBuilder) measure(g *NetCDFGroup) {
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
		if d.growth {
			d.Length = longest[d.id]
		}
	}
}

// merge makes one of the dimensions that have one number, as of a scale with several hard
// links: netcdf-c looks everything but the number up again, and finds the last one.
func (b *netcdfBuilder) merge(g *NetCDFGroup) {
	for _, child := range g.Groups {
		b.merge(child)
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
