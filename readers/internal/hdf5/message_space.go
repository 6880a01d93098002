package hdf5

import (
	"math"
	"math/bits"
)

// Space is the kind of a dataspace.
type Space uint8

// The kinds of dataspaces.
const (
	Simple Space = iota
	Scalar
	Null
)

// String returns the name of the kind.
func (s Space) String() string { return [...]string{"simple", "scalar", "null"}[min(s, Null)] }

// dataspace is a decoded dataspace message (IV.A.2.b):
//
//	version 1: version, rank, flags, reserved (5)
//	version 2: version, rank, flags, kind (0 scalar, 1 simple, 2 null)
//	both:      lengths (size of lengths each), maximum lengths if flag 1 is set
//
// For example, 02 02 01 01, then 10, 20, unlimited, 20 (8 bytes each) is a simple dataspace of
// shape 10 × 20 whose first dimension is unlimited.
type dataspace struct {
	kind     Space
	shape    []uint64
	maxShape []uint64
}

func readDataspace(c *cursor) dataspace {
	version := c.version("dataspace", 1, 2)
	rank, flags := c.u8(), c.u8()
	var s dataspace
	if version == 1 {
		c.skip(5)
		// Version 1 has no field for the kind.
		if rank == 0 {
			s.kind = Scalar
		}
	} else {
		s.kind = spaceKind(c, c.u8(), rank)
	}
	if rank > maxRank {
		c.fail("dataspace: rank is %d (limit %d)", rank, maxRank)
		return s
	}
	s.shape = readLengths(c, rank)
	s.maxShape = s.shape
	if flags&1 != 0 {
		s.maxShape = readLengths(c, rank)
	}
	for i, n := range s.shape {
		if n > s.maxShape[i] && c.err == nil {
			c.fail("dataspace: length %d of dimension %d exceeds its maximum %d", n, i, s.maxShape[i])
		}
	}
	return s
}

func spaceKind(c *cursor, kind, rank int) Space {
	switch {
	case kind == 1:
		return Simple
	case rank > 0:
		c.fail("dataspace: kind %d with rank %d", kind, rank)
	case kind == 2:
		return Null
	case kind != 0:
		c.fail("dataspace: kind is %d (want 0 to 2)", kind)
	}
	return Scalar
}

// readLengths reads n lengths. All ones mean "unlimited" only in 8 bytes; in fewer, libhdf5 reads
// them as a number.
func readLengths(c *cursor, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = c.length()
	}
	return out
}

// product returns the product of the lengths, or false if it exceeds 2^63-1.
func product(shape []uint64) (uint64, bool) {
	n := uint64(1)
	// Look for zeros first: they make the product 0 even if other lengths overflow.
	for _, s := range shape {
		if s == 0 {
			return 0, true
		}
	}
	for _, s := range shape {
		hi, lo := bits.Mul64(n, s)
		if hi != 0 || lo > math.MaxInt64 {
			return 0, false
		}
		n = lo
	}
	return n, true
}
