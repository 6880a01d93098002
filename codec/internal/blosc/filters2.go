package blosc

import (
	"crypto/subtle"

	"varve/codec/internal/shuffle"
)

const maxFilters = 6

// A filter is a number in a Blosc2 pipeline.
type filter uint8

const (
	filterNone filter = iota
	filterShuffle
	filterBitShuffle
	filterDelta
	filterTruncate
)

// A step undoes one filter, for elements of size bytes.
type step struct {
	filter filter
	size   int
}

// undo appends to steps what undoes the filters of a pipeline, the last of them first.
// Truncated precision stays.
func undo(steps []step, filters, meta []byte, typesize int) ([]step, error) {
	for i := maxFilters - 1; i >= 0; i-- {
		f, size := filter(filters[i]), typesize
		switch f {
		case filterNone, filterTruncate:
			continue
		case filterShuffle:
			if meta[i] != 0 {
				size = int(meta[i])
			}
		case filterBitShuffle:
		case filterDelta:
			if !onlyTruncates(filters[:i]) {
				return nil, unsupported("a Blosc2 pipeline with delta after another filter")
			}
		default:
			return nil, unsupported("Blosc2 filter %d, known are 0 to 4", f)
		}
		steps = append(steps, step{f, size})
	}
	return steps, nil
}

func onlyTruncates(filters []byte) bool {
	for _, f := range filters {
		if filter(f) != filterNone && filter(f) != filterTruncate {
			return false
		}
	}
	return true
}

func (st step) undo(dst, src []byte) {
	if st.filter == filterShuffle {
		shuffle.Unshuffle(dst, src, st.size)
	} else {
		shuffle.BitUnshuffle(dst, src, st.size)
	}
}

// A pair is the two buffers between which filters are undone, so chosen that the last one ends
// in dst. A delta is undone in place.
type pair struct{ dst, tmp []byte }

// begin returns the buffer to decode the streams to.
func (p *pair) begin(steps []step, s *scratch) []byte {
	moves := 0
	for _, st := range steps {
		if st.filter != filterDelta {
			moves++
		}
	}
	if moves == 0 {
		return p.dst
	}
	p.tmp = s.block.bytes(len(p.dst))
	if moves%2 == 1 {
		return p.tmp
	}
	return p.dst
}

func (p *pair) other(b []byte) []byte {
	if &b[0] == &p.dst[0] {
		return p.tmp
	}
	return p.dst
}

// The delta filter xors each element of a chunk's first block with the one before it, and those
// of every other block with their like in the first.

func undoDeltaFirst(block []byte, typesize int) {
	size := deltaSize(typesize)
	for i := size; i < len(block)/size*size; i++ {
		block[i] ^= block[i-size]
	}
}

func undoDelta(block, first []byte, typesize int) {
	size := deltaSize(typesize)
	whole := len(block) / size * size
	subtle.XORBytes(block[:whole], block[:whole], first[:whole])
}

func deltaSize(typesize int) int {
	switch {
	case typesize == 2 || typesize == 4:
		return typesize
	case typesize%8 == 0:
		return 8
	}
	return 1
}
