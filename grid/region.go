package grid

import (
	"fmt"
	"slices"
	"strings"
)

// Region is a box of elements: Shape[k] of them from Origin[k] on, along each axis k.
// Which coordinates it is in (an array's, a chunk's, chunk numbers) is the caller's
// business. A region of rank 0 holds one element.
type Region struct {
	Origin []int64
	Shape  []int64
}

// Whole is the region of shape from the origin on. It keeps shape, which must not
// change afterwards.
func Whole(shape []int64) Region {
	return Region{Origin: make([]int64, len(shape)), Shape: shape}
}

// MakeRegion returns a region of a rank with a place for each number, so that it can
// be filled again and again.
func MakeRegion(rank int) Region {
	room := make([]int64, 2*rank)
	return Region{Origin: room[:rank:rank], Shape: room[rank:]}
}

// Rank is the number of axes.
func (r Region) Rank() int { return len(r.Origin) }

// End is one past the last index along an axis.
func (r Region) End(axis int) int64 { return r.Origin[axis] + r.Shape[axis] }

// IsEmpty reports whether the region holds no element.
func (r Region) IsEmpty() bool {
	return slices.ContainsFunc(r.Shape, func(n int64) bool { return n <= 0 })
}

// Elements is how many elements the region holds, or an error if an int64 cannot say.
func (r Region) Elements() (int64, error) { return Elements(r.Shape) }

// Equal reports whether two regions are the same box.
func (r Region) Equal(s Region) bool {
	return slices.Equal(r.Origin, s.Origin) && slices.Equal(r.Shape, s.Shape)
}

// Clone copies the region, which a cursor may be about to overwrite.
func (r Region) Clone() Region {
	c := MakeRegion(r.Rank())
	c.Set(r)
	return c
}

// Set makes r the same box as s, in the memory r has. The ranks must be equal.
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
		// What lies between two origins may be more than an int64 holds, not a uint64.
		if room < 0 || o < r.Origin[k] || uint64(o-r.Origin[k]) > uint64(room) {
			return false
		}
	}
	return true
}

// isBox reports whether the region has as many lengths as origins.
func (r Region) isBox() bool { return len(r.Origin) == len(r.Shape) }

// Intersect makes r the box that a and b share and reports whether there is any; r
// may be a or b. Where they share nothing its shape along that axis is zero.
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

// Shift moves the region by the negative of origin: from an array's coordinates to
// those of a chunk that begins there.
func (r Region) Shift(origin []int64) {
	for k, o := range origin {
		r.Origin[k] -= o
	}
}

// Next moves an index of the region to the one behind it in C order, and reports whether
// there is one. Behind the last comes the first.
func (r Region) Next(index []int64) bool {
	for k := len(index) - 1; k >= 0; k-- {
		if index[k]++; index[k] < r.End(k) {
			return true
		}
		index[k] = r.Origin[k]
	}
	return false
}

// String writes the region as slices, as in [0:10, 5:25].
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

// Elements is the product of a shape, or an error if it is negative somewhere or an
// int64 cannot hold the product of its other axes. A zero anywhere makes it zero.
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

// flat is the place of an index in the region's C order.
func (r Region) flat(index []int64) int64 { return flatten(r.Shape, index) + r.first() }

// first is the place that the index of zeros has in the region's C order. It is
// negative if the region begins past it.
func (r Region) first() int64 { return -flatten(r.Shape, r.Origin) }

// flatten is the place of an index in the C order of a shape.
func flatten(shape, index []int64) int64 {
	n := int64(0)
	for k, at := range index {
		n = n*shape[k] + at
	}
	return n
}
