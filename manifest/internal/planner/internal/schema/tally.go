package schema

import (
	"maps"
	"slices"

	"varve/manifest/report"
)

// tally groups members by a property, and counts their files.
type tally struct {
	groups   []*group // in the order of their first files
	byKey    map[string]*group
	declared *group // the group with the property of the schema, which may not be the largest; nil if unknown
}

// group holds the members with one value of the property.
type group struct {
	of      *member // the first member
	format  func(m *member) string
	files   int64
	members []int // indices
}

// says returns the value for messages, or "" if the members have none.
func (g *group) says() string { return g.format(g.of) }

// having is the property by which members are grouped: key compares it, and says formats it.
type having struct {
	key, says func(m *member) string
}

// count returns a tally of the members.
func (d *decision) count(h having) tally {
	// The common case needs no map.
	if len(d.members) == 1 {
		return tally{groups: []*group{newGroup(&d.members[0], h)}}
	}
	t := tally{byKey: map[string]*group{}}
	for i := range d.members {
		t.add(&d.members[i], h)
	}
	return t
}

// newGroup returns the group of a single member.
func newGroup(m *member, h having) *group {
	return &group{of: m, format: h.says, files: m.Files, members: []int{m.at}}
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
	g.members = append(g.members, m.at)
}

// main returns the declared group, or else the group with most files. If several have as many, it
// returns the first.
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

// declare says that the schema has the property of a member, which may be nil.
func (t *tally) declare(m *member) {
	for _, g := range t.groups {
		if m != nil && slices.Contains(g.members, m.at) {
			t.declared = g
		}
	}
}

// differ reports whether members differ in the property.
func (t tally) differ() bool { return len(t.groups) > 1 }

// odd returns the number of files that do not have the main value, their members and some of their values.
func (t tally) odd() (files int64, members []int, variants []report.Variant) {
	main := t.main()
	for _, g := range t.groups {
		if g == main {
			continue
		}
		files, members = files+g.files, append(members, g.members...)
		if len(variants) < mostVariants {
			variants = append(variants, report.Variant{Value: g.says(), Files: g.files})
		}
	}
	return files, members, variants
}

// mostVariants is the number of values that a finding lists. If there are more, it says how many. Each file may have a
// value of its own for each variable.
const mostVariants = 1000

// finding adds a finding about a value on which files disagree. Its arguments are the main value, the
// values of the other files, and args.
func (d *decision) finding(code report.Code, effect report.Effect, t tally, args report.Args) *report.Finding {
	count, members, variants := t.odd()
	all := report.Args{"main": t.main().says(), "odd": variants}
	if n := len(t.groups) - 1; n > mostVariants {
		all["variants"] = int64(n)
	}
	maps.Copy(all, args)
	return d.add(report.Finding{Code: code, Effect: effect, Files: d.filesOf(members), Count: count, Args: all})
}
