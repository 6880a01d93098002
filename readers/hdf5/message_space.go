package hdf5

import (
	"math"
	"math/bits"
)

// Space says what shape an object's elements have.
type Space uint8

// The kinds of dataspaces.
const (
	Simple Space = iota
	Scalar
	Null
)

// String names the kind.
func (s Space) String() string { return [...]string{"simple", "scalar", "null"}[min(s, Null)] }

// dataspace is IV.A.2.b:
//
//	version 1: version, rank, flags, 5 reserved, lengths, maximums if flag 1
//	version 2: version, rank, flags, kind, lengths, maximums if flag 1
type dataspace struct {
	kind     Space
	shape    []uint64
	maxShape []uint64
}

func readDataspace(c *cursor) dataspace {
	version := c.version("a dataspace", 1, 2)
	rank, flags := c.u8(), c.u8()
	var s dataspace
	if version == 1 {
		c.skip(5)
		if rank == 0 {
			s.kind = Scalar
		}
	} else {
		s.kind = spaceKind(c, c.u8(), rank)
	}
	if rank > maxRank {
		c.fail("rank of a dataspace is %d, not up to %d", rank, maxRank)
		return s
	}
	s.shape = readLengths(c, rank)
	s.maxShape = s.shape
	if flags&1 != 0 {
		s.maxShape = readLengths(c, rank)
	}
	for i, n := range s.shape {
		if n > s.maxShape[i] && c.err == nil {
			c.fail("length %d of dimension %d is more than its maximum, %d", n, i, s.maxShape[i])
		}
	}
	return s
}

func spaceKind(c *cursor, kind, rank int) Space {
	switch {
	case kind == 1:
		return Simple
	case rank > 0:
		c.fail("a dataspace of kind %d has rank %d", kind, rank)
	case kind == 2:
		return Null
	case kind != 0:
		c.fail("kind of a dataspace is %d, not from 0 to 2", kind)
	}
	return Scalar
}

// readLengths reads lengths. All ones are "unlimited" in 8 bytes only: in fewer, libhdf5
// takes them for a number.
func readLengths(c *cursor, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = c.length()
	}
	return out
}

// product multiplies, or returns false if the result is out of range.
func product(shape []uint64) (uint64, bool) {
	n := uint64(1)
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
