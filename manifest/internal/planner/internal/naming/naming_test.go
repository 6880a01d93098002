package naming

import (
	"slices"
	"testing"

	"varve/manifest/plan"
)

// TestNatural: digits compare as numbers, and a backslash equals a slash.
func TestNatural(t *testing.T) {
	want := []string{"a", "a2", "a02x", "a10", "dir/1", `dir\2`, "dir/10"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Natural)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if Natural("a1", "a01") == 0 {
		t.Error("different names are equal")
	}
}

// TestRenamer: paths lose the group, and get their new names.
func TestRenamer(t *testing.T) {
	r := Renamer{Group: "/g/", Renames: []plan.Rename{{Old: "lat", New: "y"}, {Old: "h/t", New: "/t"}}}
	for at, want := range map[string]string{"/g/lat": "/y", "/g/h/lat": "/h/y", "/g/h/t": "/t", "/g/x": "/x"} {
		if got, ok := r.Path(at); !ok || got != want {
			t.Errorf("%s becomes %s, %v, want %s", at, got, ok, want)
		}
	}
	if _, ok := r.Path("/other/lat"); ok {
		t.Error("a path of another group has a path within the group")
	}
	if got := r.Dim("/lat"); got != "/y" {
		t.Errorf("a dimension of a parent group becomes %s, want /y", got)
	}
	for at, want := range map[string]string{"/g": "/", "/g/h": "/h"} {
		if got, ok := r.GroupPath(at); !ok || got != want {
			t.Errorf("the group %s becomes %s, %v, want %s", at, got, ok, want)
		}
	}
}

// TestResolve: a name means the variable of the nearest group.
func TestResolve(t *testing.T) {
	paths := map[string]bool{"/lat": true, "/g/lat": true, "/g/h/x": true}
	for _, c := range []struct{ from, name, want string }{
		{"/g/h/t", "lat", "/g/lat"}, {"/t", "lat", "/lat"}, {"/g/h/t", "/lat", "/lat"}, {"/g/t", "x", ""}, {"/g/h/t", "x", "/g/h/x"}, {"/t", "/none", ""},
	} {
		if got := Resolve(paths, c.from, c.name); got != c.want {
			t.Errorf("%s in %s is %q, want %q", c.name, c.from, got, c.want)
		}
	}
}

// TestMatches: a pattern matches a whole path, or its last element.
func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, at string
		want        bool
	}{{"t*", "/g/t2m", true}, {"g/t*", "/g/t2m", true}, {"t*", "/g/x", false}, {"[", "/g/[", true}, {"g", "/g/x", false}} {
		if got := Matches([]string{c.pattern}, c.at); got != c.want {
			t.Errorf("%s matches %s: %v, want %v", c.pattern, c.at, got, c.want)
		}
	}
}
