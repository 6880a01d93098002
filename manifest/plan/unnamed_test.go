package plan

import (
	"fmt"
	"slices"
	"strings"
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
		{"most have another number", Options{Concat: []string{"phony_dim_0"}}, func(m *maker) {
			m.unnamedFile("a", line("x", "phony_dim_0", 1, 2))
			m.unnamedFile("b", line("x", "phony_dim_1", 3, 4, 5), line("w", "phony_dim_0", 8, 9))
			m.unnamedFile("c", line("x", "phony_dim_1", 6), line("w", "phony_dim_0", 8, 9))
		}, "[/w[/phony_dim_0_2] [2] /x[/phony_dim_0] [6]]"},
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

// TestKeepingOptions: where values differ that ought to be equal, a way to keep all of them is
// named before those that lose some.
func TestKeepingOptions(t *testing.T) {
	line := func(n float64) wanted { return coords("orbit", "phony_dim_0", float64s, n) }
	for name, c := range map[string]struct {
		make func(m *maker)
		want string
	}{
		"scalars": {func(m *maker) {
			for i, name := range []string{"a", "b"} {
				m.file(name, scalar("member", float64(i)), lat(), cube("t", "lat", []int64{3}, []int64{3}).with("coordinates", "member"))
			}
		}, "--new-dim member=var:member to stack the files by it, --coords first, or --drop member"},
		"a dimension without a name": {func(m *maker) {
			m.unnamedFile("a", line(1))
			m.unnamedFile("b", line(2))
		}, "--concat phony_dim_0 to put them end to end, --coords first, or --drop orbit"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			if _, _, err := New(m.files, &Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
