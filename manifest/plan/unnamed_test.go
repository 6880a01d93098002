package plan

import (
	"fmt"
	"slices"
	"testing"
)

// unnamedFile adds a file of a day, whose dimensions but time have no name.
func (m *maker) unnamedFile(name string, vars ...wanted) {
	f := m.file(name, append(vars, days(len(m.files), 1))...)
	h := *f.Header
	h.Dimensions = slices.Clone(h.Dimensions)
	for i := range h.Dimensions {
		h.Dimensions[i].Anonymous = h.Dimensions[i].Path != "/time"
	}
	h.SetID()
	f.Header = &h
}

// TestUnnamedDimensions: the number that a reader gave a dimension says nothing in another file.
func TestUnnamedDimensions(t *testing.T) {
	line := func(name, dim string, numbers ...float64) wanted { return coords(name, dim, float64s, numbers...) }
	for _, c := range []struct {
		name string
		opts Options
		make func(m *maker)
		want string
	}{
		{"one less", Options{}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2, 3), line("y", "phony_dim_1", 4, 5))
			m.unnamedFile("b", line("x", "phony_dim_0", 1, 2, 3), line("y", "phony_dim_1", 4, 5))
			m.unnamedFile("c", line("y", "phony_dim_0", 4, 5))
		}, "[/x[/phony_dim_0] [3] /y[/phony_dim_1] [2]]"},
		{"as long by chance", Options{Concat: []string{"phony_dim_0"}}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2), line("y", "phony_dim_0", 8, 9))
			m.unnamedFile("b", line("x", "phony_dim_0", 3, 4, 5), line("y", "phony_dim_1", 8, 9))
		}, "[/x[/phony_dim_0] [5] /y[/phony_dim_1] [2]]"},
		{"no name left", Options{}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2), line("y", "phony_dim_1", 8))
			m.unnamedFile("b", line("x", "phony_dim_0", 1, 2), line("z", "phony_dim_1", 7, 7))
		}, "[/x[/phony_dim_0] [2] /y[/phony_dim_1] [1] /z[/phony_dim_1_2] [2]]"},
		{"as long in the only file of both", Options{}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2), line("y", "phony_dim_0", 8, 9))
			m.unnamedFile("b", line("x", "phony_dim_0", 1, 2))
		}, "[/x[/phony_dim_0] [2] /y[/phony_dim_0] [2]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			for range 2 { // files given the other way round make the same
				var got []string
				for _, a := range planned(t, m, &c.opts).Arrays {
					if a.Path != "/time" {
						got = append(got, fmt.Sprint(a.Path, a.Dims, a.Face.Shape))
					}
				}
				if fmt.Sprint(got) != c.want {
					t.Errorf("%v, want %s", got, c.want)
				}
				slices.Reverse(m.files)
			}
		})
	}
}
