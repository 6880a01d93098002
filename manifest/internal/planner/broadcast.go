package planner

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// checkBroadcast returns an error for a broadcast option that has no effect.
func (p *arrangement) checkBroadcast() error {
	for _, s := range p.env.opts.Broadcast {
		if p.env.opts.IsOptional(settingOf(&s)) {
			continue
		}
		wrong := func(says string, remedies ...report.Remedy) error {
			return &plan.OptionError{Setting: settingOf(&s), Says: says, Remedies: remedies}
		}
		called := slices.DeleteFunc(slices.Clone(p.alignment.dimOrder), func(at string) bool { return !naming.Calls(s.Dim, at) })
		is := func(how func(*dim) bool) bool {
			return slices.ContainsFunc(called, func(at string) bool { return how(p.alignment.dims[at]) })
		}
		switch {
		case p.survey.dropsAll(s.Array): // all arrays of this name are dropped, so the option may have no effect
		case len(called) == 0:
			return wrong("no dimension is called " + s.Dim + listed(p.alignment.dimOrder))
		case is(func(d *dim) bool { return d.role == spoiled }): // refused already
		case !is((*dim).places):
			says := "files are not concatenated along " + s.Dim
			if is(func(d *dim) bool { return d.coord == "" }) {
				return wrong(says, report.Do(report.Concat, report.ListItem(s.Dim), report.ByName))
			}
			return wrong(says)
		case !slices.ContainsFunc(p.survey.classes, func(c *class) bool {
			return slices.ContainsFunc(c.vars, func(x planVar) bool { return naming.Matches([]string{s.Array}, x.path) })
		}):
			return wrong("no array has this name" + p.survey.whichThere())
		case !slices.ContainsFunc(p.arrays, func(a *array) bool {
			return p.alignment.broadcasts(&s, a) != nil || a.widened && naming.Matches([]string{s.Array}, a.path)
		}) && len(p.env.report.Refused()) == 0:
			return wrong("every array of this name has " + s.Dim + " already, or is the coordinate of a dimension")
		}
	}
	return nil
}

// settingOf returns the option of a broadcast.
func settingOf(s *plan.Broadcast) report.Setting {
	return report.Setting{Option: report.Broadcast, Value: s.Array + "=" + s.Dim}
}

// compareOptional finds the arrays of optional broadcasts that are equal in all files, so that they are not
// broadcast.
func (p *arrangement) compareOptional() error {
	p.equal = map[string]bool{}
	var questions []question
	for i := range p.env.opts.Broadcast {
		s := &p.env.opts.Broadcast[i]
		if !p.env.opts.IsOptional(settingOf(s)) {
			continue
		}
		for _, a := range p.arrays {
			if p.alignment.broadcasts(s, a) == nil || a.files < 2 || p.alignment.spoiledBy(a) {
				continue
			}
			questions = append(questions, func() ([]want, error) {
				groups, missing, err := p.comparing(a).parts(p.survey.filesHaving(a))
				p.equal[a.path] = len(missing) == 0 && len(groups) == 1
				return missing, err
			})
		}
	}
	return p.env.settle(questions...)
}

// broadcasts returns the dimension along which an option broadcasts an array, or nil. Coordinates
// are never broadcast, because they define the positions.
func (p *alignment) broadcasts(s *plan.Broadcast, a *array) *dim {
	if !naming.Matches([]string{s.Array}, a.path) || p.isAxis(a) || p.dims[a.path] != nil {
		return nil
	}
	d := p.dimFor(s.Dim, a.path)
	if d == nil || slices.Contains(a.dims, d.path) {
		return nil
	}
	return d
}

// dimFor returns the dimension with a name along which files are placed, as seen from an array: the
// one of the nearest parent group, or else the only one. It returns nil if there are several.
func (p *alignment) dimFor(name, array string) (found *dim) {
	nearest, several := -1, false
	for _, at := range p.dimOrder {
		d := p.dims[at]
		if !naming.Calls(name, at) || !d.places() {
			continue
		}
		if near := d.near(array); found == nil || near > nearest {
			found, nearest, several = d, near, false
		} else {
			several = several || near == nearest
		}
	}
	if several {
		return nil
	}
	return found
}

// near returns a larger number for a dimension whose group is nearer to an array, and -1 for a
// dimension of an unrelated group.
func (d *dim) near(array string) int {
	switch dir := path.Dir(d.path); {
	case dir == "/":
		return 0
	case strings.HasPrefix(array, dir+"/"):
		return len(dir)
	}
	return -1
}

// addBroadcastDims adds the dimensions along which the user broadcasts an array.
func (p *arrangement) addBroadcastDims(a *array) {
	for i := range p.env.opts.Broadcast {
		d := p.alignment.broadcasts(&p.env.opts.Broadcast[i], a)
		if d == nil || slices.Contains(a.made, d.path) || p.equal[a.path] && p.env.opts.IsOptional(settingOf(&p.env.opts.Broadcast[i])) {
			continue
		}
		a.placed = slices.Insert(slices.Clone(a.placed), len(a.made), d)
		a.made = append(a.made, d.path)
		a.broadcast = true
	}
}

// refuseUnplaced refuses files whose position along a broadcast dimension is not known.
func (p *arrangement) refuseUnplaced(a *array) bool {
	if !a.broadcast {
		return false
	}
	for _, d := range a.placed[:len(a.made)] {
		var lack []int32
		for _, f := range p.survey.filesHaving(a) {
			if _, _, ok := d.starts(f); !ok {
				lack = append(lack, f)
			}
		}
		if len(lack) > 0 {
			p.env.find(p.env.odd(report.Finding{Code: report.BroadcastUnplaced, Array: a.path, Effect: report.Refused, Dim: d.name(),
				Remedies: []report.Remedy{report.DropPath(a.path[1:])}}, lack, a.files))
			return true
		}
	}
	return false
}

// broadcastRemedy returns the remedy that keeps the values of all groups of files by broadcasting
// the array along dimensions that distinguish the groups, and false if there are none.
func (c *comparison) broadcastRemedy(groups [][]int32) (r report.Remedy, ok bool) {
	p, a := c.p, c.a
	if p.alignment.isAxis(a) || p.alignment.dims[a.path] != nil {
		return r, false
	}
	var dims []*dim
	for _, d := range p.flows {
		if d.places() && !slices.Contains(a.placed, d) && !slices.ContainsFunc(slices.Concat(groups...), func(f int32) bool { return d.of[f] < 0 }) {
			dims = append(dims, d)
		}
	}
	if !distinguish(dims, groups) {
		return r, false
	}
	likely := slices.Clone(dims)
	slices.SortStableFunc(likely, func(d, e *dim) int {
		return cmp.Or(cmp.Compare(p.survey.likely(d), p.survey.likely(e)), cmp.Compare(d.near(a.path), e.near(a.path)))
	})
	// Leave out dimensions that are not needed, the least likely ones first.
	for _, d := range likely {
		rest := slices.DeleteFunc(slices.Clone(dims), func(e *dim) bool { return e == d })
		if len(rest) > 0 && distinguish(rest, groups) {
			dims = rest
		}
	}
	r.Consequence = report.EachAlong
	for i, d := range dims {
		s := report.BroadcastAlong(a.path[1:], p.alignment.nameFor(d, a.path))
		if i == 0 {
			r.Setting = s
			continue
		}
		r.With = append(r.With, s)
	}
	return r, len(dims) > 0
}

// nameFor returns the shortest name by which an array finds a dimension.
func (p *alignment) nameFor(d *dim, array string) string {
	if name := d.name(); p.dimFor(name, array) == d {
		return name
	}
	return d.path
}

// isSmall reports whether each file's values are so few that readers should not request them index
// by index.
func (a *array) isSmall() bool {
	return !slices.ContainsFunc(a.members, func(m member) bool { return stepOf(&m) >= edge.LeastBytes })
}

// stepOf returns the size in bytes of a member's values at one index of a broadcast dimension.
func stepOf(m *member) int64 {
	unit := int64(max(m.v.Type.Size, 1))
	if m.v.Type.Varies() {
		unit = textSize
	}
	return max(coord.ElementsOf(m.v), 1) * unit
}

// textSize is the least size in bytes of a text in memory.
const textSize = 24
