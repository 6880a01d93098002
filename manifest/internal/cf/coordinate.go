package cf

import (
	"path"

	"varve/zarrjson"
)

// Node is an array of a hierarchy.
type Node interface {
	Path() string
	Schema() *zarrjson.Array
}

// Hierarchy returns the array at an absolute path, if there is one.
type Hierarchy[A Node] func(path string) (A, bool)

// IsCoordinate reports whether an array has the name of its only dimension (CF section 2.1).
func IsCoordinate[A Node](a A) bool {
	return len(a.Schema().Shape) == 1 && a.Schema().Dim(0) == path.Base(a.Path())
}

// Nearest returns the array with this name in a's group, or in the nearest group above it.
func (at Hierarchy[A]) Nearest(a A, name string) (found A, ok bool) {
	for group := path.Dir(a.Path()); ; group = path.Dir(group) {
		if found, ok = at(path.Join(group, name)); ok || group == "/" {
			return found, ok
		}
	}
}

// Coordinate returns the coordinate of a dimension of an array. This is the nearest array with the
// dimension's name, if that has only this dimension and the same length. An array with another length
// belongs to another dimension of the same name.
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
