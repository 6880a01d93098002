package zstd

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// A backward reads a stream from its last bit to its first. The highest bit that is set in
// the last byte says where it ends, and is not part of it.
//
//	src   |b0 … b7|b8 …   …|… x 1 0 0|
//	       ◂── left bits ──▸
type backward struct {
	src  []byte
	left int // bits; negative once there was less than was asked for
}

func (r *backward) begin(src []byte) error {
	if len(src) == 0 || src[len(src)-1] == 0 {
		return corrupt.Errorf("stream of %d bytes without an end mark", len(src))
	}
	r.src = src
	r.left = 8*len(src) - 9 + bits.Len8(src[len(src)-1])
	return nil
}

// window returns the next bits, 57 at least, the first one highest. Behind the stream's
// first bit come zeros.
func (r *backward) window() uint64 {
	end := (r.left + 7) >> 3
	if end >= 8 {
		return binary.LittleEndian.Uint64(r.src[end-8:end:end]) << (-r.left & 7)
	}
	v := uint64(0)
	for i := range end {
		v |= uint64(r.src[i]) << (8 * (8 - end + i))
	}
	return v << (-r.left & 7)
}

// take reads at most 57 bits as a number. What is missing is read as zeros.
func (r *backward) take(n uint) uint64 {
	if n == 0 {
		return 0
	}
	v := uint64(0)
	if r.left > 0 {
		v = r.window() >> (64 - n)
	}
	r.left -= int(n)
	return v
}
