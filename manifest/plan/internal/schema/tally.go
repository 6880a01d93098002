package schema

import (
	"fmt"
	"strings"

	"varve/manifest/report"
)

// tally counts files by what they have.
type tally struct {
	groups   []*group // in the order of their first files
	byKey    map[string]*group
	declared *group // what the schema has, which need not be what most files have; nil if that is not known
}

// group are the files that have the same.
type group struct {
	of          *member // the first
	tell        func(m *member) string
	files       int64
	first, last string
}

// says is what they have, for people; empty for nothing.
func (g *group) says() string { return g.tell(g.of) }

// having is what members are counted by: what they have is compared by key, and told as says.
type having struct {
	key, says func(m *member) string
}

// count returns a tally of the members.
func (d *decision) count(h having) tally {
	if len(d.members) == 1 {
		return tally{groups: []*group{newGroup(&d.members[0], h)}}
	}
	t := tally{byKey: map[string]*group{}}
	for i := range d.members {
		t.add(&d.members[i], h)
	}
	return t
}

// newGroup is the group of a member alone.
func newGroup(m *member, h having) *group {
	return &group{of: m, tell: h.says, files: m.Files, first: m.First, last: m.Last}
}

func (t *tally) add(m *member, h having) {
	key := h.key(m)
	g := t.byKey[key]
	if g == nil {
		g = newGroup(m, h)
		t.byKey[key] = g
		t.groups = append(t.groups, g)
		return
	}
	g.files += m.Files
	g.last = m.Last
}

// main is what is declared, or else what most files have; of several the first.
func (t tally) main() *group {
	if t.declared != nil {
		return t.declared
	}
	most := t.groups[0]
	for _, g := range t.groups {
		if g.files > most.files {
			most = g
		}
	}
	return most
}

// differ reports whether there is anything to say.
func (t tally) differ() bool { return len(t.groups) > 1 }

// odd joins the files that do not have the main one.
func (t tally) odd() (files int64, first, last string) {
	main := t.main()
	for _, g := range t.groups {
		if g == main {
			continue
		}
		if files == 0 {
			first = g.first
		}
		files, last = files+g.files, g.last
	}
	return files, first, last
}

// finding says on what files disagree.
func (d *decision) finding(kind report.Kind, effect report.Effect, name string, t tally) *report.Finding {
	count, first, last := t.odd()
	return d.add(report.Finding{
		Kind: kind, Array: d.opts.Array, Files: span(first, last), Count: count, Of: d.files,
		Says: t.says(name, count, d.files), Effect: effect,
	})
}

// mostValues is how many values a finding lists.
const mostValues = 3

// says puts a disagreement in words, as in "3 of 12,000 files have scale_factor 0.005 instead of
// 0.01".
func (t tally) says(name string, count, of int64) string {
	head := report.Thousands(count) + " of " + plural(of)
	main := t.main()
	if len(t.groups) > 1+mostValues {
		return fmt.Sprintf("%s %s another %s than %s, in %s variants", head, have(count), name, orNothing(main.says()), report.Thousands(int64(len(t.groups)-1)))
	}
	var odd []string
	for _, g := range t.groups {
		if g != main {
			odd = append(odd, g.says())
		}
	}
	switch {
	case len(odd) == 1 && odd[0] == "":
		return fmt.Sprintf("%s %s no %s, the others %s", head, have(count), name, main.says())
	case len(odd) == 1 && main.says() == "":
		return fmt.Sprintf("%s %s %s %s, the others none", head, have(count), name, odd[0])
	case len(odd) == 1:
		return fmt.Sprintf("%s %s %s %s instead of %s", head, have(count), name, odd[0], main.says())
	}
	if main.says() == "" {
		return fmt.Sprintf("%s %s a %s, the others none: %s", head, have(count), name, t.list())
	}
	return fmt.Sprintf("%s %s other %s than %s: %s", head, have(count), name, orNothing(main.says()), t.list())
}

// list tells the odd values with how many files have them.
func (t tally) list() string {
	var parts []string
	for _, g := range t.groups {
		if g != t.main() {
			parts = append(parts, fmt.Sprintf("%s in %s", orNothing(g.says()), report.Thousands(g.files)))
		}
	}
	return strings.Join(parts, ", ")
}

func orNothing(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func have(n int64) string {
	if n == 1 {
		return "has"
	}
	return "have"
}

func plural(n int64) string {
	if n == 1 {
		return "1 file"
	}
	return report.Thousands(n) + " files"
}
