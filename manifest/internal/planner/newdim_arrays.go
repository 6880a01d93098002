package planner

import (
	"encoding/binary"
	"path"
	"slices"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// addNewDims adds the new dimensions to an array, unless all files have equal values of it. A new
// dimension that files also have themselves is added only to scalars.
func (p *arrangement) addNewDims(a *array) (missing []want, err error) {
	made := slices.DeleteFunc(slices.Clone(p.alignment.made), func(d *dim) bool { return d.owned && len(a.dims) > 0 || slices.Contains(a.made, d.path) })
	made = append(made, p.besideAll(a)...)
	if len(made) == 0 || p.alignment.isAxis(a) || a.aux && len(a.placed) > 0 {
		return nil, nil
	}
	if known, equal := p.survey.known(a); a.aux {
		made, missing, err = p.madeFor(a, made, known)
	} else if len(a.dims) == 0 && a.files > 1 && known {
		same := equal
		if !same {
			same, missing = p.meanSame(a)
		}
		if same {
			made = nil
		}
	}
	if err != nil || len(missing) > 0 {
		return missing, err
	}
	for i, d := range made {
		a.made = slices.Insert(a.made, i, d.path)
	}
	a.placed = append(slices.Clone(made), a.placed...)
	return nil, nil
}

// refuseNamesake refuses an array that has a dimension with the base name of a new dimension, in
// another group, and reports whether it did. Zarr and xarray use only the base names of dimensions.
func (p *arrangement) refuseNamesake(a *array) bool {
	for _, made := range a.made {
		for _, at := range a.dims {
			if path.Base(at) != path.Base(made) || at == made {
				continue
			}
			remedies := []report.Remedy{report.Fill(report.Rename, at[1:]+"=NAME", report.MakesRoom)}
			if d := p.alignment.dims[at]; d.coord == "" && p.survey.longest(d) <= 1 {
				remedies = slices.Insert(remedies, 0, report.Fill(report.NewDim, at[1:]+"=PATTERN", report.ByNameValues))
			}
			p.env.find(p.env.odd(report.Finding{Code: report.NewDimTaken, Array: a.path, Effect: report.Refused, Dim: path.Base(made), Remedies: remedies,
				Args: report.Args{"existing": at}}, p.survey.filesHaving(a), a.files))
			return true
		}
	}
	return false
}

// madeFor returns the new dimensions that distinguish the values of an auxiliary variable: none if
// all files have the same values. It wants unknown values, unless the first file's are used anyway.
func (p *arrangement) madeFor(a *array, of []*dim, known bool) (made []*dim, missing []want, err error) {
	c := p.comparing(a)
	if !known && (p.env.opts.Coords == plan.CoordsFirst || c.largest() > manifest.MostSummed) {
		return nil, nil, nil // compareEqual reports this when it compares the variable
	}
	groups, missing, err := c.parts(p.survey.filesHaving(a))
	if err != nil || len(groups) < 2 {
		return nil, missing, err
	}
	made = of
	for _, d := range of {
		if rest := slices.DeleteFunc(slices.Clone(made), func(e *dim) bool { return e == d }); distinguish(rest, groups) {
			made = rest
		}
	}
	return made, missing, nil
}

// distinguish reports whether dimensions distinguish groups of files: no two groups share a position.
func distinguish(dims []*dim, groups [][]int32) bool {
	groupAt := map[string]int{} // the group of files at each position
	for i, files := range groups {
		for _, f := range files {
			var at []byte
			for _, d := range dims {
				start, _, _ := d.starts(f)
				at = binary.AppendVarint(at, start)
			}
			if other, ok := groupAt[string(at)]; ok && other != i {
				return false
			}
			groupAt[string(at)] = i
		}
	}
	return true
}

// besideAll returns the dimensions that an array lacks, and along which an option gives each of its
// files a value.
func (p *arrangement) besideAll(a *array) (dims []*dim) {
	for _, at := range sorted(p.survey.beside) {
		if d := p.alignment.dims[at]; d != nil && d.places() && !slices.Contains(a.allDims(), at) &&
			!slices.ContainsFunc(a.members, func(m member) bool {
				axis, ok := p.survey.classes[m.class].virtual[at]
				return !ok || axis.scalar != nil
			}) {
			dims = append(dims, d)
		}
	}
	return dims
}
