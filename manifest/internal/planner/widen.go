package planner

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// widen adds dimensions to members that lack dimensions of other members. The file must be a single
// position along these dimensions, or the user must broadcast the array along them.
func (p *arrangement) widen(a *array) {
	if !slices.ContainsFunc(a.members, func(m member) bool { return len(m.dims) != len(a.members[0].dims) }) {
		return
	}
	kinds := p.alignment.kindsOfAxes(a)
	found, argsOf, known := map[string][]int32{}, map[string]report.Args{}, map[string]*planVar{}
	for i := range a.members {
		m := &a.members[i]
		for _, dims := range kinds {
			laid, ok := p.canAddDims(a, m, dims)
			if !ok {
				continue
			}
			args := report.Args{"own": baseNames(m.dims), "dims": baseNames(dims)}
			if len(laid) > 0 {
				a.widened = true
				args["along"] = baseNames(laid)
			}
			key := fmt.Sprint(args)
			found[key], argsOf[key] = append(found[key], p.survey.classes[m.class].files...), args
			var empty []string // dimensions of length 0 in the file
			for _, at := range laid {
				if p.survey.classes[m.class].dims[at].Length == 0 {
					empty = append(empty, at)
				}
			}
			m.widen(dims, empty, known)
			break
		}
	}
	for _, key := range sorted(found) {
		p.env.find(p.env.odd(report.Finding{Code: report.StepWithoutDim, Array: a.path, Effect: report.Noted, Args: argsOf[key]}, found[key], a.files))
	}
}

// kindsOfAxes returns the distinct dimension lists of members: longest first, then by number of
// files.
func (p *alignment) kindsOfAxes(a *array) (kinds [][]string) {
	known, files := map[string][]string{}, map[string]int64{}
	for i := range a.members {
		word := strings.Join(a.members[i].dims, "\x00")
		known[word] = a.members[i].dims
		files[word] += p.survey.classes[a.members[i].class].weight()
	}
	words := slices.SortedFunc(maps.Keys(known), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(known[y]), len(known[x])), cmp.Compare(files[y], files[x]), cmp.Compare(x, y))
	})
	for _, word := range words {
		kinds = append(kinds, known[word])
	}
	return kinds
}

// canAddDims reports whether the missing dimensions of a member can be added. laid lists the missing
// dimensions along which the user broadcasts the array.
func (p *arrangement) canAddDims(a *array, m *member, dims []string) (laid []string, ok bool) {
	missing := missingDims(m.dims, dims)
	if len(missing) == 0 || p.alignment.isFirm(a, m) {
		return nil, false
	}
	for _, at := range missing {
		switch d := p.alignment.dims[at]; {
		case d.role == spoiled: // already refused, so add no second finding
		case p.isStepOf(m, d):
		case p.isBroadcastAlong(a, d) && p.placesAll(m, d):
			laid = append(laid, at)
		default:
			return nil, false
		}
	}
	return laid, true
}

// missingDims returns the dimensions in `of` that `have` lacks, or nil if `have` is not a subset.
func missingDims(have, of []string) (missing []string) {
	if len(have) >= len(of) || axesOf(of, have) == nil {
		return nil
	}
	for i, at := range of {
		if slices.Contains(have, at) {
			continue
		}
		if slices.Contains(of[:i], at) {
			return nil
		}
		missing = append(missing, at)
	}
	if len(have)+len(missing) != len(of) {
		return nil
	}
	return missing
}

// isFirm reports whether no dimension can be added to a member, because its values are in other files,
// or because its dimensions are unnamed. Unnamed dimensions are matched by position, which an
// additional dimension would shift.
func (p *alignment) isFirm(a *array, m *member) bool {
	if m.v.Storage.Layout == manifest.Parted || m.v.Unreadable != "" {
		return true
	}
	isUnnamed := func(m *member) bool {
		return slices.ContainsFunc(m.inFile().v.Dims, func(at string) bool { return p.survey.classes[m.class].unnamed[at] })
	}
	return isUnnamed(m) && slices.ContainsFunc(a.members, func(other member) bool {
		return len(other.inFile().dims) != len(m.dims) && isUnnamed(&other)
	})
}

// isStepOf reports whether each file of a member is a single known position along a dimension that
// the member lacks, and whether that position applies to the variable.
func (p *arrangement) isStepOf(m *member, d *dim) bool {
	c := p.survey.classes[m.class]
	if scalar := c.virtual[d.path].scalar; scalar != nil && !c.isOf(m.v, scalar) {
		return false
	}
	for _, f := range c.files {
		_, length, ok := p.survey.extent(d, f)
		if x := d.coordOf(f); !ok || length != 1 || x != nil && x.Meaning != nil && coord.Missing(x.Low, d.nature) {
			return false
		}
	}
	// Along a longer fixed dimension, a single position would leave gaps, which need the pad option.
	return d.role == flowing || d.length == 1 || p.env.opts.Pad == plan.PadFill
}

// placesAll reports whether the positions of all files of a member along a dimension are known.
func (p *arrangement) placesAll(m *member, d *dim) bool {
	return d.places() && !slices.ContainsFunc(p.survey.classes[m.class].files, func(f int32) bool {
		_, _, ok := p.survey.extent(d, f)
		return !ok
	})
}

// isOf reports whether a scalar coordinate applies to a variable. It does not if v lists its
// coordinates without the scalar while other variables list it.
func (c *class) isOf(v, scalar *manifest.Variable) bool {
	paths := map[string]bool{scalar.Path: true}
	isNamed := func(v *manifest.Variable) bool {
		return slices.ContainsFunc(strings.Fields(coord.TextOf(v, "coordinates")), func(name string) bool { return naming.Resolve(paths, v.Path, name) != "" })
	}
	return coord.TextOf(v, "coordinates") == "" || isNamed(v) || !slices.ContainsFunc(c.header.Variables, isNamed)
}

// isBroadcastAlong reports whether the user broadcasts an array along a dimension.
func (p *arrangement) isBroadcastAlong(a *array, d *dim) bool {
	return slices.ContainsFunc(p.env.opts.Broadcast, func(s plan.Broadcast) bool {
		return naming.Matches([]string{s.Array}, a.path) && p.alignment.dimFor(s.Dim, a.path) == d
	})
}

// inFile returns the variable of a member with the dimensions that it has in its files.
func (m *member) inFile() *planVar {
	if m.narrow != nil {
		return m.narrow
	}
	return m.planVar
}

// as returns `means`, the variable that gives a member's values their meaning, with the member's
// shape.
func (m *member) as(means *manifest.Variable) *manifest.Variable {
	switch {
	case m.narrow == nil:
		return means
	case means == m.narrow.v:
		return m.v
	}
	wide := *means
	wide.Dims, wide.Shape, wide.Storage = m.v.Dims, m.v.Shape, m.v.Storage
	return &wide
}

// lackRemedy returns the remedy for files that lack dimensions of other files, and false if there
// is none.
func (p *arrangement) lackRemedy(a *array, odd []int, missing []string) (r report.Remedy, ok bool) {
	if slices.ContainsFunc(odd, func(i int) bool { return p.alignment.isFirm(a, &a.members[i]) }) {
		return r, false
	}
	for i, at := range missing {
		d := p.alignment.dims[at]
		is := func(is func(m *member) bool) bool {
			return !slices.ContainsFunc(odd, func(i int) bool { return !is(&a.members[i]) })
		}
		var one report.Remedy
		switch {
		case a.path == d.coord:
			one = stackBy(a.path, report.IfOneStep)
		case is(func(m *member) bool { return p.placesAll(m, d) }):
			one = report.Remedy{Setting: report.BroadcastAlong(a.path[1:], p.alignment.nameFor(d, a.path)), Consequence: report.SameAlong}
		case p.mayMake(d):
			one = p.makeRemedy(d, p.survey.filesOfMembers(a, odd))
		default:
			return r, false
		}
		if i == 0 {
			r = one
			continue
		}
		r.With, r.Incomplete = append(r.With, one.Setting), r.Incomplete || one.Incomplete
	}
	return r, len(missing) > 0
}

// makeRemedy returns the remedy that turns files into single positions along a dimension of other
// files.
func (p *arrangement) makeRemedy(d *dim, files []int32) report.Remedy {
	if !slices.ContainsFunc(files, func(f int32) bool { _, _, ok := p.survey.classes[p.survey.classOf[f]].scalarAt(d.coord); return !ok }) {
		return stackBy(d.coord, report.IfOneStep)
	}
	return report.Fill(report.NewDim, d.path[1:]+"=PATTERN", report.IfOneStep)
}

// stepRemedy returns makeRemedy for groups of files that lack a dimension along which others are
// concatenated, and false if there is no such dimension.
func (p *arrangement) stepRemedy(groups [][]int32) (r report.Remedy, ok bool) {
	for _, d := range p.flows {
		files := slices.Concat(groups...)
		if p.mayMake(d) && !slices.ContainsFunc(files, func(f int32) bool { return d.of[f] != noDim }) {
			return p.makeRemedy(d, files), true
		}
	}
	return r, false
}

// mayMake reports whether an option can give files a position along a dimension. Files are or may
// be concatenated along it, and it has a coordinate, or length 1 and none.
func (p *arrangement) mayMake(d *dim) bool {
	switch {
	case d.by == byOption || d.role == fixed && !d.hinted && p.survey.longest(d) > 1:
		return false
	case d.coord == d.path:
		return true
	}
	return d.coord == "" && p.survey.longest(d) == 1 && !p.survey.anyHas(d.path)
}

// widen adds the dimensions of dims that the member lacks, in the order of dims if its own dimensions
// are in that order. Dimensions in empty get the length 0. known caches results, so that headers that
// share a variable also share the result.
func (m *member) widen(dims, empty []string, known map[string]*planVar) {
	wide := *m.planVar
	m.narrow, m.planVar = m.planVar, &wide
	key := fmt.Sprintf("%p %q %q %q", wide.v, wide.dims, dims, empty)
	if same := known[key]; same != nil {
		wide.v, wide.dims = same.v, same.dims
		return
	}
	inOrder := slices.IsSorted(axesOf(dims, wide.dims))
	missing := missingDims(wide.dims, dims)
	wide.dims = slices.Clone(wide.dims)
	for axis, at := range missing {
		if inOrder {
			axis = slices.Index(dims, at)
		}
		wide.dims = slices.Insert(wide.dims, axis, at)
		wide.v = withAxis(wide.v, axis, at)
		if slices.Contains(empty, at) {
			wide.v.Shape[axis] = 0
		}
	}
	known[key] = &wide
}
