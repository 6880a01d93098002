package readers

import "testing"

func TestVariable(t *testing.T) {
	x, y := &Variable{Path: "/x"}, &Variable{Path: "/a/b/x"}
	d := &Dataset{Root: &Group{Path: "/", Variables: []*Variable{{Path: "/y"}, x},
		Groups: []*Group{{Path: "/a", Groups: []*Group{{Path: "/a/b", Variables: []*Variable{y}}}}, {Path: "/c"}}}}
	for path, want := range map[string]*Variable{"/x": x, "x": x, "/a/b/x": y, "a/b/x": y, "/a/x": nil, "/a": nil, "": nil, "//x": nil} {
		if got := d.Variable(path); got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
}
