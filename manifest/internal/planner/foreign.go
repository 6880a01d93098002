package planner

import (
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/report"
)

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
// of files, unless the user keeps them.
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
			// Later stages must not report refused files again.
			if !p.env.opts.KeepForeign {
				p.leaveOut(n)
			}
		}
	}
	slices.Sort(theirs)
	f := report.Finding{Code: report.ForeignFile, Effect: report.Refused, Args: report.Args{"others": p.env.span(rest), "variables": slices.Compact(theirs)},
		Remedies: []report.Remedy{report.Do(report.LeaveOut, "", ""), report.Do(report.KeepForeign, "", report.KeepsApart)}}
	if p.env.opts.KeepForeign {
		f.Effect, f.By, f.Remedies = report.Noted, report.Setting{Option: report.KeepForeign}, nil
	}
	p.env.find(p.env.odd(f, odd, int64(len(odd)+len(rest))))
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
	having := map[gridDim][]int{} // the classes that have a dimension
	isLongest := map[gridDim]bool{}
	for n, c := range p.classes {
		used := map[gridDim]bool{}
		longest := gridDim{}
		for _, x := range c.vars {
			for k, at := range x.dims {
				d := gridDim{at, x.v.Shape[k]}
				if used[d] || c.dims[at].Unlimited || c.unnamed[x.v.Dims[k]] {
					continue
				}
				used[d] = true
				if d.length > longest.length || d.length == longest.length && d.path < longest.path {
					longest = d
				}
				having[d] = append(having[d], n)
			}
		}
		isLongest[longest] = true
	}
	for d, classes := range having {
		if d.length > 1 && isLongest[d] {
			for _, n := range classes {
				sets.join(n, classes[0])
			}
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
				at, ok := renamer.Path(path.Join(path.Dir(from), strings.TrimSuffix(word, ":")))
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
		var last *manifest.FileGroups
		for _, f := range c.files {
			// Most files of a class have equal group attributes.
			if p.env.files[f].Groups == last {
				continue
			}
			last = p.env.files[f].Groups
			for _, g := range groupsOf(p.env.files[f]) {
				if a := manifest.Lookup(g.Attributes, cf.External); a != nil {
					for _, text := range a.Texts {
						name(path.Join(g.Path, cf.External), text)
					}
				}
			}
		}
	}
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
				if url := p.env.files[f].URL; name == "" || naming.Natural(url, name) < 0 {
					name = url
				}
			}
		}
		if files > bestFiles || files == bestFiles && naming.Natural(name, bestName) < 0 {
			best, bestFiles, bestName = i, files, name
		}
	}
	return best
}
