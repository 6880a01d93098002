package planner

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/report"
)

// Netcdf-c invents names for unnamed dimensions, and so does varve: within a group, variables with
// equal lengths share one number. These numbers cannot be compared between files, because one more
// variable or another length changes all of them. The axes of variables can be compared: this file
// identifies an unnamed dimension by the variables and axes that have it, also in files that do
// name the dimension.

// slot is an axis of the variables with one path and rank.
type slot struct {
	path       string
	rank, axis int
}

func (a slot) compare(b slot) int {
	return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.rank, b.rank), cmp.Compare(a.axis, b.axis))
}

// called holds the names that files have for one slot.
type called struct {
	in    map[int]string    // the generated path in each class without a name for the axis
	names map[string]string // the names in other classes, each with its new name
	named map[int]string    // the name in each class that has one; only filled if classes disagree
}

// name returns the name of the axis if all files that name it agree, or "".
func (c *called) name() string {
	found := map[string]bool{}
	for _, now := range c.names {
		found[now] = true
	}
	if len(found) != 1 {
		return ""
	}
	return sorted(found)[0]
}

// unnamed is a dimension without a name in some files: the slots that share one dimension in every
// file.
type unnamed struct {
	slots   []slot
	like    *called        // any of the slots; all have equal names
	in      map[int]string // the generated path in each class without a name
	named   map[int]string // the name in each other class, if these classes disagree
	classes []int          // the keys of in, sorted by the name of each class's first file
}

// nameDimensions gives an unnamed dimension the same name in all files. If other files name the axis
// and agree, it takes that name.
func nameDimensions(p *survey) *survey {
	axes := p.callAxes()
	// Most archives name all dimensions.
	if len(axes) == 0 {
		return p
	}
	p = p.clone()
	all := unnamedOf(axes)
	p.sortUnnamed(all)
	name := p.nameUnnamed(axes, all)
	for n, c := range p.classes {
		if c.unnamed != nil {
			p.renameUnnamed(int32(n), name)
		}
	}
	p.noteUnnamed(axes, name)
	return p
}

// callAxes collects the names of all slots of variables that have an unnamed axis in some file.
func (p *survey) callAxes() map[slot]*called {
	type ranked struct {
		path string
		rank int
	}
	wanted := map[ranked]bool{}
	for _, c := range p.classes {
		for x := range c.all() {
			if slices.ContainsFunc(x.v.Dims, func(d string) bool { return c.unnamed[d] }) {
				wanted[ranked{x.path, len(x.dims)}] = true
			}
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	axes := map[slot]*called{}
	each := func(do func(at *called, class int, source, now string, unnamed bool)) {
		for n, c := range p.classes {
			for x := range c.all() {
				if !wanted[ranked{x.path, len(x.dims)}] {
					continue
				}
				for k, d := range x.dims {
					s := slot{x.path, len(x.dims), k}
					if axes[s] == nil {
						axes[s] = &called{in: map[int]string{}, names: map[string]string{}}
					}
					do(axes[s], n, x.v.Dims[k], d, c.unnamed[x.v.Dims[k]])
				}
			}
		}
	}
	each(func(at *called, class int, source, now string, unnamed bool) {
		if unnamed {
			at.in[class] = now
		} else {
			at.names[source] = now
		}
	})
	// The second pass fills named for slots with conflicting names, which are known only now.
	each(func(at *called, class int, source, now string, unnamed bool) {
		if unnamed || len(at.in) == 0 || len(at.names) < 2 {
			return
		}
		if at.named == nil {
			at.named = map[int]string{}
		}
		at.named[class] = source
	})
	return axes
}

// unnamedOf groups slots into dimensions. Slots share a dimension if they share one in each class that
// has both, and if other files have the same names for them. Names are compared before renaming, so
// that a rename option does not change which dimensions exist.
func unnamedOf(axes map[slot]*called) []*unnamed {
	type place struct {
		class int
		name  string
	}
	var all []*unnamed
	at := map[place][]int{} // index into all
	for _, s := range slices.SortedFunc(maps.Keys(axes), slot.compare) {
		c := axes[s]
		if len(c.in) == 0 {
			continue
		}
		into := -1
		for class, name := range c.in {
			for _, i := range at[place{class, name}] {
				// The first candidate wins, so that the result does not depend on the order of a map.
				if (into < 0 || i < into) && all[i].allows(c) {
					into = i
				}
			}
		}
		if into < 0 {
			into = len(all)
			all = append(all, &unnamed{like: c, in: map[int]string{}, named: map[int]string{}})
		}
		u := all[into]
		u.slots = append(u.slots, s)
		maps.Copy(u.named, c.named)
		for class, name := range c.in {
			if _, ok := u.in[class]; !ok {
				u.in[class] = name
				at[place{class, name}] = append(at[place{class, name}], into)
			}
		}
	}
	return all
}

// allows reports whether a slot can belong to the dimension: no class contradicts it.
func (u *unnamed) allows(c *called) bool {
	return maps.Equal(u.like.names, c.names) && agree(u.in, c.in) && agree(u.named, c.named)
}

// agree reports whether two maps have equal values for their common keys.
func agree(a, b map[int]string) bool {
	for class, name := range b {
		if mine, ok := a[class]; ok && mine != name {
			return false
		}
	}
	return true
}

// sortUnnamed sorts dimensions by the name of the first file that has them. Appended files usually
// sort last, so an append does not change existing names.
func (p *survey) sortUnnamed(all []*unnamed) {
	first := make([]string, len(p.classes))
	for i, c := range p.classes {
		first[i] = p.env.files[slices.MinFunc(c.files, p.env.byName)].URL
	}
	for _, u := range all {
		u.classes = slices.SortedFunc(maps.Keys(u.in), func(a, b int) int { return naming.Natural(first[a], first[b]) })
	}
	slices.SortStableFunc(all, func(a, b *unnamed) int { return naming.Natural(first[a.classes[0]], first[b.classes[0]]) })
}

// nameUnnamed chooses a unique name for each unnamed dimension, and returns the names by slot. It
// takes the generated name of the first file, or of the next file if the name is in use. Rename
// options apply to that name. If other files name the axis, their name replaces it.
func (p *survey) nameUnnamed(axes map[slot]*called, all []*unnamed) map[slot]string {
	taken := map[string]bool{}
	p.numbered = map[string]bool{}
	for _, c := range p.classes {
		for x := range c.all() {
			taken[x.path] = true
			for k, d := range x.dims {
				if taken[d] = taken[d] || !c.unnamed[x.v.Dims[k]]; c.unnamed[x.v.Dims[k]] {
					p.numbered[shownNumber(d)] = true
				}
			}
		}
	}
	name := map[slot]string{}
	renamer := p.env.renamer()
	p.conflicting = map[string]bool{}
	guessed := p.guessAll(all)
	for n, u := range all {
		own := u.name(taken, guessed[n].likely())
		taken[own], p.numbered[own] = true, true
		chosen := renamer.Rename(own)
		if theirs := u.like.name(); chosen == own && theirs != "" && !p.crosses(axes, u, theirs) {
			chosen = theirs
		}
		if chosen == own && len(u.like.names) > 0 {
			p.conflicting[own] = true
		}
		if g := guessed[n]; chosen == own && len(u.like.names) == 0 && len(g.like) > 0 {
			g.own = own
			p.guesses = append(p.guesses, g)
		}
		for _, s := range u.slots {
			name[s] = chosen
		}
	}
	p.takeGuesses(name)
	return name
}

// name returns a name that is not taken. If there is a guess which named dimension this is, the name
// includes it.
func (u *unnamed) name(taken map[string]bool, guess string) string {
	if like := likeName(guess); guess != "" && !taken[like] {
		return like
	}
	for _, class := range u.classes {
		if name := shownNumber(u.in[class]); !taken[name] {
			return name
		}
	}
	for n := 2; ; n++ {
		if name := fmt.Sprintf("%s_%d", shownNumber(u.in[u.classes[0]]), n); !taken[name] {
			return name
		}
	}
}

// crosses reports whether using a name for an axis would give a variable the same dimension twice,
// although no file does so. This happens if files name the axes in different orders.
func (p *survey) crosses(axes map[slot]*called, u *unnamed, name string) bool {
	for _, s := range u.slots {
		for k := range s.rank {
			// Only other axes of the same variable can conflict.
			if k == s.axis {
				continue
			}
			has := func(now string) bool { return now == name }
			if other := axes[slot{s.path, s.rank, k}]; slices.ContainsFunc(slices.Collect(maps.Values(other.names)), has) && !p.namesBoth(s, k, name) {
				return true
			}
		}
	}
	return false
}

// namesBoth reports whether a file uses a name for two axes of a variable.
func (p *survey) namesBoth(s slot, other int, name string) bool {
	return slices.ContainsFunc(p.classes, func(c *class) bool {
		i := c.find(s.path)
		if i < 0 || len(c.vars[i].dims) != s.rank {
			return false
		}
		x := &c.vars[i]
		is := func(k int) bool { return x.dims[k] == name && !c.unnamed[x.v.Dims[k]] }
		return is(s.axis) && is(other)
	})
}

// renameUnnamed replaces a class by one with the chosen names. It also includes spare coordinates whose
// dimension is in use under its new name.
func (p *survey) renameUnnamed(n int32, name map[slot]string) {
	c := new(*p.classes[n])
	c.vars, c.spare = slices.Clone(c.vars), slices.Clone(c.spare)
	p.classes[n] = c
	now := map[string]manifest.Dimension{}
	for at, d := range c.dims {
		if !d.Anonymous {
			now[at] = d
		}
	}
	rename := func(x *planVar) {
		x.dims = slices.Clone(x.dims)
		for k := range x.dims {
			if c.unnamed[x.v.Dims[k]] {
				x.dims[k] = name[slot{x.path, len(x.dims), k}]
			}
		}
	}
	long := map[string]map[int64][]string{} // paths of variables, by dimension and length
	for i := range c.vars {
		x := &c.vars[i]
		was := x.dims
		rename(x)
		for k, at := range x.dims {
			d := c.dims[was[k]]
			if _, ok := now[at]; !ok {
				now[at] = manifest.Dimension{Path: at, Length: d.Length, Unlimited: d.Unlimited, Anonymous: true}
			}
			if long[at] == nil {
				long[at] = map[int64][]string{}
			}
			long[at][d.Length] = append(long[at][d.Length], x.path)
		}
	}
	c.dims = now
	for _, at := range sorted(long) {
		if len(long[at]) > 1 {
			p.refuseLengths(n, at, long[at])
		}
	}
	for i := range c.spare {
		x := &c.spare[i]
		rename(x)
		_, used := now[x.path]
		if _, there := c.search(x.path); used && !there && x.dims[0] == x.path && now[x.path].Length == x.v.Shape[0] {
			x.aux = true
			at, _ := c.search(x.path)
			c.vars = slices.Insert(c.vars, at, *x)
			p.includedSpare = true
		}
	}
	// No later stage may include the remaining ones.
	c.spare = nil
	c.findCoords()
}

// refuseLengths refuses files in which the chosen names would give one dimension several lengths.
func (p *survey) refuseLengths(n int32, at string, long map[int64][]string) {
	files := p.classes[n].files
	lengths := sorted(long)
	most := slices.MaxFunc(lengths, func(a, b int64) int { return len(long[a]) - len(long[b]) })
	var odd []string
	var shown []report.AxisLength
	for _, length := range lengths {
		paths := slices.Compact(long[length])
		if length != most {
			odd = append(odd, paths...)
		}
		shown = append(shown, report.AxisLength{Length: length, Arrays: paths})
	}
	var drop report.Remedy
	for i, path := range odd {
		one := report.DropPath(path[1:])
		if i == 0 {
			drop = one
			continue
		}
		drop.With = append(drop.With, one.Setting)
	}
	p.env.find(p.env.odd(report.Finding{Code: report.DimPositionDiffers, Effect: report.Refused, Dim: path.Base(at), Remedies: []report.Remedy{drop},
		Args: report.Args{"lengths": shown}}, files, int64(p.env.namedFiles())))
}

// noteUnnamed reports files without names for axes that other files name.
func (p *survey) noteUnnamed(axes map[slot]*called, name map[slot]string) {
	type array struct {
		path string
		rank int
	}
	lack := map[array]map[int]bool{}
	dimNames := map[array][]string{}
	for _, s := range slices.SortedFunc(maps.Keys(axes), slot.compare) {
		if c := axes[s]; len(c.in) > 0 && len(c.names) > 0 && !p.numbered[name[s]] {
			a := array{s.path, s.rank}
			if lack[a] == nil {
				lack[a] = map[int]bool{}
			}
			for class, in := range c.in {
				like := p.classes[class].like[in]
				lack[a][class] = lack[a][class] || len(like) == 0 || p.env.renamer().Rename(like[0]) != name[s]
			}
			dimNames[a] = append(dimNames[a], path.Base(name[s]))
		}
	}
	inOrder := func(a, b array) int { return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.rank, b.rank)) }
	for _, a := range slices.SortedFunc(maps.Keys(lack), inOrder) {
		var files []int32
		of := 0
		for n, c := range p.classes {
			if i := c.find(a.path); i >= 0 && len(c.vars[i].dims) == a.rank {
				of += len(c.files)
				if lack[a][n] {
					files = append(files, c.files...)
				}
			}
		}
		if len(files) > 0 {
			p.env.find(p.env.odd(report.Finding{Code: report.DimByPosition, Array: a.path, Effect: report.Noted, Args: report.Args{"names": dimNames[a]}}, files, int64(of)))
		}
	}
}
