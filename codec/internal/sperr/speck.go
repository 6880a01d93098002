package sperr

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"varve/codec/internal/corrupt"
)

// streamHeader is how many bytes of a SPECK stream precede its bits.
const streamHeader = 9

// maxPlanes is how many bits a coefficient may have.
const maxPlanes = 64

// stream is a SPECK stream, of which the end may be missing.
type stream struct {
	planes int
	data   []byte
	bits   int // that data holds
	whole  bool
}

// readStream reads a stream from s, and returns what follows it.
func readStream(s section) (st stream, rest section, err error) {
	if len(s.data) < streamHeader {
		return st, s, corrupt.Errorf("sperr: %d bytes of coefficients at byte %d, want at least %d", len(s.data), s.at, streamHeader)
	}
	st.planes = int(s.data[0])
	if st.planes > maxPlanes {
		return st, s, corrupt.Errorf("sperr: %d bit planes at byte %d, want at most %d", st.planes, s.at, maxPlanes)
	}
	total := binary.LittleEndian.Uint64(s.data[1:])
	st.data = s.data[streamHeader:]
	if st.whole = total <= 8*uint64(len(st.data)); st.whole {
		st.bits = int(total)
		st.data = st.data[:(st.bits+7)/8]
	} else {
		st.bits = 8 * len(st.data)
	}
	n := streamHeader + len(st.data)
	return st, section{s.data[n:], s.at + n}, nil
}

// speck decodes integers plane by plane, the most significant first. Each plane says
// which integers have their first bit there, by sets that are halved along each
// dimension until only one integer is left; and then one more bit of those that had
// theirs in an earlier plane. An integer of which bits are missing lies in the middle
// of what it may be.
//
// It is described in Pearlman, Islam, Nagaraj, Said: Efficient, Low-Complexity Image
// Coding with a Set-Partitioning Embedded Block Coder (2004), and in SPECK_INT.cpp.
type speck struct {
	in       reader
	values   []uint64 // magnitudes
	negative mask
	single   mask     // no longer in a set, and not significant yet
	known    mask     // significant since an earlier plane
	fresh    []uint32 // significant since this plane
}

// partition is the sets of integers of which none is significant.
type partition interface {
	// sort reads which sets are significant, and cuts those.
	sort()
	// clean removes the sets that were cut.
	clean()
}

// decode fills values with n integers, which sets has in sets to begin with.
func (s *speck) decode(st stream, n int, sets partition) error {
	s.in = reader{src: st.data}
	words := (n + 63) / 64
	s.values = cleared(s.values, n)
	s.negative = cleared(s.negative, words)
	s.single = cleared(s.single, words)
	s.known = cleared(s.known, words)
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
	s.settle(max(plane, 0))
	if at := s.in.position(); st.whole && at > st.bits {
		return corrupt.Errorf("sperr: %d bits of coefficients, need %d", st.bits, at)
	}
	return nil
}

// sortSingles reads which of the integers without a set are significant.
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

// sortOne takes integer i out of its set, and reports whether it is significant.
func (s *speck) sortOne(i int, certain bool) bool {
	if !certain && s.in.bit() == 0 {
		s.single.set(i)
		return false
	}
	s.accept(i)
	return true
}

// accept reads the sign of an integer, now significant.
func (s *speck) accept(i int) {
	if s.in.bit() == 0 {
		s.negative.set(i)
	}
	s.fresh = append(s.fresh, uint32(i))
}

// refine reads a bit of each integer that was significant before this plane, up to
// bit end of the stream.
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

// adjust reads a bit of the first n integers that word marks from the one at base on,
// each of which lies in the middle so far: half the plane's weight goes off, and all
// of it on again when the bit is set.
func (s *speck) adjust(base int, word uint64, n, plane int) {
	values := s.values[base:]
	weight := uint64(1) << plane
	for more := s.in.take(n); n > 0; n-- {
		values[bits.TrailingZeros64(word)] += more&1<<plane - weight/2
		more >>= 1
		word &= word - 1
	}
}

// settle gives the integers that became significant in a plane their first value.
func (s *speck) settle(plane int) {
	weight := uint64(1) << plane
	middle := weight + weight - weight/2 - 1
	for _, i := range s.fresh {
		s.values[i] = middle
		s.known.set(int(i))
	}
	s.fresh = s.fresh[:0]
}

// signed gives v, which is not negative, the sign of integer i.
func (s *speck) signed(i int, v float64) float64 {
	return math.Float64frombits(math.Float64bits(v) ^ s.negative.bit(i)<<63)
}

// swept removes sets that are empty.
func swept[S interface{ empty() bool }](lists [][]S) {
	for i, list := range lists {
		lists[i] = slices.DeleteFunc(list, S.empty)
	}
}

// emptied makes lists empty, and keeps their memory.
func emptied[S any](lists [][]S) {
	for i := range lists {
		lists[i] = lists[i][:0]
	}
}
