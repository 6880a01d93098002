package scan

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/codec"
	"varve/readers"
)

// spell replaces invalid UTF-8 in the n names of a group, because JSON must be UTF-8. The names stay distinct.
func spell(n int, name func(i int) *string) {
	var taken map[string]bool
	for i := range n {
		if utf8.ValidString(*name(i)) {
			continue
		}
		if taken == nil {
			taken = make(map[string]bool, n)
			for k := range n {
				taken[*name(k)] = true
			}
		}
		text := strings.ToValidUTF8(*name(i), "\uFFFD")
		for taken[text] {
			text += "\uFFFD"
		}
		taken[text] = true
		*name(i) = text
	}
}

// spelt returns a type whose field names are valid UTF-8.
func spelt(t codec.Type) codec.Type {
	if t.Kind != codec.Struct {
		return t
	}
	t.Fields = slices.Clone(t.Fields)
	for i := range t.Fields {
		t.Fields[i].Type = spelt(t.Fields[i].Type)
	}
	spell(len(t.Fields), func(i int) *string { return &t.Fields[i].Name })
	return t
}

// spelling maps a path in the source to the UTF-8 form of its last element, if that differs. Zarr paths must be
// UTF-8.
type spelling map[string]string

// spellPaths gives all objects of a dataset UTF-8 paths.
func spellPaths(data *readers.Dataset) spelling {
	s := spelling{}
	data.Root.Walk(func(g *readers.Group) bool {
		s.add(g)
		return true
	})
	data.Root.Walk(func(g *readers.Group) bool {
		s.put(&g.Path, &g.Name)
		for _, d := range g.Dimensions {
			s.put(&d.Path, &d.Name)
		}
		for _, v := range g.Variables {
			s.put(&v.Path, &v.Name)
			for _, d := range v.Dims {
				s.put(&d.Path, &d.Name)
			}
		}
		return true
	})
	for i := range data.Problems {
		data.Problems[i].Path = s.path(data.Problems[i].Path)
	}
	for i := range data.Links {
		data.Links[i].Path = s.path(data.Links[i].Path)
	}
	return s
}

// add adds the names of a group's members. A variable and its dimension share one name.
func (s spelling) add(g *readers.Group) {
	if isSpelt(g) {
		return
	}
	at := map[string]string{} // by name
	for _, d := range g.Dimensions {
		at[d.Name] = d.Path
	}
	for _, v := range g.Variables {
		at[v.Name] = v.Path
	}
	for _, child := range g.Groups {
		at[child.Name] = child.Path
	}
	was := slices.Sorted(maps.Keys(at))
	names := slices.Clone(was)
	spell(len(names), func(i int) *string { return &names[i] })
	for i, name := range names {
		if name != was[i] {
			s[at[was[i]]] = name
		}
	}
}

// isSpelt reports whether all names in a group are UTF-8.
func isSpelt(g *readers.Group) bool {
	return !slices.ContainsFunc(g.Dimensions, func(d *readers.Dimension) bool { return !utf8.ValidString(d.Name) }) &&
		!slices.ContainsFunc(g.Variables, func(v *readers.Variable) bool { return !utf8.ValidString(v.Name) }) &&
		!slices.ContainsFunc(g.Groups, func(g *readers.Group) bool { return !utf8.ValidString(g.Name) })
}

// put replaces a path, and the name at its end, by their UTF-8 forms.
func (s spelling) put(path, name *string) {
	if utf8.ValidString(*path) {
		return
	}
	spelt, ok := s[*path]
	if !ok {
		spelt = strings.ToValidUTF8(*name, "\uFFFD")
	}
	*path, *name = s.path(*path), spelt
}

// path returns the UTF-8 form of a path. It returns a path that is UTF-8 unchanged.
func (s spelling) path(at string) string {
	if utf8.ValidString(at) {
		return at
	}
	elements := strings.Split(at, "/")
	end := -1
	for i, e := range elements {
		end += 1 + len(e)
		elements[i] = s.element(at[:end], e)
	}
	return strings.Join(elements, "/")
}

// element returns the UTF-8 form of a path's last element. An axis without a dimension in the file is named
// after its variable: a "#" and a name follow.
func (s spelling) element(at, name string) string {
	if spelt, ok := s[at]; ok {
		return spelt
	}
	valid := func(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
	if of, axis, ok := strings.Cut(name, "#"); ok {
		if spelt, ok := s[at[:len(at)-len(name)+len(of)]]; ok {
			return spelt + "#" + valid(axis)
		}
	}
	return valid(name)
}
