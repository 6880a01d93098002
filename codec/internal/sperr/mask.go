package sperr

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// How a chunk keeps its missing values.
const (
	missingNone = iota
	missingNaN
	missingLarge
)

// The NaNs that the filter puts back, which are C's nanf("1") and nan("1").
const (
	nan32 = 0x7fc00001
	nan64 = 0x7ff8000000000001
)

// maskHeader is how many bits precede the words of a mask.
const maskHeader = 33

// holes are the elements of a chunk that the stream does not hold. Their mask has a bit
// an element, in words of 32 bits, each stored as short as it is frequent:
//
//	u32   bits of all this, these 32 included
//	bit   s
//	word  0: 32 times s   1 0: 32 times not s   1 1 and 32 bits: themselves
type holes struct {
	mask []byte // nil when there are none
	bits int
	fill uint64
	size int
}

// readHoles reads what stands before the stream, and returns where the stream begins.
func readHoles(src []byte, size int) (h holes, at int, err error) {
	if len(src) == 0 {
		return h, 0, corrupt.Errorf("sperr: an empty chunk")
	}
	h.size, at = size, 1
	switch src[0] {
	case missingNone:
		return h, at, nil
	case missingNaN:
		if h.fill = nan64; size == 4 {
			h.fill = nan32
		}
	case missingLarge:
		var fill [8]byte
		at += copy(fill[:size], src[at:])
		h.fill = binary.LittleEndian.Uint64(fill[:])
	default:
		return h, 0, unsupported("missing values of mode %d", src[0])
	}
	if len(src)-at < 4 {
		return h, 0, corrupt.Errorf("sperr: truncated at byte %d of the mask's length", len(src))
	}
	h.bits = int(binary.LittleEndian.Uint32(src[at:]))
	n := (h.bits + 7) / 8
	if h.bits < maskHeader || n > len(src)-at {
		return h, 0, corrupt.Errorf("sperr: a mask of %d bits at byte %d, want %d to %d",
			h.bits, at, maskHeader, 8*(len(src)-at))
	}
	h.mask = src[at : at+n]
	return h, at + n, nil
}

// punch writes the fill value where elements are missing.
func (h *holes) punch(dst []byte) error {
	if h.mask == nil {
		return nil
	}
	r := reader{src: h.mask}
	r.take(32)
	often := -uint32(r.bit())
	for len(dst) > 0 {
		word := often
		if r.bit() == 1 {
			word = ^often
			if r.bit() == 1 {
				word = uint32(r.take(32))
			}
		}
		if r.position() > h.bits {
			return corrupt.Errorf("sperr: a mask of %d bits ends before the last %d bytes", h.bits, len(dst))
		}
		dst = h.fillWord(dst, word)
	}
	return nil
}

// fillWord covers up to 32 elements, and returns the rest.
func (h *holes) fillWord(dst []byte, word uint32) []byte {
	n := min(32*h.size, len(dst))
	if word != 0 {
		var fill [8]byte
		binary.LittleEndian.PutUint64(fill[:], h.fill)
		for i := 0; i < n; i += h.size {
			if word>>(i/h.size)&1 == 1 {
				copy(dst[i:i+h.size], fill[:])
			}
		}
	}
	return dst[n:]
}
