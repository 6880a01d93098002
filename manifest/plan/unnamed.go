package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"varve/manifest"
)

// Dimensions that a file has no name for are numbered by its reader, as netcdf-c does: within a
// group, variables of one length have one. The numbers say nothing of another file, in which
// another length or one variable less has them all counted otherwise. What files have in common
// are the axes of their variables: so that is what such dimensions are told by.

// slot is an axis of a variable, of a dimension that some files have no name for.
type slot struct {
	path string
	axis int
}

// unnamed is a dimension without a name: axes that have one dimension in every file.
type unnamed struct {
	slots   []slot
	in      map[int]string // what it is called in each class of files
	classes []int          // in the order of the names of their first files
}

// matchUnnamed gives dimensions without a name the same one in all files.
func (p *survey) matchUnnamed() {
	if len(p.classes) < 2 {
		return
	}
	known := map[slot]map[int]string{}
	for i, c := range p.classes {
		for _, x := range c.vars {
			for k, d := range x.dims {
				if !c.dims[d].Anonymous {
					continue
				}
				s := slot{x.path, k}
				if known[s] == nil {
					known[s] = map[int]string{}
				}
				known[s][i] = d
			}
		}
	}
	if len(known) == 0 {
		return
	}
	p.renameUnnamed(unnamedOf(known))
}

// unnamedOf puts axes together that are of one dimension in each class that has both.
func unnamedOf(known map[slot]map[int]string) []*unnamed {
	order := slices.SortedFunc(maps.Keys(known), func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.axis, b.axis))
	})
	type place struct {
		class int
		name  string
	}
	var all []*unnamed
	at := map[place][]int{} // of all
	for _, s := range order {
		into := -1
		for class, name := range known[s] {
			for _, i := range at[place{class, name}] {
				if (into < 0 || i < into) && all[i].allows(known[s]) {
					into = i
				}
			}
		}
		if into < 0 {
			into = len(all)
			all = append(all, &unnamed{in: map[int]string{}})
		}
		u := all[into]
		u.slots = append(u.slots, s)
		for class, name := range known[s] {
			if _, ok := u.in[class]; !ok {
				u.in[class] = name
				at[place{class, name}] = append(at[place{class, name}], into)
			}
		}
	}
	return all
}

// allows reports whether an axis is of the dimension in each class that has both.
func (u *unnamed) allows(names map[int]string) bool {
	for class, name := range names {
		if mine, ok := u.in[class]; ok && mine != name {
			return false
		}
	}
	return true
}

// renameUnnamed gives each dimension the name that it has in the first of its files, in the order
// of their names, or in the next if something else has that: files that are appended seldom come
// before the others, and then change no names.
func (p *survey) renameUnnamed(all []*unnamed) {
	taken := map[string]bool{}
	first := make([]string, len(p.classes))
	for i, c := range p.classes {
		for _, x := range c.vars {
			taken[x.path] = true
		}
		for path, d := range c.dims {
			taken[path] = taken[path] || !d.Anonymous
		}
		first[i] = p.files[c.files[0]].URL
		for _, f := range c.files {
			if url := p.files[f].URL; natural(url, first[i]) < 0 {
				first[i] = url
			}
		}
	}
	for _, u := range all {
		u.classes = slices.SortedFunc(maps.Keys(u.in), func(a, b int) int { return natural(first[a], first[b]) })
	}
	slices.SortStableFunc(all, func(a, b *unnamed) int { return natural(first[a.classes[0]], first[b.classes[0]]) })
	name := map[slot]string{}
	for _, u := range all {
		chosen := u.name(taken)
		taken[chosen] = true
		for _, s := range u.slots {
			name[s] = chosen
		}
	}
	for _, c := range p.classes {
		c.renameUnnamed(name)
	}
}

// name chooses a name that is not taken.
func (u *unnamed) name(taken map[string]bool) string {
	for _, class := range u.classes {
		if name := u.in[class]; !taken[name] {
			return name
		}
	}
	for n := 2; ; n++ {
		if name := fmt.Sprintf("%s_%d", u.in[u.classes[0]], n); !taken[name] {
			return name
		}
	}
}

// renameUnnamed gives axes the names that were found, and the class the dimensions of these.
func (c *class) renameUnnamed(name map[slot]string) {
	now := map[string]manifest.Dimension{}
	for path, d := range c.dims {
		if !d.Anonymous {
			now[path] = d
		}
	}
	for i := range c.vars {
		x := &c.vars[i]
		x.dims = slices.Clone(x.dims)
		for k, old := range x.dims {
			d := c.dims[old]
			if !d.Anonymous {
				continue
			}
			d.Path = name[slot{x.path, k}]
			x.dims[k], now[d.Path] = d.Path, d
		}
	}
	c.dims = now
}
