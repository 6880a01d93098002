package plan

import (
	"fmt"
	"path"
	"slices"

	"varve/manifest"
	"varve/manifest/report"
)

// statics compares what has to be equal.
func (p *layout) statics() error {
	for _, a := range p.arrays {
		if err := p.settleStatic(a); err != nil {
			return err
		}
	}
	p.refuseAllUnordered()
	for _, d := range p.doubtful {
		if err := p.settleDoubt(d); err != nil {
			return err
		}
	}
	return nil
}

// settleDoubt compares what files hold that lie in the same place, unless the first counts.
func (p *layout) settleDoubt(d doubt) error {
	c := p.comparing(d.a)
	if p.opts.Coords == CoordsFirst && p.targets[d.a.path] == nil {
		return c.noteFirst(d.twins)
	}
	for _, files := range d.twins {
		if err := c.refuseOdd(files); err != nil || len(p.report.Refused()) > 0 {
			return err
		}
	}
	return nil
}

// settleStatic deals with arrays that no file holds a part of: they have to be equal in all.
func (p *layout) settleStatic(a *array) error {
	if a.where != nil || a.files < 2 || p.isCoordinate(a) {
		return nil
	}
	if p.opts.Coords == CoordsFirst && (a.aux || p.flowing()) && p.targets[a.path] == nil {
		return p.comparing(a).noteFirst([][]int32{p.filesHaving(a)})
	}
	if !a.aux && p.refuseUnordered(a) {
		return nil
	}
	return p.comparing(a).refuseOdd(p.filesHaving(a))
}

// noteFirst says which files' values do not count, of those in each place, where enough of them is
// known to be compared and alike bytes are alike values: to find out more is what the user has forgone.
func (c *comparison) noteFirst(places [][]int32) error {
	p := c.p
	if !c.alike {
		return nil
	}
	var odd, counting []int32
	of := 0
	for _, files := range places {
		if of += len(files); !c.told(files) {
			continue
		}
		groups, err := c.parts(files)
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
	p.find(p.odd(report.Finding{Kind: c.kind(), Array: c.a.path, Effect: report.Noted, Option: "without --coords first they are refused",
		Says: fmt.Sprintf("%s %s other values; those of %s count", count(len(odd), of), have(len(odd)), p.span(counting))}, odd, int64(of)))
	return nil
}

// told reports whether values are known of all of some files, as far as it takes to compare them.
func (c *comparison) told(files []int32) bool {
	_, shapes := c.narrower(files)
	for _, f := range files {
		m := c.a.memberOf(c.p.classOf[f])
		if m.v.Storage.Layout == manifest.Nothing || elementsOf(m.v) == 0 {
			continue
		}
		if known := c.p.valuesIn(f, m.at); known == nil || known.Summed && len(shapes) > 0 {
			return false
		}
	}
	return true
}

// refuseUnordered refuses a variable of which every file holds a part when nothing says which.
func (p *layout) refuseUnordered(a *array) bool {
	if len(a.dims) == 0 || p.flowing() || !a.flows && a.files < p.total() {
		return false
	}
	for _, m := range a.members {
		if !m.unknown() {
			return false
		}
	}
	p.unordered = append(p.unordered, a)
	return true
}

// unknown reports whether it takes reading to know the values.
func (m *member) unknown() bool { return m.v.Storage.Layout != manifest.Nothing }

// refuseAllUnordered makes one refusal of all variables of one set of dimensions.
func (p *layout) refuseAllUnordered() {
	groups := map[string][]*array{}
	for _, a := range p.unordered {
		groups[names(a.dims)] = append(groups[names(a.dims)], a)
	}
	for _, dims := range sorted(groups) {
		group := groups[dims]
		var paths []string
		for _, a := range group {
			paths = append(paths, a.path)
		}
		files := p.filesHaving(group[0])
		f := report.Finding{Kind: report.Order, Effect: report.Refused,
			Says: fmt.Sprintf("%d files have %s along (%s), and no coordinate says how they follow one another", len(files), some(paths), dims)}
		if len(group) == 1 {
			f.Array = group[0].path
		}
		f.Option = p.orderOption(group[0])
		p.find(p.odd(f, files, int64(len(files))))
	}
}

func (p *layout) orderOption(a *array) string {
	var bare *dim // the likeliest
	for _, at := range a.dims {
		if d := p.dims[at]; d.coord == "" && (bare == nil || p.likely(d) > p.likely(bare)) {
			bare = d
		}
	}
	for _, at := range a.dims {
		if (bare == nil || !bare.hinted) && p.dims[at].counts() && p.hasTimes(at) {
			return report.Drop(path.Base(at)) + ", which counts from the same number in all files, for the order of times along it, or --new-dim"
		}
	}
	if bare != nil {
		return p.bareOption(bare)
	}
	if at := p.momentOf(); at != "" {
		return stackedBy(at) + " to stack them by its values, or NAME=PATTERN by the names of files"
	}
	return "--new-dim NAME=PATTERN to stack them"
}

// refuseOdd refuses those of some files whose values differ from those of most others.
func (c *comparison) refuseOdd(files []int32) error {
	p, a := c.p, c.a
	if n := c.largest(); n > manifest.MostSummed {
		p.find(p.odd(report.Finding{Kind: c.kind(), Array: a.path, Effect: report.Refused, Option: "--coords first, or " + report.Drop(a.path[1:]),
			Says: fmt.Sprintf("files have to hold the same of it, and it takes %s in some: no more than %s are compared", report.Size(n), report.Size(manifest.MostSummed))},
			files, int64(len(files))))
		return nil
	}
	if !c.fits(files) {
		p.find(p.odd(report.Finding{Kind: c.kind(), Array: a.path, Effect: report.Refused, Option: "--coords first, or " + report.Drop(a.path[1:]),
			Says: fmt.Sprintf("narrower files have to hold what the widest, %s, begins with, and more than %s of such values are not compared",
				p.label(p.files[p.widest(a, files)].URL), report.Size(manifest.MostSummed))}, files, int64(len(files))))
		return nil
	}
	groups, err := c.parts(files)
	if err == nil && len(groups) > 1 && len(p.needs) == 0 {
		groups, err = c.joinNear(groups, files)
	}
	if err != nil || len(groups) < 2 || len(p.needs) > 0 {
		return err
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
	f := report.Finding{Kind: c.kind(), Array: a.path, Effect: report.Refused, Option: c.option(groups),
		Says: fmt.Sprintf("%s %s other values than the others (%s), and no dimension along which files follow one another", count(len(odd), len(files)),
			have(len(odd)), p.span(groups[most]))}
	if a.where != nil {
		f.Says = fmt.Sprintf("%s that lie in the same place %s other values than the others (%s)", count(len(odd), len(files)), have(len(odd)), p.span(groups[most]))
	}
	p.find(p.odd(f, odd, int64(len(files))))
	return nil
}

// stackedBy is the option that makes a dimension of the variable at a path.
func stackedBy(at string) string { return report.Flag("new-dim", path.Base(at)+"=var:"+at[1:]) }

// option is what allows values of groups of files that ought to be equal and are not. What keeps them
// all, if there is a way, is named first.
func (c *comparison) option(groups [][]int32) string {
	p, a := c.p, c.a
	one := "--coords first, or " + report.Drop(a.path[1:])
	if p.opts.Tolerance == 0 && len(a.dims) > 0 && c.tolerable() {
		one = "--tolerance NUMBER if they are near, " + one
	}
	if pointers := p.targets[a.path]; pointers != nil {
		one = withoutPointers(pointers)
	}
	if broadcast := c.broadcastOption(groups); broadcast != "" {
		one = broadcast + ", " + one
	} else if step := p.stepOption(groups); step != "" && a.where == nil {
		one = step + ", " + one
	}
	switch {
	case p.targets[a.path] != nil, a.where != nil:
	case len(a.dims) == 0 && !p.flowing() && a.files == p.total():
		return stackedBy(a.path) + " to stack the files by it, " + one
	case len(a.dims) == 1 && p.dims[a.dims[0]].coord == "":
		return report.ListFlag("concat", a.dims[0][1:]) + " to put them end to end, " + one
	}
	return one
}

// kind is that of a finding about values that ought to be equal.
func (c *comparison) kind() report.Kind {
	if c.a.aux {
		return report.Coordinate
	}
	return report.Static
}
