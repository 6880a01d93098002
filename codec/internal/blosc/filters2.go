package blosc

import (
	"crypto/subtle"

	"varve/codec/internal/shuffle"
)

const maxFilters = 6

// A filter is the number of a filter in a Blosc2 pipeline.
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

// appendSteps appends to steps the steps that undo the filters of a pipeline, the last filter
// first. Truncated precision cannot be undone and is skipped.
func appendSteps(steps []step, filters, meta []byte, typesize int) ([]step, error) {
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
			// Only then is the first block, which delta refers to, the decoded one.
			if !onlyTruncates(filters[:i]) {
				return nil, unsupported("a Blosc2 pipeline with delta after another filter")
			}
		default:
			return nil, unsupported("Blosc2 filter %d, supported are 0 to 4", f)
		}
		steps = append(steps, step{f, size})
	}
	return steps, nil
}

// onlyTruncates reports whether none of the filters changes the bytes in a way that decoding
// must undo.
func onlyTruncates(filters []byte) bool {
	for _, f := range filters {
		if filter(f) != filterNone && filter(f) != filterTruncate {
			return false
		}
	}
	return true
}

// undo undoes a shuffle from src to dst.
func (st step) undo(dst, src []byte) {
	if st.filter == filterShuffle {
		shuffle.Unshuffle(dst, src, st.size)
	} else {
		shuffle.BitUnshuffle(dst, src, st.size)
	}
}

// A pair is two buffers. Each shuffle is undone from one to the other, and the last one must
// write to dst. A delta is undone in place.
type pair struct{ dst, tmp []byte }

// begin returns the buffer to which the streams must be decoded so that the steps end in dst.
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

// other returns the buffer that is not b.
func (p *pair) other(b []byte) []byte {
	if &b[0] == &p.dst[0] {
		return p.tmp
	}
	return p.dst
}

// The delta filter combines elements by exclusive or: in the first block of a chunk each
// element with the previous one, in other blocks each element with the element at the same
// position of the first block.

// undoDeltaFirst undoes the delta filter of a chunk's first block.
func undoDeltaFirst(block []byte, typesize int) {
	size := deltaSize(typesize)
	for i := size; i < len(block)/size*size; i++ {
		block[i] ^= block[i-size]
	}
}

// undoDelta undoes the delta filter of another block, given the decoded first block.
func undoDelta(block, first []byte, typesize int) {
	size := deltaSize(typesize)
	whole := len(block) / size * size
	subtle.XORBytes(block[:whole], block[:whole], first[:whole])
}

// deltaSize returns the element size that the delta filter uses for a typesize.
func deltaSize(typesize int) int {
	switch {
	case typesize == 2 || typesize == 4:
		return typesize
	case typesize%8 == 0:
		return 8
	}
	return 1
}
