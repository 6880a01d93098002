// Package naming compares and renames the paths of variables and dimensions, and the names of files.
package naming

import (
	"path"
	"strings"

	"varve/manifest/plan"
)

// Natural compares names in natural order: digits compare as numbers, so a2 sorts before a10. A
// backslash equals a slash, so that Windows gives the same order.
func Natural(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		m, n := digits(x), digits(y)
		if m > 0 && n > 0 {
			if c := number(x[:m], y[:n]); c != 0 {
				return c
			}
			x, y = x[m:], y[n:]
			continue
		}
		if c := int(slash(x[0])) - int(slash(y[0])); c != 0 {
			return c
		}
		x, y = x[1:], y[1:]
	}
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	return strings.Compare(a, b)
}

func slash(c byte) byte {
	if c == '\\' {
		return '/'
	}
	return c
}

// digits returns the number of digits at the start of a text.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// number compares two decimal numbers of any length.
func number(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// Renamer maps paths in sources to paths in the combined dataset.
type Renamer struct {
	Group   string // ends with a slash
	Renames []plan.Rename
}

// Path returns the path of an array, and false if the source path is outside of the group.
func (r Renamer) Path(at string) (string, bool) {
	rest, ok := strings.CutPrefix(at, r.Group)
	return r.Rename("/" + rest), ok
}

// Dim returns the path of a dimension. Dimensions of parent groups move into the chosen group.
func (r Renamer) Dim(at string) string {
	if moved, ok := r.Path(at); ok {
		return moved
	}
	return r.Outer(at)
}

// Number returns the path of an unnamed dimension, without renaming.
func (r Renamer) Number(at string) string { return Renamer{Group: r.Group}.Dim(at) }

// Outer returns the path of a dimension of a parent of the group.
func (r Renamer) Outer(at string) string { return r.Rename("/" + path.Base(at)) }

// Rename applies the renames to a path within the group.
func (r Renamer) Rename(at string) string {
	for i := range r.Renames {
		o := &r.Renames[i]
		if dir, _ := path.Split(at); !Means(o, at) {
			continue
		} else if !strings.Contains(o.New, "/") {
			return dir + o.New
		}
		return "/" + strings.TrimLeft(o.New, "/")
	}
	return at
}

// Matches reports whether a path or its last element matches any of the patterns.
func Matches(globs []string, at string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, path.Base(at)); ok || g == path.Base(at) {
			return true
		}
		if ok, _ := path.Match("/"+strings.TrimLeft(g, "/"), at); ok {
			return true
		}
	}
	return false
}

// Resolve returns the path of the variable that an attribute of the variable at `from` names: in its
// own group, or in the nearest parent group that has one. It returns "" if there is none.
func Resolve(paths map[string]bool, from, name string) string {
	if strings.HasPrefix(name, "/") {
		if paths[name] {
			return name
		}
		return ""
	}
	for dir := path.Dir(from); ; dir = path.Dir(dir) {
		if at := path.Join(dir, name); paths[at] {
			return at
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}

// Means reports whether a rename applies to a path.
func Means(r *plan.Rename, at string) bool {
	return r.Old == at || r.Old == path.Base(at) || "/"+r.Old == at
}

// Calls reports whether name, as a user writes it, means the dimension at a path.
func Calls(name, at string) bool { return name == at || "/"+name == at || name == path.Base(at) }

// GroupPath returns the new path of a group, and false if it is outside of the chosen group.
func (r Renamer) GroupPath(at string) (string, bool) {
	if strings.TrimSuffix(r.Group, "/") == strings.TrimSuffix(at, "/") {
		return "/", true
	}
	rest, ok := strings.CutPrefix(at, r.Group)
	return "/" + rest, ok
}
