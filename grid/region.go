package grid

import (
	"fmt"
	"slices"
	"strings"
)

// Region is a box of elements: Shape[k] elements from Origin[k] on, along each axis k.
// The caller decides whether it has the coordinates of an array, of a chunk, or chunk
// coordinates. A region of rank 0 has one element.
type Region struct {
	Origin []int64
	Shape  []int64
}

// Whole returns the region of a shape, from the origin on. It keeps shape, which the
// caller must not change afterwards.
func Whole(shape []int64) Region {
	return Region{Origin: make([]int64, len(shape)), Shape: shape}
}

// MakeRegion returns a region of zeros with the given rank, to be filled any number of
// times.
func MakeRegion(rank int) Region {
	room := make([]int64, 2*rank)
	return Region{Origin: room[:rank:rank], Shape: room[rank:]}
}

// Rank returns the number of axes.
func (r Region) Rank() int { return len(r.Origin) }

// End returns one past the last index along an axis.
func (r Region) End(axis int) int64 { return r.Origin[axis] + r.Shape[axis] }

// IsEmpty reports whether the region has no element.
func (r Region) IsEmpty() bool {
	return slices.ContainsFunc(r.Shape, func(n int64) bool { return n <= 0 })
}

// Elements returns the number of elements, or an error if it overflows an int64.
func (r Region) Elements() (int64, error) { return Elements(r.Shape) }

// Equal reports whether two regions are the same box.
func (r Region) Equal(s Region) bool {
	return slices.Equal(r.Origin, s.Origin) && slices.Equal(r.Shape, s.Shape)
}

// Clone returns a copy of the region, for example of one that a cursor will overwrite.
func (r Region) Clone() Region {
	c := MakeRegion(r.Rank())
	c.Set(r)
	return c
}

// Set copies s to r, in r's memory. The ranks must be equal.
func (r Region) Set(s Region) {
	copy(r.Origin, s.Origin)
	copy(r.Shape, s.Shape)
}

// Contains reports whether every element of s is in r.
func (r Region) Contains(s Region) bool {
	if r.Rank() != s.Rank() || !r.isBox() || !s.isBox() {
		return false
	}
	for k, o := range s.Origin {
		room := r.Shape[k] - s.Shape[k]
		// The difference of two int64 may overflow an int64, but not a uint64.
		if room < 0 || o < r.Origin[k] || uint64(o-r.Origin[k]) > uint64(room) {
			return false
		}
	}
	return true
}

// isBox reports whether the region has as many lengths as origins.
func (r Region) isBox() bool { return len(r.Origin) == len(r.Shape) }

// Intersect sets r to the intersection of a and b and reports whether it has an element;
// r may be a or b. If the intersection is empty along an axis, its length there is 0.
func (r Region) Intersect(a, b Region) bool {
	hasElements := true
	for k := range r.Origin {
		lo := max(a.Origin[k], b.Origin[k])
		n := max(0, min(a.End(k), b.End(k))-lo)
		r.Origin[k], r.Shape[k] = lo, n
		hasElements = hasElements && n > 0
	}
	return hasElements
}

// Shift subtracts origin from the region's origin: it converts an array's coordinates to
// the coordinates of a chunk that begins at origin.
func (r Region) Shift(origin []int64) {
	for k, o := range origin {
		r.Origin[k] -= o
	}
}

// Next moves an index to the next one of the region in C order and reports whether there
// is one. After the last index it sets the first.
func (r Region) Next(index []int64) bool {
	for k := len(index) - 1; k >= 0; k-- {
		if index[k]++; index[k] < r.End(k) {
			return true
		}
		index[k] = r.Origin[k]
	}
	return false
}

// String returns the region as slices, for example [0:10, 5:25].
func (r Region) String() string {
	if !r.isBox() {
		return fmt.Sprintf("[origin %v, shape %v]", r.Origin, r.Shape)
	}
	var b strings.Builder
	b.WriteByte('[')
	for k, o := range r.Origin {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d:%d", o, o+r.Shape[k])
	}
	b.WriteByte(']')
	return b.String()
}

// Elements returns the product of a shape. It returns an error if a length is negative,
// or if the product of the lengths other than 0 overflows an int64. The product is 0 if
// any length is.
func Elements(shape []int64) (int64, error) {
	n, hasZero := int64(1), false
	for k, length := range shape {
		if length < 0 {
			return 0, fmt.Errorf("axis %d: length %d: must not be negative", k, length)
		}
		if length == 0 {
			hasZero = true
			continue
		}
		var fits bool
		if n, fits = mul(n, length); !fits {
			return 0, fmt.Errorf("shape %v: more than 2^63−1 elements", shape)
		}
	}
	if hasZero {
		return 0, nil
	}
	return n, nil
}

// flat returns the position of an index in the region's C order.
func (r Region) flat(index []int64) int64 { return flatten(r.Shape, index) + r.first() }

// first returns the position of index 0, 0, … in the region's C order. It is negative if
// the region begins after it.
func (r Region) first() int64 { return -flatten(r.Shape, r.Origin) }

// flatten returns the position of an index in the C order of a shape.
func flatten(shape, index []int64) int64 {
	n := int64(0)
	for k, at := range index {
		n = n*shape[k] + at
	}
	return n
}
