package sperr

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"varve/codec/internal/corrupt"
)

// streamHeader is the number of bytes of a SPECK stream before its bits: planes:8, number of bits:64.
const streamHeader = 9

// maxPlanes is the maximum number of bits of a coefficient.
const maxPlanes = 64

// stream is a SPECK stream. Its end may be missing, because a bit rate may truncate it.
type stream struct {
	planes  int // number of bit planes
	data    []byte
	bits    int  // number of bits in data
	isWhole bool // data holds all bits of the stream
}

// readStream reads a stream from s, and returns the section after it.
func readStream(s section) (st stream, rest section, err error) {
	if len(s.data) < streamHeader {
		return st, s, corrupt.Errorf("sperr: coefficients of %d bytes at byte %d, must be at least %d", len(s.data), s.at, streamHeader)
	}
	st.planes = int(s.data[0])
	if st.planes > maxPlanes {
		return st, s, corrupt.Errorf("sperr: %d bit planes at byte %d, at most %d are allowed", st.planes, s.at, maxPlanes)
	}
	total := binary.LittleEndian.Uint64(s.data[1:])
	st.data = s.data[streamHeader:]
	if st.isWhole = total <= 8*uint64(len(st.data)); st.isWhole {
		st.bits = int(total)
		st.data = st.data[:(st.bits+7)/8]
	} else {
		st.bits = 8 * len(st.data)
	}
	n := streamHeader + len(st.data)
	return st, section{s.data[n:], s.at + n}, nil
}

// speck decodes integers bit plane by bit plane, the most significant first. A plane has two parts:
//
//  1. Sorting: the integers whose highest bit is in this plane (they become significant), with their
//     signs. They are found by cutting significant sets into halves along each dimension, down to
//     single integers.
//  2. Refinement: one bit of each integer that became significant in an earlier plane.
//
// An integer whose lower bits are missing gets the middle of its possible values.
//
// Specification: Pearlman, Islam, Nagaraj, Said: Efficient, Low-Complexity Image Coding with a
// Set-Partitioning Embedded Block Coder (2004), and SPECK_INT.cpp.
type speck struct {
	in       reader
	values   []uint64 // magnitudes
	negative mask     // integers below zero
	single   mask     // integers that are in no set and not yet significant
	known    mask     // integers that became significant in an earlier plane
	fresh    []uint32 // integers that became significant in this plane
}

// partition is a partition of the integers that are not significant into sets.
type partition interface {
	// sort reads the significance of each set, and cuts significant sets.
	sort()
	// clean removes the sets that were cut.
	clean()
}

// decode fills values with n integers from a stream. sets is the initial partition.
func (s *speck) decode(st stream, n int, sets partition) error {
	s.in = reader{src: st.data}
	words := (n + 63) / 64
	s.values = zeros(s.values, n)
	s.negative = zeros(s.negative, words)
	s.single = zeros(s.single, words)
	s.known = zeros(s.known, words)
	s.fresh = s.fresh[:0]
	if st.planes == 0 {
		return nil
	}
	plane := st.planes - 1
	for ; plane >= 0; plane-- {
		s.sortSingles()
		sets.sort()
		if s.in.position() >= st.bits {
			break
		}
		s.refine(plane, st.bits)
		if s.in.position() >= st.bits {
			break
		}
		sets.clean()
	}
	s.settle(max(plane, 0)) // the stream may end within a plane
	if at := s.in.position(); st.isWhole && at > st.bits {
		return corrupt.Errorf("sperr: the coefficients have %d bits, %d are needed", st.bits, at)
	}
	return nil
}

// sortSingles reads the significance of each integer that is in no set.
func (s *speck) sortSingles() {
	for i, word := range s.single {
		for rest := word; rest != 0; rest &= rest - 1 {
			if s.in.bit() == 1 {
				s.accept(i<<6 + bits.TrailingZeros64(rest))
				word &^= rest & -rest
			}
		}
		s.single[i] = word
	}
}

// sortOne takes integer i out of its set. It reports whether the integer is significant. If certain, it
// is, and the stream has no bit for it.
func (s *speck) sortOne(i int, certain bool) bool {
	if !certain && s.in.bit() == 0 {
		s.single.set(i)
		return false
	}
	s.accept(i)
	return true
}

// accept makes an integer significant and reads its sign.
func (s *speck) accept(i int) {
	if s.in.bit() == 0 {
		s.negative.set(i)
	}
	s.fresh = append(s.fresh, uint32(i))
}

// refine reads one bit of each integer that became significant before this plane, as far as the stream
// of end bits holds them.
func (s *speck) refine(plane, end int) {
	left := end - s.in.position()
	for i, word := range s.known {
		if word == 0 {
			continue
		}
		n := min(bits.OnesCount64(word), left)
		s.adjust(i<<6, word, n, plane)
		if left -= n; left == 0 {
			break
		}
	}
	s.settle(plane)
}

// adjust reads one bit of the first n integers that are marked in word; its lowest bit is the integer at
// base. Each integer is the middle of its possible values, and becomes the middle of the lower or
// upper half: minus half the plane's weight, plus all of the weight if the bit is set.
func (s *speck) adjust(base int, word uint64, n, plane int) {
	values := s.values[base:]
	weight := uint64(1) << plane
	for more := s.in.take(n); n > 0; n-- {
		values[bits.TrailingZeros64(word)] += more&1<<plane - weight/2
		more >>= 1
		word &= word - 1
	}
}

// settle sets the integers that became significant in a plane to the middle of their possible values.
func (s *speck) settle(plane int) {
	weight := uint64(1) << plane
	middle := weight + weight - weight/2 - 1
	for _, i := range s.fresh {
		s.values[i] = middle
		s.known.set(int(i))
	}
	s.fresh = s.fresh[:0]
}

// signed returns v with the sign of integer i. v must not be negative.
func (s *speck) signed(i int, v float64) float64 {
	return math.Float64frombits(math.Float64bits(v) ^ s.negative.bit(i)<<63)
}

// removeEmpty removes empty sets from the lists.
func removeEmpty[S interface{ isEmpty() bool }](lists [][]S) {
	for i, list := range lists {
		lists[i] = slices.DeleteFunc(list, S.isEmpty)
	}
}

// resetLists makes all lists empty and keeps their memory.
func resetLists[S any](lists [][]S) {
	for i := range lists {
		lists[i] = lists[i][:0]
	}
}
