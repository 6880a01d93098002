package planner

import (
	"errors"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/report"
)

// array is a variable of the combined dataset, with the variables of the files that provide it.
type array struct {
	path      string
	members   []member
	parts     []member // from hidden files
	dims      []string // the dimensions that files have, in the order of most files
	made      []string // dimensions that varve adds in front of dims: new dimensions and broadcast dimensions
	broadcast bool     // one value of each file is repeated along some of made
	widened   bool     // some files lack a dimension of dims and are broadcast along it
	placed    []*dim   // the dimensions along which files are placed, in the order of allDims
	aux       bool     // a coordinate, or a variable that another one names
	flows     bool     // has a time or unlimited dimension, so files hold different parts of it
	files     int64    // the number of files that have it
	where     *placing // nil if the array is equal in all files
	pieces    bool     // the values are stored in the manifest
	orphan    bool     // bounds of times that no array names as its bounds
	dropped   bool
}

// all returns the members, including the members of hidden files.
func (a *array) all() []member {
	if len(a.parts) == 0 {
		return a.members
	}
	return append(slices.Clone(a.members), a.parts...)
}

// allDims returns the paths of all dimensions, new dimensions first.
func (a *array) allDims() []string { return slices.Concat(a.made, a.dims) }

// dimAt returns allDims()[axis] without the copy.
func (a *array) dimAt(axis int) string {
	if axis < len(a.made) {
		return a.made[axis]
	}
	return a.dims[axis-len(a.made)]
}

// member is the variable that one class of files provides for an array.
type member struct {
	class    int32
	*planVar          // the variable, with the names and dimensions of the plan
	narrow   *planVar // the variable without dimensions that the file lacks; nil if it lacks none
	axes     []int    // the axis of the variable for each of the array's dims
}

// collectArrays makes an array for each distinct path among the variables of all classes.
func (p *arrangement) collectArrays() {
	found, members := map[string]*array{}, map[string]int{}
	for _, c := range p.survey.classes {
		for _, x := range c.vars {
			members[x.path]++
		}
	}
	for n, c := range p.survey.classes {
		for i := range c.vars {
			x := &c.vars[i]
			a := found[x.path]
			if a == nil {
				a = &array{path: x.path, members: make([]member, 0, members[x.path])}
				found[x.path] = a
			}
			a.members = append(a.members, member{class: int32(n), planVar: x})
			a.aux = a.aux || x.aux
			a.files += int64(len(c.files))
		}
	}
	for _, at := range sorted(found) {
		a := found[at]
		if p.alignment.dims[at] != nil {
			a.aux = true
		}
		if p.survey.readable(a) && p.settleDims(a) {
			p.arrays = append(p.arrays, a)
		}
	}
}

// arraysByPath indexes the arrays by path.
func (p *arrangement) arraysByPath() map[string]*array {
	at := make(map[string]*array, len(p.arrays))
	for _, a := range p.arrays {
		at[a.path] = a
	}
	return at
}

// readable reports whether all files' variables can be read. It drops variables that no array can
// hold, and refuses variables that could be read if a folder were allowed or a file were undamaged.
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
		p.env.reportProblem(a, &elsewhere, report.Finding{Code: report.VariableElsewhere, Effect: report.Refused, Remedies: []report.Remedy{allow, drop}})
	}
	p.env.reportProblem(a, &damaged, report.Finding{Code: report.VariableDamaged, Effect: report.Refused, Remedies: []report.Remedy{drop}})
	p.env.reportProblem(a, &unreadable, report.Finding{Code: report.VariableUnreadable, Effect: report.Dropped})
	return len(elsewhere.files)+len(damaged.files)+len(unreadable.files) == 0
}

// problem is a reason why a variable cannot be read, with the files that have it. If reasons
// differ, the last one is kept.
type problem struct {
	reason string
	files  []int32
}

func (r *problem) add(reason string, files []int32) {
	r.reason, r.files = reason, append(r.files, files...)
}

// reportProblem adds the finding for a problem if any file has it.
func (p *env) reportProblem(a *array, r *problem, f report.Finding) {
	if len(r.files) > 0 {
		f.Array, f.Args = a.path, report.Args{"reason": r.reason}
		p.find(p.odd(f, r.files, a.files))
	}
}

// fewFolders returns the folders, or their common parent if there are too many for a message.
func fewFolders(folders []string) []string {
	if len(folders) <= mostExamples {
		return folders
	}
	first, last := folders[0], folders[len(folders)-1]
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	// Do not suggest the root of a disk, which would allow everything.
	if at := strings.LastIndexByte(manifest.ToSlash(first[:n]), '/'); at > 0 && !strings.HasSuffix(manifest.ToSlash(first[:at]), "/") {
		return []string{first[:at]}
	}
	return folders
}

// settleDims decides the dimensions of an array and their order. It refuses files whose variable has
// other dimensions, and returns false if there are any.
func (p *arrangement) settleDims(a *array) bool {
	// First add dimensions that a file may lack, so that fewer files disagree below.
	p.widen(a)
	groups := map[string][]int{}
	weight := map[string]int64{}
	for i, m := range a.members {
		word := strings.Join(m.dims, "\x00")
		groups[word] = append(groups[word], i)
		weight[word] += p.survey.classes[m.class].weight()
	}
	most := ""
	for i, word := range sorted(groups) {
		if i == 0 || p.survey.leads(a, groups[word], groups[most], weight[word]-weight[most]) {
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

// leads reports whether the dimensions of members x are preferred to those of members y. Complete
// names come first, then a superset of the other dimensions, then the larger number of files.
func (p *survey) leads(a *array, x, y []int, more int64) bool {
	hasConflict := func(members []int) bool {
		return slices.ContainsFunc(a.members[members[0]].dims, func(d string) bool { return p.conflicting[d] })
	}
	// A generated name says less than a name in a file, even if most files have none.
	if conflict := hasConflict(x); conflict != hasConflict(y) {
		return !conflict
	}
	dims, other := a.members[x[0]].dims, a.members[y[0]].dims
	if wider := len(missingDims(other, dims)) > 0; wider || len(missingDims(dims, other)) > 0 {
		return wider
	}
	return more > 0 || more == 0 && p.memberLeads(a, x, y)
}

func (p *survey) memberLeads(a *array, x, y []int) bool {
	return naming.Natural(p.env.files[p.firstFile(a, x)].URL, p.env.files[p.firstFile(a, y)].URL) < 0
}

func (p *survey) firstFile(a *array, members []int) int32 {
	return slices.MinFunc(p.filesOfMembers(a, members), p.env.byName)
}

func (p *survey) filesOfMembers(a *array, members []int) (files []int32) {
	for _, i := range members {
		files = append(files, p.classes[a.members[i].class].files...)
	}
	return files
}

// otherDims accepts members with the same dimensions in another order, and refuses other
// dimensions.
func (p *arrangement) otherDims(a *array, odd, most []int) bool {
	dims := a.members[odd[0]].dims
	names := baseNames
	if slices.Equal(names(dims), names(a.dims)) { // the groups differ, so show full paths
		names = func(dims []string) []string { return dims }
	}
	files := p.survey.filesOfMembers(a, odd)
	if axes := axesOf(dims, a.dims); axes != nil && len(dims) == len(a.dims) {
		p.env.find(p.env.odd(report.Finding{Code: report.DimsTransposed, Array: a.path, Effect: report.Reencoded,
			Args: report.Args{"dims": names(dims), "declared": names(a.dims)}}, files, a.files))
		return true
	}
	f := report.Finding{Code: report.DimsDiffer, Array: a.path, Effect: report.Refused,
		Args: report.Args{"dims": names(dims), "declared": names(a.dims), "others": p.env.span(p.survey.filesOfMembers(a, most))}}
	if rename, ok := p.survey.renameRemedy(dims, a.dims); ok {
		f.Remedies = []report.Remedy{rename}
	} else {
		f.Remedies = []report.Remedy{separate, report.DropPath(path.Base(a.path))}
	}
	if missing := missingDims(dims, a.dims); len(missing) > 0 {
		if remedy, ok := p.lackRemedy(a, odd, missing); ok {
			f.Remedies = slices.Insert(f.Remedies, 0, remedy)
		}
	}
	// A coordinate of length 1 in every file is more likely the position of the file.
	if p.alignment.holdsStep(a.path) {
		f.Remedies = []report.Remedy{stackBy(a.path, report.IfOneStep)}
	}
	p.env.find(p.env.odd(f, files, a.files))
	return false
}

// renameRemedy returns the remedy that renames dims to want, or false if a rename cannot help.
func (p *survey) renameRemedy(dims, want []string) (r report.Remedy, ok bool) {
	if len(dims) != len(want) {
		return r, false
	}
	lack := slices.Clone(want) // the dimensions of want that dims lacks
	dims = slices.DeleteFunc(slices.Clone(dims), func(d string) bool {
		i := slices.Index(lack, d)
		if i >= 0 {
			lack = slices.Delete(lack, i, i+1)
		}
		return i >= 0
	})
	r.Consequence = report.IfSameDims
	for i, d := range dims {
		// Suggest a rename only if it is unambiguous and valid in every file.
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

// mayRename reports whether `from` can be renamed to `to` without a conflict in any file.
func (p *survey) mayRename(from, to string) bool {
	return !slices.ContainsFunc(p.classes, func(c *class) bool {
		if c.find(from) >= 0 && c.find(to) >= 0 {
			return true
		}
		x, has := c.dims[from]
		y, both := c.dims[to]
		// A file with both dimensions could only merge them if they have one length.
		return has && both && (x.Length != y.Length || slices.ContainsFunc(c.vars, func(v planVar) bool {
			return slices.Contains(v.dims, from) && slices.Contains(v.dims, to)
		}))
	})
}

// renaming returns the value OLD=NEW of the rename option in its shortest unambiguous form.
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

// baseNames returns the last element of each path.
func baseNames(paths []string) []string {
	short := make([]string, len(paths))
	for i, at := range paths {
		short[i] = path.Base(at)
	}
	return short
}

// axesOf returns, for each dimension in want, its axis in have, or nil if have lacks one.
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

// spoiledBy reports whether one of the array's dimensions was refused.
func (p *alignment) spoiledBy(a *array) bool {
	return slices.ContainsFunc(a.dims, func(d string) bool { return p.dims[d].role == spoiled })
}

// placeArrays decides the placement of each array, and drops arrays that were refused.
func (p *arrangement) placeArrays() error {
	kept := p.arrays[:0]
	var questions []question
	for _, a := range p.arrays {
		if p.alignment.spoiledBy(a) || p.alignment.refuseRepeatedDim(a) {
			continue
		}
		for _, at := range a.dims {
			d := p.alignment.dims[at]
			a.flows = a.flows || d.hinted
			if (d.places() || d.isReordered()) && !slices.Contains(a.placed, d) {
				a.placed = append(a.placed, d)
			}
		}
		p.addBroadcastDims(a)
		p.survey.dropEmptyMembers(a)
		if p.refuseUnplaced(a) {
			continue
		}
		kept = append(kept, a)
		questions = append(questions, func() ([]want, error) { return p.addNewDims(a) })
	}
	p.arrays = kept
	err := p.env.settle(questions...)
	if err != nil && !errors.Is(err, errRefused) {
		return err
	}
	p.arrays = slices.DeleteFunc(p.arrays, p.refuseNamesake)
	for _, a := range p.arrays {
		p.placeParted(a)
	}
	// Placement comes after all arrays are final, because arrays with equal dimensions and files
	// share one placing.
	for _, a := range p.arrays {
		if len(a.placed) > 0 {
			a.where = p.placingOf(a)
		}
	}
	return err
}

// dropEmptyMembers removes members of length 0 along a dimension, unless all members are empty. Empty
// members provide no element, so their types and packing must not affect the schema.
func (p *survey) dropEmptyMembers(a *array) {
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

// refuseRepeatedDim refuses an array that has a concatenated dimension on two axes. Each file would
// fill a square on the diagonal, and no file would fill the rest.
func (p *alignment) refuseRepeatedDim(a *array) bool {
	for i, at := range a.dims {
		if d := p.dims[at]; (d.role == flowing && len(d.order) > 1 || d.isReordered()) && slices.Contains(a.dims[:i], at) {
			p.env.find(p.env.odd(report.Finding{Code: report.DimTwice, Array: a.path, Effect: report.Refused, Dim: d.name(),
				Remedies: []report.Remedy{report.DropPath(path.Base(a.path))}}, p.survey.filesHaving(a), a.files))
			return true
		}
	}
	return false
}

// isAxis reports whether the values of an array place files along its only dimension: a coordinate,
// or times along a dimension with another name.
func (p *alignment) isAxis(a *array) bool {
	return len(a.dims) == 1 && p.dims[a.dims[0]].coord == a.path
}

// isCoordinate reports whether an array is the coordinate of the dimension with its name.
func (p *alignment) isCoordinate(a *array) bool { return p.isAxis(a) && a.dims[0] == a.path }

// flowing reports whether files are concatenated along any dimension. Empty files count, too.
func (p *alignment) flowing() bool {
	for _, at := range p.dimOrder {
		if d := p.dims[at]; d.role == flowing && len(d.coords) > 1 {
			return true
		}
	}
	return len(p.env.opts.NewDims) > 0
}

// likely scores how probable it is that files are concatenated along a dimension without values.
// The score only orders the remedies of a finding.
func (p *survey) likely(d *dim) (n int) {
	// Archives grow along unlimited and time dimensions more often than along any other.
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

// counts reports whether the coordinate only numbers its elements (0, 1, 2, …), also if there is
// only one element.
func (d *dim) counts() bool {
	return len(d.order) == 1 && d.order[0].CountsIn(d.nature)
}

// hasTimes reports whether a variable holds the time of each element of a dimension.
func (p *arrangement) hasTimes(at string) bool {
	return slices.ContainsFunc(p.arrays, func(a *array) bool {
		return slices.Equal(a.dims, []string{at}) && coord.NatureOf(a.members[0].v) == coord.Instant
	})
}

// momentOf returns the path of the only scalar time that every file has, or "".
func (p *alignment) momentOf() string {
	found := map[string]int{}
	for _, c := range p.survey.classes {
		for _, x := range c.vars {
			if len(x.v.Shape) == 0 && x.v.Unreadable == "" && p.dims[x.path] == nil && coord.NatureOf(x.v) == coord.Instant {
				found[x.path]++
			}
		}
	}
	for at, n := range found {
		if n == len(p.survey.classes) && len(found) == 1 {
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

// memberOf returns the member of a class, or nil.
func (a *array) memberOf(class int32) *member {
	i := placeOf(a.members, class)
	if i == len(a.members) || a.members[i].class != class {
		return nil
	}
	return &a.members[i]
}

// placeOf returns the index at which the member of a class is or would be. Members are sorted by
// class.
func placeOf(members []member, class int32) int {
	i, _ := slices.BinarySearchFunc(members, class, func(m member, c int32) int { return int(m.class - c) })
	return i
}

// elementSize returns the size in bytes of the largest element type.
func elementSize(members []member) int64 {
	size := int64(1)
	for _, m := range members {
		size = max(size, int64(m.v.Type.Size))
	}
	return size
}

func (p *alignment) bytesOf(a *array) int64 {
	n := elementSize(a.members)
	for _, s := range p.shapeOf(a) {
		n *= s
	}
	return n
}

// hasLarge reports whether any file's variable is larger than the size limit for values.
func (p *env) hasLarge(a *array) bool {
	return slices.ContainsFunc(a.members, func(m member) bool { return p.isLarge(m.v) })
}
