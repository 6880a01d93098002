package planner

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// settleBare decides about a dimension without coordinate values.
func (p *survey) settleBare(d *dim) error {
	if d.named {
		p.inOrderOfNames(d)
		return nil
	}
	lengths := map[int64][]int32{}
	for _, n := range d.classes {
		length := p.classes[n].dims[d.path].Length
		lengths[length] = append(lengths[length], p.classes[n].files...)
		d.length = max(d.length, length)
	}
	if len(lengths) < 2 || p.env.opts.Pad == plan.PadFill {
		p.env.notePadded(d, lengths)
		return nil
	}
	p.env.refuseWidths(d, lengths, alike)
	return nil
}

// settleWidths decides about coordinates of different lengths. With padding, the longest is used,
// and the others must equal its first values.
func (p *env) settleWidths(d *dim, live []*coord) error {
	longest := slices.MaxFunc(live, func(a, b *coord) int { return cmp.Compare(a.n, b.n) })
	var odd []*coord
	are := alike
	partly := false // a shorter coordinate shares some values with the longest
	for _, c := range live {
		if begins, err := d.begins(c, longest); err != nil {
			return err
		} else if begins {
			continue
		}
		odd = append(odd, c)
		are = max(are, differ)
		if d.nature != text && (c.high.compare(longest.low) < 0 || longest.high.compare(c.low) < 0) {
			are = max(are, apart)
		}
		partly = partly || c != longest && d.shareValues(c, longest)
		within, err := d.within(c, longest)
		if err != nil {
			return err
		}
		// The values exist in the longest coordinate at other positions: padding would misplace them.
		if within {
			are = elsewhere
		}
	}
	lengths := map[int64][]int32{}
	for f, n := range d.of {
		if n >= 0 && d.coords[n].n > 0 {
			lengths[d.coords[n].n] = append(lengths[d.coords[n].n], int32(f))
		}
	}
	if p.opts.Pad == plan.PadFill && p.padHelps(are) {
		d.order = []*coord{longest}
		p.notePadded(d, lengths)
		p.noteOther(d, odd, longest)
		return nil
	}
	p.refuseWidths(d, lengths, are)
	// Padding would misplace values whose labels differ, so the join comes first.
	if f := &p.report.Findings[len(p.report.Findings)-1]; partly && f.Code == report.WidthsDiffer {
		if p.opts.Pad != plan.PadFill {
			f.Remedies = nil
		}
		f.Remedies = slices.Insert(f.Remedies, 0, joinOuter(d))
	}
	return nil
}

// padHelps reports whether files whose values have this relation to the longest coordinate can be
// padded.
func (p *env) padHelps(are relation) bool {
	return are == alike || p.opts.Coords == plan.CoordsFirst && are < elsewhere
}

// relation says how the values of shorter coordinates relate to the longest coordinate.
type relation uint8

const (
	alike     relation = iota // all shorter coordinates equal the first values of the longest
	differ                    // some files have other values, within the range of the longest
	apart                     // some files have only values outside the range of the longest
	elsewhere                 // some files have values of the longest at other positions
)

// begins reports whether c equals the first values of longest. It is false if only summaries are
// known.
func (d *dim) begins(c, longest *coord) (bool, error) {
	if c == longest || c.summarized() || longest.summarized() {
		return c == longest, nil
	}
	at, err := d.firstDifference(c, longest)
	return at == c.n, err
}

// within reports whether all values of c are values of longest, in any order.
func (d *dim) within(c, longest *coord) (bool, error) {
	if c.summarized() || longest.summarized() {
		return false, nil
	}
	x, err := c.keys(d.nature, d.ranks)
	if err != nil {
		return false, err
	}
	y, err := longest.keys(d.nature, d.ranks)
	there := make(map[key]bool, len(y))
	for _, k := range y {
		there[k] = true
	}
	return !slices.ContainsFunc(x, func(k key) bool { return !there[k] }), err
}

// usual returns the length that most files have. If several have as many files, it returns the
// smallest.
func usual(lengths map[int64][]int32) (most int64) {
	for i, n := range sorted(lengths) {
		if i == 0 || len(lengths[n]) > len(lengths[most]) {
			most = n
		}
	}
	return most
}

func (p *env) notePadded(d *dim, lengths map[int64][]int32) {
	var narrow []int32
	for n, files := range lengths {
		if n < d.length {
			narrow = append(narrow, files...)
		}
	}
	if len(narrow) == 0 {
		return
	}
	p.find(p.odd(report.Finding{Code: report.WidthsPadded, Effect: report.Filled, Dim: d.name(), By: report.Setting{Option: report.Pad, Value: string(plan.PadFill)},
		Args: report.Args{"length": d.length}}, narrow, d.total()))
}

func (p *env) refuseWidths(d *dim, lengths map[int64][]int32, are relation) {
	d.role = spoiled
	most := usual(lengths)
	var odd []int32
	var others []int64
	for _, n := range sorted(lengths) {
		if n != most {
			odd = append(odd, lengths[n]...)
			others = append(others, n)
		}
	}
	f := report.Finding{Code: report.WidthsDiffer, Effect: report.Refused, Dim: d.name(),
		Args: report.Args{"lengths": others, "usual": most, "usual_files": p.span(lengths[most])}}
	pad := report.Do(report.Pad, string(plan.PadFill), report.FillBeyond)
	switch {
	case p.padHelps(are) && d.coord == "":
		f.Remedies = []report.Remedy{pad, concatAlong(d, report.ByName)}
	// A coordinate that only numbers its elements does not place files; dropping it loses nothing.
	case p.padHelps(are) && d.onlyCounts():
		f.Remedies = []report.Remedy{pad, withoutValues(d)}
	case p.padHelps(are):
		f.Remedies = []report.Remedy{pad}
	case are == elsewhere:
		f.Args["values"] = "elsewhere"
		f.Remedies = []report.Remedy{concatAlong(d, report.IfStretches).And(report.Overlap, string(plan.OverlapLast))}
	case are == apart:
		f.Args["values"] = "beyond"
		f.Remedies = []report.Remedy{concatAlong(d, "")}
	default:
		f.Args["values"] = "differ"
		first := report.Do(report.Coords, string(plan.CoordsFirst), report.LongestCounts)
		if p.opts.Pad != plan.PadFill {
			first = first.And(report.Pad, string(plan.PadFill))
		}
		f.Remedies = []report.Remedy{first, concatAlong(d, "")}
	}
	p.find(p.odd(f, odd, d.total()))
}

// inOrderOfNames concatenates files in the order of their names. Files that share no variable are
// placed at the same positions.
func (p *survey) inOrderOfNames(d *dim) {
	d.role, d.inNames = flowing, true
	d.coords = nil
	for _, group := range p.sideBySide(d) {
		at := int64(0)
		var files []int32
		for _, n := range group {
			files = append(files, p.classes[n].files...)
		}
		slices.SortFunc(files, p.env.byName)
		for _, f := range files {
			n := p.classes[p.classOf[f]].dims[d.path].Length
			d.of[f] = int32(len(d.coords))
			d.coords = append(d.coords, &coord{meaning: unknown, course: course{n: n}, files: 1, rep: f, start: at})
			at += n
		}
		d.length = max(d.length, at)
	}
	d.order = slices.Clone(d.coords)
	slices.SortStableFunc(d.order, func(a, b *coord) int { return int(a.start - b.start) })
	all := d.filesWhose(func(*coord) bool { return true })
	if len(all) > 1 {
		p.env.find(p.env.odd(report.Finding{Code: report.OrderByName, Effect: report.Noted, Dim: d.name()}, all, d.total()))
	}
}

func (p *env) byName(a, b int32) int {
	return natural(p.files[a].URL, p.files[b].URL)
}

// sideBySide groups the classes of a dimension: classes that share a variable along it are in one
// group.
func (p *survey) sideBySide(d *dim) [][]int32 {
	sets := newSets(len(d.classes))
	owner := map[string]int{}
	for i, n := range d.classes {
		for _, x := range p.classes[n].vars {
			if !slices.Contains(x.dims, d.path) {
				continue
			}
			if k, ok := owner[x.path]; ok {
				sets.join(i, k)
			} else {
				owner[x.path] = i
			}
		}
	}
	var groups [][]int32
	for _, members := range sets.all() {
		var group []int32
		for _, i := range members {
			group = append(group, d.classes[i])
		}
		groups = append(groups, group)
	}
	return groups
}

// sets is a union-find structure over the numbers 0 to n-1.
type sets []int

func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func (s sets) root(i int) int {
	for s[i] != i {
		s[i] = s[s[i]]
		i = s[i]
	}
	return i
}

func (s sets) join(a, b int) {
	a, b = s.root(a), s.root(b)
	s[max(a, b)] = min(a, b)
}

// all returns the sets, ordered by their smallest members.
func (s sets) all() (all [][]int) {
	at := map[int]int{}
	for i := range s {
		r := s.root(i)
		if _, ok := at[r]; !ok {
			at[r] = len(all)
			all = append(all, nil)
		}
		all[at[r]] = append(all[at[r]], i)
	}
	return all
}

// refuseForeign refuses files that share no variable, no grid and no reference with the largest group
// of files.
func (p *survey) refuseForeign() {
	sets := newSets(len(p.classes))
	owner := map[string]int{}
	for n, c := range p.classes {
		for _, x := range c.vars {
			if k, ok := owner[x.path]; ok {
				sets.join(n, k)
			} else {
				owner[x.path] = n
			}
		}
	}
	p.joinGrids(sets)
	p.joinReferences(sets, owner)
	groups := slices.DeleteFunc(sets.all(), func(g []int) bool { return len(p.classes[g[0]].files) == 0 })
	if len(groups) < 2 {
		return
	}
	main := p.largest(groups)
	var odd, rest []int32
	var theirs []string
	for i, g := range groups {
		for _, n := range g {
			if i == main {
				rest = append(rest, p.classes[n].files...)
				continue
			}
			odd = append(odd, p.classes[n].files...)
			for _, x := range p.classes[n].vars {
				theirs = append(theirs, strings.TrimPrefix(x.path, "/"))
			}
			// Later stages must not report these files again.
			p.forget(p.classes[n])
		}
	}
	slices.Sort(theirs)
	p.env.find(p.env.odd(report.Finding{Code: report.ForeignFile, Effect: report.Refused,
		Args:     report.Args{"others": p.env.span(rest), "variables": slices.Compact(theirs)},
		Remedies: []report.Remedy{report.Do(report.LeaveOut, "", "")}}, odd, int64(len(odd)+len(rest))))
}

// gridDim is a dimension that files of one grid have: its path and its length.
type gridDim struct {
	path   string
	length int64
}

// joinGrids joins each class with the classes that have its longest dimension, with the same length.
// A file that holds only a grid or mesh shares this dimension with the data on that grid. Unlimited
// dimensions do not count: files of the same length may hold different times.
func (p *survey) joinGrids(sets sets) {
	longest := make([]gridDim, len(p.classes))
	having := map[gridDim][2]int{} // the first and the last class that has a dimension
	for n, c := range p.classes {
		used := map[gridDim]bool{}
		for _, x := range c.vars {
			for k, at := range x.dims {
				d := gridDim{at, x.v.Shape[k]}
				if used[d] || c.dims[at].Unlimited || c.unnamed[x.v.Dims[k]] {
					continue
				}
				used[d] = true
				if d.length > longest[n].length || d.length == longest[n].length && d.path < longest[n].path {
					longest[n] = d
				}
				if all, ok := having[d]; ok {
					having[d] = [2]int{all[0], n}
				} else {
					having[d] = [2]int{n, n}
				}
			}
		}
	}
	for n, d := range longest {
		if d.length > 1 {
			sets.join(n, having[d][0])
			sets.join(n, having[d][1])
		}
	}
}

// joinReferences joins classes whose attributes name variables of other classes.
func (p *survey) joinReferences(sets sets, owner map[string]int) {
	renamer := p.env.renamer()
	for n, c := range p.classes {
		if len(c.files) == 0 {
			continue
		}
		name := func(from, names string) {
			for _, word := range strings.Fields(names) {
				at, ok := renamer.path(path.Join(path.Dir(from), strings.TrimSuffix(word, ":")))
				if other, found := owner[at]; ok && found {
					sets.join(n, other)
				}
			}
		}
		for _, x := range c.vars {
			for i := range x.v.Attributes {
				if a := &x.v.Attributes[i]; a.Name == cf.Mesh || slices.Contains(cf.ReferenceAttributes, a.Name) {
					for _, text := range a.Texts {
						name(x.v.Path, text)
					}
				}
			}
		}
		for _, g := range groupsOf(p.env.files[c.files[0]]) {
			if a := manifest.Lookup(g.Attributes, cf.External); a != nil {
				for _, text := range a.Texts {
					name(path.Join(g.Path, cf.External), text)
				}
			}
		}
	}
}

// forget excludes a class from the plan.
func (p *survey) forget(c *class) {
	for _, f := range c.files {
		p.classOf[f] = -1
	}
	c.files, c.vars, c.dims = nil, nil, nil
}

// largest returns the index of the group with most files. If several have as many, the first file
// name decides.
func (p *survey) largest(groups [][]int) int {
	best, bestFiles, bestName := -1, -1, ""
	for i, g := range groups {
		files, name := 0, ""
		for _, n := range g {
			files += len(p.classes[n].files)
			for _, f := range p.classes[n].files {
				if url := p.env.files[f].URL; name == "" || natural(url, name) < 0 {
					name = url
				}
			}
		}
		if files > bestFiles || files == bestFiles && natural(name, bestName) < 0 {
			best, bestFiles, bestName = i, files, name
		}
	}
	return best
}
