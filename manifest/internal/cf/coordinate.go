package cf

import (
	"path"

	"varve/zarrjson"
)

// Placed is an array of a hierarchy.
type Placed interface {
	Path() string
	Schema() *zarrjson.Array
}

// Hierarchy returns the array at a path that begins with a slash, if there is one.
type Hierarchy[A Placed] func(path string) (A, bool)

// IsCoordinate reports whether an array is named as its only dimension (section 2.1).
func IsCoordinate[A Placed](a A) bool {
	return len(a.Schema().Shape) == 1 && a.Schema().Dim(0) == path.Base(a.Path())
}

// Nearest finds an array by its name in the group of another, or in one above it.
func (at Hierarchy[A]) Nearest(a A, name string) (found A, ok bool) {
	for group := path.Dir(a.Path()); ; group = path.Dir(group) {
		if found, ok = at(path.Join(group, name)); ok || group == "/" {
			return found, ok
		}
	}
}

// Coordinate finds the coordinate of a dimension of an array: the nearest array of its name, if
// that lies along this dimension and no other, and is as long. One that is further away belongs
// to another dimension of the name.
func (at Hierarchy[A]) Coordinate(a A, dim string) (A, bool) {
	var none A
	c, ok := at.Nearest(a, dim)
	if !ok || !IsCoordinate(c) {
		return none, false
	}
	for axis, n := range a.Schema().Shape {
		if a.Schema().Dim(axis) == dim && n != c.Schema().Shape[0] {
			return none, false
		}
	}
	return c, true
}
