package plan

import (
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/report"
)

// array is a variable of all files that have it.
type array struct {
	path      string
	members   []member
	parts     []member // of hidden files
	dims      []string // the axes, as most files have them
	made      []string // new dimensions, and those along which it is laid, in front of them
	broadcast bool     // laid along some of these
	laid      bool     // some files' values are laid along an axis that others have
	placed    []*dim   // along which files are placed, in the order of axes
	aux       bool     // a coordinate, or one that others name
	flows     bool     // along a dimension of times, or one that grows: files hold different parts of it
	files     int64    // that have it
	where     *placing // nil: alike in all files
	pieces    bool     // the values are kept in the manifest
	orphan    bool     // bounds of times, and no array says of which
	dropped   bool
}

// all are the members, those of hidden files included.
func (a *array) all() []member {
	if len(a.parts) == 0 {
		return a.members
	}
	return append(slices.Clone(a.members), a.parts...)
}

// allDims are the axes, new dimensions included.
func (a *array) allDims() []string { return slices.Concat(a.made, a.dims) }

// dimAt is one of allDims.
func (a *array) dimAt(axis int) string {
	if axis < len(a.made) {
		return a.made[axis]
	}
	return a.dims[axis-len(a.made)]
}

// member is the variable of one class.
type member struct {
	class   int32
	*lensed         // in the class
	narrow  *lensed // the same without axes that it lacks; nil if it lacks none
	axes    []int   // of the variable, for each of the array's own dims
}

// collectArrays finds the variables of all classes.
func (p *layout) collectArrays() {
	found, members := map[string]*array{}, map[string]int{}
	for _, c := range p.classes {
		for _, x := range c.vars {
			members[x.path]++
		}
	}
	for n, c := range p.classes {
		for i := range c.vars {
			x := &c.vars[i]
			a := found[x.path]
			if a == nil {
				a = &array{path: x.path, members: make([]member, 0, members[x.path])}
				found[x.path] = a
			}
			a.members = append(a.members, member{class: int32(n), lensed: x})
			a.aux = a.aux || x.aux
			a.files += int64(len(c.files))
		}
	}
	for _, at := range sorted(found) {
		a := found[at]
		if p.dims[at] != nil {
			a.aux = true
		}
		if p.readable(a) && p.settleDims(a) {
			p.arrays = append(p.arrays, a)
		}
	}
}

// arraysByPath are all arrays, by their paths.
func (p *layout) arraysByPath() map[string]*array {
	at := make(map[string]*array, len(p.arrays))
	for _, a := range p.arrays {
		at[a.path] = a
	}
	return at
}

// readable leaves out variables that no array can hold, and refuses those that one could if
// folders were allowed, or files were sound.
func (p *survey) readable(a *array) bool {
	var unreadable, elsewhere, damaged problem
	folders := map[string]bool{}
	for _, m := range a.members {
		files := p.classes[m.class].files
		switch {
		case m.v.Damaged:
			damaged.add(m.v.Unreadable, files)
		case m.v.Elsewhere != "":
			folders[m.v.Elsewhere] = true
			elsewhere.add(m.v.Unreadable, files)
		case m.v.Unreadable != "":
			unreadable.add(m.v.Unreadable, files)
		}
	}
	drop := report.DropPath(a.path[1:])
	if len(elsewhere.files) > 0 {
		var allow report.Remedy
		for i, folder := range fewFolders(sorted(folders)) {
			if i == 0 {
				allow = report.Do(report.Allow, folder, report.OpensFolder)
				continue
			}
			allow = allow.And(report.Allow, folder)
		}
		p.reportProblem(a, &elsewhere, report.Finding{Code: report.VariableElsewhere, Effect: report.Refused, Remedies: []report.Remedy{allow, drop}})
	}
	p.reportProblem(a, &damaged, report.Finding{Code: report.VariableDamaged, Effect: report.Refused, Remedies: []report.Remedy{drop}})
	p.reportProblem(a, &unreadable, report.Finding{Code: report.VariableUnreadable, Effect: report.Dropped})
	return len(elsewhere.files)+len(damaged.files)+len(unreadable.files) == 0
}

// problem is what keeps a variable of some files from being read, as the last of them has it.
type problem struct {
	reason string
	files  []int32
}

func (r *problem) add(reason string, files []int32) {
	r.reason, r.files = reason, append(r.files, files...)
}

// reportProblem adds the finding of a problem, if any file has it.
func (p *inquiry) reportProblem(a *array, r *problem, f report.Finding) {
	if len(r.files) > 0 {
		f.Array, f.Args = a.path, report.Args{"reason": r.reason}
		p.find(p.odd(f, r.files, a.files))
	}
}

// fewFolders are folders that hold some, in their order: the one that all are in, if they are many.
func fewFolders(folders []string) []string {
	if len(folders) <= mostExamples {
		return folders
	}
	first, last := folders[0], folders[len(folders)-1]
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	if at := strings.LastIndexByte(manifest.ToSlash(first[:n]), '/'); at > 0 && !strings.HasSuffix(manifest.ToSlash(first[:at]), "/") {
		return []string{first[:at]}
	}
	return folders
}

// settleDims finds the axes, in the order that most files have, and refuses those whose axes are
// others.
func (p *layout) settleDims(a *array) bool {
	p.widen(a)
	groups := map[string][]int{}
	weight := map[string]int64{}
	for i, m := range a.members {
		word := strings.Join(m.dims, "\x00")
		groups[word] = append(groups[word], i)
		weight[word] += int64(len(p.classes[m.class].files))
	}
	most := ""
	for i, word := range sorted(groups) {
		if i == 0 || p.leads(a, groups[word], groups[most], weight[word]-weight[most]) {
			most = word
		}
	}
	a.dims = a.members[groups[most][0]].dims
	ok := true
	for _, word := range sorted(groups) {
		if word != most {
			ok = p.otherDims(a, groups[word], groups[most]) && ok
		}
	}
	for _, group := range groups {
		axes := axesOf(a.members[group[0]].dims, a.dims)
		for _, i := range group {
			a.members[i].axes = axes
		}
	}
	return ok
}

// leads reports whether the axes of some members count before those of others: those that have names,
// then those among which the others are, then those that more files have.
func (p *survey) leads(a *array, x, y []int, more int64) bool {
	isTorn := func(members []int) bool {
		return slices.ContainsFunc(a.members[members[0]].dims, func(d string) bool { return p.torn[d] })
	}
	if torn := isTorn(x); torn != isTorn(y) {
		return !torn
	}
	dims, other := a.members[x[0]].dims, a.members[y[0]].dims
	if wider := len(lacking(other, dims)) > 0; wider || len(lacking(dims, other)) > 0 {
		return wider
	}
	return more > 0 || more == 0 && p.memberLeads(a, x, y)
}

func (p *survey) memberLeads(a *array, x, y []int) bool {
	return natural(p.files[p.firstFile(a, x)].URL, p.files[p.firstFile(a, y)].URL) < 0
}

func (p *survey) firstFile(a *array, members []int) int32 {
	return slices.MinFunc(p.filesOfMembers(a, members), p.byName)
}

func (p *survey) filesOfMembers(a *array, members []int) (files []int32) {
	for _, i := range members {
		files = append(files, p.classes[a.members[i].class].files...)
	}
	return files
}

// otherDims takes files with axes in another order, and refuses those with other axes.
func (p *layout) otherDims(a *array, odd, most []int) bool {
	dims := a.members[odd[0]].dims
	names := baseNames
	if slices.Equal(names(dims), names(a.dims)) { // in other groups
		names = func(dims []string) []string { return dims }
	}
	files := p.filesOfMembers(a, odd)
	if axes := axesOf(dims, a.dims); axes != nil && len(dims) == len(a.dims) {
		p.find(p.odd(report.Finding{Code: report.DimsTransposed, Array: a.path, Effect: report.Reencoded,
			Args: report.Args{"dims": names(dims), "declared": names(a.dims)}}, files, a.files))
		return true
	}
	f := report.Finding{Code: report.DimsDiffer, Array: a.path, Effect: report.Refused,
		Args: report.Args{"dims": names(dims), "declared": names(a.dims), "others": p.span(p.filesOfMembers(a, most))}}
	if rename, ok := p.renameRemedy(dims, a.dims); ok {
		f.Remedies = []report.Remedy{rename}
	} else {
		f.Remedies = []report.Remedy{report.Do(report.Separate, "", ""), report.DropPath(path.Base(a.path))}
	}
	if missing := lacking(dims, a.dims); len(missing) > 0 {
		if remedy, ok := p.lackRemedy(a, odd, missing); ok {
			f.Remedies = slices.Insert(f.Remedies, 0, remedy)
		}
	}
	if p.holdsStep(a.path) {
		f.Remedies = []report.Remedy{stackBy(a.path, report.IfOneStep)}
	}
	p.find(p.odd(f, files, a.files))
	return false
}

// renameRemedy returns the remedy that gives dimensions the names of others, and false if there is none.
func (p *survey) renameRemedy(dims, want []string) (r report.Remedy, ok bool) {
	if len(dims) != len(want) {
		return r, false
	}
	lack := slices.Clone(want) // those that the axes do not have yet
	dims = slices.DeleteFunc(slices.Clone(dims), func(d string) bool {
		i := slices.Index(lack, d)
		if i >= 0 {
			lack = slices.Delete(lack, i, i+1)
		}
		return i >= 0
	})
	r.Consequence = report.IfSameDims
	for i, d := range dims {
		if slices.Contains(want, d) || slices.Contains(dims[:i], d) || !p.mayRename(d, lack[i]) {
			return r, false
		}
		s := report.Setting{Option: report.Rename, Value: p.renaming(d, lack[i])}
		if i == 0 {
			r.Setting = s
			continue
		}
		r.With = append(r.With, s)
	}
	return r, len(dims) > 0
}

// mayRename reports whether a dimension may have the name of another, in all files that have both.
func (p *survey) mayRename(from, to string) bool {
	return !slices.ContainsFunc(p.classes, func(c *class) bool {
		if c.find(from) >= 0 && c.find(to) >= 0 {
			return true
		}
		x, has := c.dims[from]
		y, both := c.dims[to]
		return has && both && (x.Length != y.Length || slices.ContainsFunc(c.vars, func(v lensed) bool {
			return slices.Contains(v.dims, from) && slices.Contains(v.dims, to)
		}))
	})
}

// renaming says which dimension is renamed, and how: by their names, if these are enough.
func (p *survey) renaming(from, to string) string {
	base, dir := path.Base(from), path.Dir(from)
	name := base
	for _, c := range p.classes {
		for at := range c.dims {
			if at != from && path.Base(at) == base {
				name = from
			}
		}
		for _, x := range c.vars {
			if x.path != from && path.Base(x.path) == base {
				name = from
			}
		}
	}
	if path.Dir(to) == dir {
		return name + "=" + path.Base(to)
	}
	return name + "=" + to
}

func names(dims []string) string { return strings.Join(baseNames(dims), ", ") }

// baseNames returns the last elements of paths.
func baseNames(paths []string) []string {
	short := make([]string, len(paths))
	for i, at := range paths {
		short[i] = path.Base(at)
	}
	return short
}

// axesOf returns the axis of each of some dimensions among others, or nil if one is not there.
func axesOf(have, want []string) []int {
	axes := make([]int, len(want))
	used := make([]bool, len(have))
	for i, d := range want {
		axes[i] = -1
		for k, h := range have {
			if h == d && !used[k] && axes[i] < 0 {
				axes[i], used[k] = k, true
			}
		}
		if axes[i] < 0 {
			return nil
		}
	}
	return axes
}

// spoiledBy reports whether one of an array's dimensions is refused.
func (p *directions) spoiledBy(a *array) bool {
	return slices.ContainsFunc(a.dims, func(d string) bool { return p.dims[d].role == spoiled })
}

// placeArrays says where the files of each array lie.
func (p *layout) placeArrays() {
	kept := p.arrays[:0]
	for _, a := range p.arrays {
		if p.spoiledBy(a) || p.twice(a) {
			continue
		}
		for _, at := range a.dims {
			d := p.dims[at]
			a.flows = a.flows || d.hinted
			if d.places() && !slices.Contains(a.placed, d) {
				a.placed = append(a.placed, d)
			}
		}
		p.giveBroadcast(a)
		p.passEmpty(a)
		if p.refuseUnplaced(a) {
			continue
		}
		p.giveMade(a)
		if p.namesake(a) {
			continue
		}
		p.placeParted(a)
		kept = append(kept, a)
	}
	p.arrays = kept
	for _, a := range p.arrays {
		if len(a.placed) > 0 {
			a.where = p.place(a)
		}
	}
}

// passEmpty passes over files that hold nothing along a dimension of which others hold something:
// they are in no array, so that their types and packing are no business of one.
func (p *survey) passEmpty(a *array) {
	along := slices.Clone(a.dims)
	for _, d := range a.placed {
		along = append(along, d.path)
	}
	empty := func(m member) bool {
		return slices.ContainsFunc(along, func(at string) bool {
			if axis := slices.Index(m.dims, at); axis >= 0 {
				return m.v.Shape[axis] == 0
			}
			dimension, has := p.classes[m.class].dims[at]
			return has && dimension.Length == 0
		})
	}
	if !slices.ContainsFunc(a.members, func(m member) bool { return !empty(m) }) {
		return
	}
	a.members = slices.DeleteFunc(a.members, empty)
	a.files = 0
	for _, m := range a.members {
		a.files += int64(len(p.classes[m.class].files))
	}
}

// twice refuses an array that has a flowing dimension on two axes: a file would lie on the
// diagonal, and nothing beside it.
func (p *directions) twice(a *array) bool {
	for i, at := range a.dims {
		if d := p.dims[at]; d.role == flowing && len(d.order) > 1 && slices.Contains(a.dims[:i], at) {
			p.find(p.odd(report.Finding{Code: report.DimTwice, Array: a.path, Effect: report.Refused, Dim: d.name(),
				Remedies: []report.Remedy{report.DropPath(path.Base(a.path))}}, p.filesHaving(a), a.files))
			return true
		}
	}
	return false
}

// isAxis reports whether the values of an array say where along its dimension files lie: a
// coordinate, or times along a dimension of another name.
func (p *directions) isAxis(a *array) bool {
	return len(a.dims) == 1 && p.dims[a.dims[0]].coord == a.path
}

// isCoordinate reports whether an array is the coordinate of the dimension of its name.
func (p *directions) isCoordinate(a *array) bool { return p.isAxis(a) && a.dims[0] == a.path }

// flowing reports whether files follow one another along any dimension, be it that all but one
// hold nothing of it.
func (p *directions) flowing() bool {
	for _, at := range p.dimOrder {
		if d := p.dims[at]; d.role == flowing && len(d.coords) > 1 {
			return true
		}
	}
	return len(p.opts.NewDims) > 0
}

// likely is more for a dimension without values that more likely is one along which files follow
// one another.
func (p *survey) likely(d *dim) (n int) {
	if d.hinted {
		n += 2
	}
	if p.longest(d) == 1 {
		n++
	}
	return n
}

// bareRemedies returns the ways to concatenate files along a dimension without values.
func (p *survey) bareRemedies(d *dim) []report.Remedy {
	remedies := []report.Remedy{concatAlong(d, report.ByName)}
	switch {
	case p.longest(d) == 1:
		remedies = append(remedies, report.Fill(report.NewDim, d.name()+"=PATTERN", report.ByNameValues))
	case !d.hinted:
		remedies = append(remedies, stackByPattern)
	}
	return remedies
}

// counts reports whether the coordinate of a dimension is no more than a number of each element, also of the only one.
func (d *dim) counts() bool {
	return len(d.order) == 1 && d.order[0].countsIn(d.nature)
}

// hasTimes reports whether a variable says of which moment each element of a dimension is.
func (p *layout) hasTimes(at string) bool {
	return slices.ContainsFunc(p.arrays, func(a *array) bool {
		return slices.Equal(a.dims, []string{at}) && natureOf(a.members[0].v) == instant
	})
}

// momentOf is the variable that says of which moment each file is, if there is just one.
func (p *directions) momentOf() string {
	found := map[string]int{}
	for _, c := range p.classes {
		for _, x := range c.vars {
			if len(x.v.Shape) == 0 && x.v.Unreadable == "" && p.dims[x.path] == nil && natureOf(x.v) == instant {
				found[x.path]++
			}
		}
	}
	for at, n := range found {
		if n == len(p.classes) && len(found) == 1 {
			return at
		}
	}
	return ""
}

func (p *survey) filesHaving(a *array) (files []int32) {
	for _, m := range a.members {
		files = append(files, p.classes[m.class].files...)
	}
	slices.Sort(files)
	return files
}
