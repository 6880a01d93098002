package sperr

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// Modes of missing values in a chunk.
const (
	missingNone = iota
	missingNaN
	missingLarge // missing values are one large number
)

// The NaNs that the filter writes for missing values: nanf("1") and nan("1") of C.
const (
	nan32 = 0x7fc00001
	nan64 = 0x7ff8000000000001
)

// maskHeader is the number of bits before the words of a mask.
const maskHeader = 33

// holes are the missing elements of a chunk. The mask has one bit per element, in words of 32 bits
// with a code of variable length:
//
//	u32   number of bits of the mask, including these 32
//	bit   s, the more frequent bit
//	word  0: 32 times s   1 0: 32 times not s   1 1 and 32 bits: any other word
type holes struct {
	mask []byte // nil if no element is missing
	bits int    // number of bits of the mask
	fill uint64 // bits of the value that missing elements get
	size int    // bytes per element
}

// readHoles reads the missing values at the beginning of a chunk. It returns the start of the stream
// that follows. size is the bytes of an element.
func readHoles(src []byte, size int) (h holes, at int, err error) {
	if len(src) == 0 {
		return h, 0, corrupt.Errorf("sperr: the chunk is empty")
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
		return h, 0, corrupt.Errorf("sperr: truncated at byte %d, in the length of the mask", len(src))
	}
	h.bits = int(binary.LittleEndian.Uint32(src[at:]))
	n := (h.bits + 7) / 8
	if h.bits < maskHeader || n > len(src)-at {
		return h, 0, corrupt.Errorf("sperr: mask of %d bits at byte %d, must be %d to %d",
			h.bits, at, maskHeader, 8*(len(src)-at))
	}
	h.mask = src[at : at+n]
	return h, at + n, nil
}

// punch writes the fill value to the missing elements of dst.
func (h *holes) punch(dst []byte) error {
	if h.mask == nil {
		return nil
	}
	r := reader{src: h.mask}
	r.take(32) // readHoles has read the number of bits
	frequent := -uint32(r.bit())
	for len(dst) > 0 {
		word := frequent
		if r.bit() == 1 {
			word = ^frequent
			if r.bit() == 1 {
				word = uint32(r.take(32))
			}
		}
		if r.position() > h.bits {
			return corrupt.Errorf("sperr: mask of %d bits is too short for the last %d elements", h.bits, len(dst)/h.size)
		}
		dst = h.fillWord(dst, word)
	}
	return nil
}

// fillWord applies a word of the mask to the first 32 elements of dst, and returns the other elements.
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
