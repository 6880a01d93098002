package planner

import (
	"path"
	"slices"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// compareEqual compares values that must be equal in all files, or in all files with equal positions. What decides whether
// files belong together is compared first, because other differences follow from it.
func (p *arrangement) compareEqual() error {
	if err := p.compareShared(); err != nil {
		return err
	}
	var first, rest []question
	var unordered []*array
	for _, a := range p.arrays {
		switch static := func() ([]want, error) { return p.settleStatic(a) }; {
		case a.where != nil && len(a.where.twins) > 0:
			first = append(first, p.settleTwins(a)...)
		case a.where != nil || a.files < 2 || p.alignment.isCoordinate(a) || p.env.isPosition(a.path):
		case a.aux || p.takesFirst(a) || !p.lacksOrder(a):
			first = append(first, static)
		default:
			// Two files show whether the array differs although no order of the files is known. Then the missing order is
			// reported, and not a difference of data in every file.
			first = append(first, func() ([]want, error) {
				alike, missing, err := p.firstAlike(a)
				if len(missing) == 0 && err == nil && !alike {
					unordered = append(unordered, a)
				}
				return missing, err
			})
			rest = append(rest, func() ([]want, error) {
				if slices.Contains(unordered, a) {
					return nil, nil
				}
				return static()
			})
		}
	}
	if err := p.env.settle(first...); err != nil {
		return err
	}
	p.refuseUnordered(unordered)
	return p.env.settle(rest...)
}

// compareShared compares the values of files that share positions.
func (p *arrangement) compareShared() error {
	var first, all []question
	seen := map[*shared]bool{}
	for _, a := range p.arrays {
		if a.where == nil || a.where.shared == nil {
			continue
		}
		s := a.where.shared
		if !seen[s] {
			seen[s] = true
			first = append(first, func() ([]want, error) { return p.compareOnePair(a, s) })
		}
		all = append(all, func() ([]want, error) { return p.settleShared(a, s) })
	}
	if err := p.env.settle(first...); err != nil {
		return err
	}
	return p.env.settle(all...)
}

// settleTwins returns the questions that compare the values of files with equal positions, or that note differences if
// the first file is used anyway.
func (p *arrangement) settleTwins(a *array) (questions []question) {
	c, w := p.comparing(a), a.where
	if p.env.opts.Coords == plan.CoordsFirst && p.targets[a.path] == nil {
		if slices.ContainsFunc(w.dims, (*dim).isReordered) {
			return nil // values of whole files are in other orders
		}
		return []question{func() ([]want, error) { return nil, c.noteFirst(w.twins) }}
	}
	if w.whole != nil {
		return []question{func() ([]want, error) { return c.refuseOddParts(w.whole) }}
	}
	for i, files := range w.twins {
		if !slices.ContainsFunc(files, func(f int32) bool { return !p.env.earlier.has(f) }) {
			continue // an earlier plan compared them
		}
		questions = append(questions, func() ([]want, error) {
			if i > 0 && len(p.env.report.Refused()) > 0 {
				return nil, nil // one group of files is enough to refuse the array
			}
			return c.refuseOdd(files)
		})
	}
	return questions
}

// settleStatic decides about an array without placement: all files must have equal values.
func (p *arrangement) settleStatic(a *array) ([]want, error) {
	if p.takesFirst(a) {
		return nil, p.comparing(a).noteFirst([][]int32{p.survey.filesHaving(a)})
	}
	return p.comparing(a).refuseOdd(p.survey.filesHaving(a))
}

// takesFirst reports whether the option coords makes the first file provide an array without placement.
func (p *arrangement) takesFirst(a *array) bool {
	return p.env.opts.Coords == plan.CoordsFirst && (a.aux || p.alignment.flowing() || p.complementary) && p.targets[a.path] == nil
}

// noteFirst reports files whose values are not used, as far as known values show that they differ.
// It requests nothing: the user chose not to read more.
func (c *comparison) noteFirst(places [][]int32) error {
	p := c.p
	if !c.alike {
		return nil
	}
	var odd, counting []int32
	of := 0
	for _, files := range places {
		if of += len(files); !c.canCompare(files) {
			continue
		}
		groups, _, err := c.parts(files)
		if err != nil {
			return err
		}
		if len(groups) < 2 {
			continue
		}
		first := p.widest(c.a, files)
		counting = append(counting, first)
		for _, g := range groups {
			if !slices.Contains(g, first) {
				odd = append(odd, g...)
			}
		}
	}
	if len(odd) == 0 {
		return nil
	}
	p.env.find(p.env.odd(report.Finding{Code: report.StaticDiffers, Array: c.a.path, Effect: report.Noted, By: p.env.byFirst(),
		Args: report.Args{"standard": p.env.span(counting)}}, odd, int64(of)))
	return nil
}

// canCompare reports whether the known values of files suffice to compare them.
func (c *comparison) canCompare(files []int32) bool {
	_, shapes := c.narrower(files)
	for _, f := range files {
		m := c.a.memberOf(c.p.survey.classOf[f])
		if m.v.Storage.Layout == manifest.Nothing || coord.ElementsOf(m.v) == 0 {
			continue
		}
		if known := c.p.env.valuesIn(f, m.at); known == nil || known.Summed && len(shapes) > 0 {
			return false
		}
	}
	return true
}

// lacksOrder reports whether a variable probably differs in every file, and the order of the files is
// unknown.
func (p *arrangement) lacksOrder(a *array) bool {
	if len(a.dims) == 0 || p.alignment.flowing() || !a.flows && a.files < p.survey.total() || p.complementary {
		return false
	}
	return !slices.ContainsFunc(a.members, func(m member) bool { return !m.unknown() })
}

// firstAlike reports whether the first two files have equal values of an array. It is false for arrays
// that are too large to keep.
func (p *arrangement) firstAlike(a *array) (alike bool, missing []want, err error) {
	c := p.comparing(a)
	if slices.ContainsFunc(a.members, func(m member) bool { return p.env.isLarge(m.v) }) {
		return false, nil, nil
	}
	files := p.survey.filesHaving(a)
	slices.SortFunc(files, p.env.byName)
	groups, missing, err := c.parts(files[:2])
	return err == nil && len(groups) == 1, missing, err
}

// isComplementary decides arrangement.complementary.
func (p *arrangement) isComplementary() bool {
	own := map[int32]bool{}
	for _, a := range p.arrays {
		if a.files == 1 && !a.aux {
			own[a.members[0].class] = true
		}
	}
	for n, c := range p.survey.classes {
		if len(c.files) > 1 || len(c.files) == 1 && !own[int32(n)] {
			return false
		}
	}
	return true
}

// unknown reports whether the member has stored values. A variable that was never written has only its fill value.
func (m *member) unknown() bool { return m.v.Storage.Layout != manifest.Nothing }

// refuseUnordered adds one finding for all variables with the same dimensions.
func (p *arrangement) refuseUnordered(unordered []*array) {
	groups := map[string][]*array{}
	// An archive may have hundreds of such variables, and one remedy solves all.
	for _, a := range unordered {
		groups[names(a.dims)] = append(groups[names(a.dims)], a)
	}
	for _, dims := range sorted(groups) {
		group := groups[dims]
		var paths []string
		for _, a := range group {
			paths = append(paths, a.path)
		}
		files := p.survey.filesHaving(group[0])
		f := report.Finding{Code: report.OrderUnknown, Effect: report.Refused, Remedies: p.orderRemedies(group[0]),
			Args: report.Args{"variables": paths, "dims": baseNames(group[0].dims)}}
		if len(group) == 1 {
			f.Array = group[0].path
		}
		p.env.find(p.env.odd(f, files, int64(len(files))))
	}
}

// orderRemedies returns the ways to order files that have an array without a coordinate.
func (p *arrangement) orderRemedies(a *array) []report.Remedy {
	var bare *dim // the most likely one
	for _, at := range a.dims {
		if d := p.alignment.dims[at]; d.coord == "" && !p.hasCommonGrid(at) && !p.isCharacters(at) && (bare == nil || p.survey.likely(d) > p.survey.likely(bare)) {
			bare = d
		}
	}
	for _, at := range a.dims {
		if (bare == nil || !bare.hinted) && p.alignment.dims[at].counts() && p.hasTimes(at) {
			drop := report.DropPath(path.Base(at))
			drop.Consequence = report.OrderByTime
			return []report.Remedy{drop, stackByPattern}
		}
	}
	if bare != nil {
		return p.survey.bareRemedies(bare)
	}
	if at := p.alignment.momentOf(); at != "" {
		return []report.Remedy{stackBy(at, report.StackByValue), stackByPattern}
	}
	return []report.Remedy{stackByPattern}
}

// isCharacters reports whether a dimension counts the characters of texts. Files are never
// concatenated along such a dimension.
func (p *arrangement) isCharacters(at string) bool {
	found := false
	for _, a := range p.arrays {
		k := slices.Index(a.dims, at)
		if k < 0 {
			continue
		}
		if t := a.members[0].v.Type; k < len(a.dims)-1 || t.Kind != codec.FixedBytes || t.Size != 1 {
			return false
		}
		found = true
	}
	return found
}

// isPlaced reports whether an array with a dimension is placed along other ones. Concatenating files along this dimension, too, would leave
// most of the array without data.
func (p *arrangement) isPlaced(at string) bool {
	return slices.ContainsFunc(p.arrays, func(a *array) bool { return a.where != nil && slices.Contains(a.dims, at) })
}

// hasCommonGrid reports whether all files have the same coordinate with this and other dimensions, such as
// lat(y, x). Concatenating files along this dimension would repeat the grid.
func (p *arrangement) hasCommonGrid(at string) bool {
	return slices.ContainsFunc(p.arrays, func(a *array) bool {
		return a.aux && a.where == nil && len(a.dims) > 1 && a.files == p.survey.total() && slices.Contains(a.dims, at) &&
			!slices.ContainsFunc(p.env.report.Refused(), func(f report.Finding) bool { return f.Array == a.path })
	})
}

// refuseOdd refuses files whose values differ from the values of most others.
func (c *comparison) refuseOdd(files []int32) (missing []want, err error) {
	p, a := c.p, c.a
	if n := c.largest(); n > manifest.MostSummed {
		p.env.find(p.env.odd(report.Finding{Code: report.TooLargeToCompare, Array: a.path, Effect: report.Refused,
			Args:     report.Args{"size": report.Bytes(n), "limit": report.Bytes(manifest.MostSummed)},
			Remedies: []report.Remedy{takeFirst, report.DropPath(a.path[1:])}}, files, int64(len(files))))
		return nil, nil
	}
	if !c.fits(files) {
		p.env.find(p.env.odd(report.Finding{Code: report.TooLargeToCompare, Array: a.path, Effect: report.Refused,
			Args:     report.Args{"longest": p.env.file(p.widest(a, files)), "limit": report.Bytes(manifest.MostSummed)},
			Remedies: []report.Remedy{takeFirst, report.DropPath(a.path[1:])}}, files, int64(len(files))))
		return nil, nil
	}
	groups, missing, err := c.parts(files)
	if err == nil && len(groups) > 1 && len(missing) == 0 {
		groups, missing, err = c.joinNear(groups, files, nil)
	}
	if err == nil && len(groups) > 1 && len(missing) == 0 {
		return c.refuseGroups(groups, files, nil)
	}
	return missing, err
}

// refuseOddParts refuses files whose values differ from the values of other files at the same
// positions. The tiles must be sorted.
func (c *comparison) refuseOddParts(tiles []manifest.Tile) (missing []want, err error) {
	for from := 0; from < len(tiles); {
		to := from + 1
		for to < len(tiles) && c.p.env.samePlace(&tiles[from], &tiles[to]) {
			to++
		}
		if to > from+1 {
			groups, lacks, err := c.partsAt(tiles[from:to])
			if err != nil {
				return nil, err
			}
			if missing = append(missing, lacks...); len(groups) > 1 && len(missing) == 0 {
				if groups, missing, err = c.joinNear(groups, slices.Concat(groups...), tiles[from:to]); err != nil {
					return nil, err
				}
			}
			if len(groups) > 1 && len(missing) == 0 {
				return c.refuseGroups(groups, slices.Concat(groups...), tiles[from:to])
			}
		}
		from = to
	}
	return missing, nil
}

// refuseGroups refuses the files of all groups except the largest. missing are values that say how much the groups differ.
func (c *comparison) refuseGroups(groups [][]int32, files []int32, tiles []manifest.Tile) (missing []want, err error) {
	p, a := c.p, c.a
	x, missing, err := c.farthest(groups, files, tiles)
	if err != nil || len(missing) > 0 {
		return missing, err
	}
	most := 0
	for i, g := range groups {
		if len(g) > len(groups[most]) {
			most = i
		}
	}
	var odd []int32
	for i, g := range groups {
		if i != most {
			odd = append(odd, g...)
		}
	}
	f := report.Finding{Code: report.StaticDiffers, Array: a.path, Effect: report.Refused, Remedies: c.remedies(groups, x),
		Args: report.Args{"others": p.env.span(groups[most])}}
	if a.where != nil {
		f.Args["same_place"] = true
	}
	p.env.find(p.env.odd(f, odd, int64(len(files))))
	return nil, nil
}

// remedies returns the ways to accept different values in groups of files, which differ by x. A way that keeps all
// values comes first.
func (c *comparison) remedies(groups [][]int32, x difference) []report.Remedy {
	p, a := c.p, c.a
	one := []report.Remedy{takeFirst, report.DropPath(a.path[1:])}
	if len(a.dims) > 0 && slices.ContainsFunc(c.means, isHorizontal) && !x.isSmall() {
		p.env.far[a.path] = true
		one[0] = separate // the first file's values would move the data of the others
	}
	pointers := p.targets[a.path]
	if pointers != nil {
		one = withoutPointers(pointers)
	}
	if broadcast, ok := c.broadcastRemedy(groups); ok {
		one = slices.Insert(one, 0, broadcast)
	} else if step, ok := p.stepRemedy(groups); ok && a.where == nil {
		one = slices.Insert(one, 0, step)
	}
	switch {
	case pointers != nil, a.where != nil:
	case len(a.dims) == 0 && !p.alignment.flowing() && a.files == p.survey.total():
		one = slices.Insert(one, 0, stackBy(a.path, report.StackByValue))
	case len(a.dims) == 1 && p.alignment.dims[a.dims[0]].coord == "" && !p.isCharacters(a.dims[0]) && !p.isPlaced(a.dims[0]):
		one = slices.Insert(one, 0, report.Do(report.Concat, report.ListItem(a.dims[0][1:]), report.ByName))
	}
	if tolerance := x.tolerance(); tolerance != "" && pointers == nil {
		one = slices.Insert(one, 0, report.Do(report.Tolerance, tolerance, report.IfNear))
	}
	return one
}
