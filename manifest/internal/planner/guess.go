package planner

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"
)

// An HDF5 file may not say which dimension an axis has. The axis may then have any dimension of its
// group with the same length. The netCDF library takes the first. That is a guess, and another
// file, in which the lengths differ, may show that it is wrong.

// guess holds the named dimensions that an unnamed dimension may be.
type guess struct {
	of   *unnamed
	own  string   // the name of the unnamed dimension if the guess is rejected
	name string   // the guess; empty if no dimension is possible in all files
	sure bool     // no other dimension is possible
	like []string // the first candidate of each file
	may  []string // candidates that are possible in all files
}

// guessAll finds the candidates for each unnamed dimension, from the lengths in all files.
func (p *survey) guessAll(all []*unnamed) []guess {
	out, at := make([]guess, len(all)), map[slot]int{}
	for n, u := range all {
		out[n] = p.guessOf(u)
		for _, s := range u.slots {
			at[s] = n
		}
	}
	// If an axis can have only one dimension, other axes of the variable cannot have it. Each
	// exclusion may allow the next, so this repeats until nothing changes.
	for narrowed := true; narrowed; {
		narrowed = false
		for n := range out {
			g := &out[n]
			was := len(g.may)
			g.may = slices.DeleteFunc(g.may, func(name string) bool { return was > 1 && g.isElsewhere(name, at, out) })
			narrowed = narrowed || len(g.may) < was
		}
	}
	for n := range out {
		g := &out[n]
		switch {
		case len(g.may) == 1:
			g.name, g.sure = g.may[0], true
		case len(g.like) == 1 && slices.Contains(g.may, g.like[0]):
			g.name = g.like[0]
		}
	}
	return out
}

// likely returns the guess, or the first candidate.
func (g *guess) likely() string {
	if g.name == "" && len(g.may) > 0 {
		return g.may[0]
	}
	return g.name
}

// isElsewhere reports whether another axis of the same variable must have the dimension `name`.
func (g *guess) isElsewhere(name string, at map[slot]int, all []guess) bool {
	return slices.ContainsFunc(g.of.slots, func(s slot) bool {
		for k := range s.rank {
			if n, ok := at[slot{s.path, s.rank, k}]; ok && k != s.axis && slices.Equal(all[n].may, []string{name}) {
				return true
			}
		}
		return false
	})
}

// takeGuesses applies the guesses. It rejects a guess that would give a variable the same dimension
// on two axes, because no file has such a variable.
func (p *survey) takeGuesses(name map[slot]string) {
	want, renamer := maps.Clone(name), p.env.renamer()
	for i := range p.guesses {
		g := &p.guesses[i]
		if g.name != "" {
			g.name = renamer.Rename(g.name)
		}
		for _, s := range g.of.slots {
			want[s] = cmp.Or(g.name, g.own)
		}
	}
	for i := range p.guesses {
		g := &p.guesses[i]
		if slices.ContainsFunc(g.of.slots, func(s slot) bool { return isTwice(want, s) }) {
			g.name, g.sure = "", false
		}
		for _, s := range g.of.slots {
			name[s] = cmp.Or(g.name, g.own)
		}
	}
}

// isTwice reports whether another axis of the variable has the same name.
func isTwice(name map[slot]string, s slot) bool {
	for k := range s.rank {
		if k != s.axis && name[slot{s.path, s.rank, k}] == name[s] {
			return true
		}
	}
	return false
}

// guessOf finds the candidates for one dimension: named dimensions with the same length in all
// files.
func (p *survey) guessOf(u *unnamed) guess {
	g := guess{of: u}
	first := map[string]bool{}
	for _, class := range sorted(u.in) {
		like := p.classes[class].like[u.in[class]]
		if len(like) == 0 {
			continue
		}
		if len(first) == 0 {
			g.may = slices.Clone(like)
		}
		first[like[0]] = true
	}
	g.like = sorted(first)
	g.may = slices.DeleteFunc(g.may, func(name string) bool {
		return slices.ContainsFunc(sorted(u.in), func(class int) bool { return p.differs(class, u.in[class], name) })
	})
	return g
}

// differs reports whether a class rules out that its dimension `own` is the dimension `name`.
func (p *survey) differs(class int, own, name string) bool {
	c := p.classes[class]
	if len(c.like[own]) > 0 {
		return !slices.Contains(c.like[own], name)
	}
	_, has := c.dims[p.env.renamer().Rename(name)]
	return has
}

// shownNumber returns the name of an unnamed dimension for users. If there is a candidate, the name
// includes it.
func shownNumber(at string) string {
	group, name := path.Split(at)
	if guess, ok := strings.CutPrefix(name, "#"); ok {
		return likeName(group + strings.TrimRight(guess, "#"))
	}
	return at
}

// likeName returns the name of an unnamed dimension that may be the dimension at a path.
func likeName(at string) string {
	group, name := path.Split(at)
	return group + "like_" + name
}
