package scan

import (
	"slices"
	"testing"

	"varve/codec"
	"varve/readers"
)

// TestSpell checks that invalid names become distinct UTF-8 names.
func TestSpell(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"a", "é"}, []string{"a", "é"}},
		{[]string{"T_\xb0C", "T_\xb1C", "\uFFFD", "\xff"}, []string{"T_\uFFFDC", "T_\uFFFDC\uFFFD", "\uFFFD", "\uFFFD\uFFFD"}},
	} {
		got := slices.Clone(c.names)
		spell(len(got), func(i int) *string { return &got[i] })
		if !slices.Equal(got, c.want) {
			t.Errorf("%q became %q, want %q", c.names, got, c.want)
		}
	}
}

// TestSpelt checks that names of attributes and of compound members become UTF-8, also in nested compounds.
func TestSpelt(t *testing.T) {
	i2 := readers.Int(2, readers.LittleEndian, true)
	inner := &readers.Type{Class: readers.Compound, Size: 2, Members: []readers.Member{{Name: "\xfc", Type: i2}}}
	outer := &readers.Type{Class: readers.Compound, Size: 4, Members: []readers.Member{{Name: "\xe4", Type: i2}, {Name: "b", Offset: 2, Type: inner}}}
	i := codec.Type{Kind: codec.Int, Size: 2}
	want := codec.Type{Kind: codec.Struct, Size: 4, Fields: []codec.Field{
		{Name: "\uFFFD", Type: i}, {Name: "b", Type: codec.Type{Kind: codec.Struct, Size: 2, Fields: []codec.Field{{Name: "\uFFFD", Type: i}}}}}}
	if got, _, err := elementOf(outer); err != nil || !got.Equal(want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	got := attributes([]readers.Attribute{{Name: "\xc4", Value: readers.Value{Type: i2, Data: []byte{1, 0}}}})
	if len(got) != 1 || got[0].Name != "\uFFFD" {
		t.Errorf("attributes are %+v", got)
	}
}

// TestSpellPaths checks that all paths become distinct UTF-8 paths: a variable and its dimension share a
// name, members stay below their group, and paths of problems and links change too.
func TestSpellPaths(t *testing.T) {
	dim := &readers.Dimension{Name: "l\xe4", Path: "/g\xe9/l\xe4"}
	axis := &readers.Dimension{Name: "l\xe4", Path: "/g\xe9/\xe4#l\xe4", Anonymous: true}
	variable := func(name string, dims ...*readers.Dimension) *readers.Variable {
		return &readers.Variable{Name: name, Path: "/g\xe9/" + name, Dims: dims}
	}
	data := &readers.Dataset{
		Root: &readers.Group{Path: "/", Groups: []*readers.Group{
			{Name: "g\xe9", Path: "/g\xe9", Dimensions: []*readers.Dimension{dim},
				Variables: []*readers.Variable{variable("l\xe4", dim), variable("\xe4", axis), variable("\xfc", dim)}},
			{Name: "g\xea", Path: "/g\xea"},
		}},
		Problems: []readers.Problem{{Path: "/g\xea/\xe4"}},
		Links:    []readers.Link{{Path: "/g\xea/link", Target: "/\xe4"}},
	}
	names := spellPaths(data)
	got := []string{data.Problems[0].Path, data.Links[0].Path, data.Links[0].Target, names.path("/g\xe9/\xfc"), names.path("/g\uFFFD")}
	for _, g := range data.Root.Groups {
		got = append(got, g.Path, g.Name)
		for _, v := range g.Variables {
			got = append(got, v.Path, v.Name, v.Dims[0].Path, v.Dims[0].Name)
		}
	}
	want := []string{
		"/g\uFFFD\uFFFD/\uFFFD", "/g\uFFFD\uFFFD/link", "/\xe4", "/g\uFFFD/\uFFFD\uFFFD", "/g\uFFFD",
		"/g\uFFFD", "g\uFFFD",
		"/g\uFFFD/l\uFFFD", "l\uFFFD", "/g\uFFFD/l\uFFFD", "l\uFFFD",
		"/g\uFFFD/\uFFFD", "\uFFFD", "/g\uFFFD/\uFFFD#l\uFFFD", "l\uFFFD",
		"/g\uFFFD/\uFFFD\uFFFD", "\uFFFD\uFFFD", "/g\uFFFD/l\uFFFD", "l\uFFFD",
		"/g\uFFFD\uFFFD", "g\uFFFD\uFFFD",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}
