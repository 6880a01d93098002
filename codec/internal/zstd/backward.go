package zstd

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// A backward reads a stream from its last bit to its first. The highest set bit of the last byte is the end mark, and
// not part of the stream.
//
//	src   |b0 … b7|b8 …   …|… x 1 0 0|
//	       ◂── left bits ──▸
type backward struct {
	src  []byte
	left int // number of bits that are not yet read; negative after reading past the beginning
}

// begin starts reading src.
func (r *backward) begin(src []byte) error {
	if len(src) == 0 || src[len(src)-1] == 0 {
		return corrupt.Errorf("stream of %d bytes has no end mark in its last byte", len(src))
	}
	r.src = src
	r.left = 8*len(src) - 9 + bits.Len8(src[len(src)-1])
	return nil
}

// window returns at least the next 57 bits, the first one highest. After the stream's first bit come zeros.
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

// take returns the next n bits, n <= 57. Missing bits are zeros.
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
