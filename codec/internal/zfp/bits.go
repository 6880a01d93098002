package zfp

import (
	"encoding/binary"
	"math/bits"
)

// peekBits is the minimum number of bits that peek returns.
const peekBits = 57

// reader reads bits from a stream, the least significant bit of each byte first. Past the end it returns
// zeros, and overrun reports true.
type reader struct {
	src []byte
	at  int64 // index of the next bit
}

// overrun reports whether more bits were read than src holds.
func (r *reader) overrun() bool { return r.at > 8*int64(len(r.src)) }

// peek returns at least peekBits bits of src, from bit at on, with zeros past the end.
func peek(src []byte, at int64) uint64 {
	if i := int(at >> 3); len(src)-i >= 8 {
		return binary.LittleEndian.Uint64(src[i:]) >> (at & 7)
	}
	return peekTail(src, at)
}

// peekTail is peek if fewer than eight bytes are left. It is not inlined, so that peek can be.
//
//go:noinline
func peekTail(src []byte, at int64) uint64 {
	var tail [8]byte
	copy(tail[:], src[min(int(at>>3), len(src)):])
	return binary.LittleEndian.Uint64(tail[:]) >> (at & 7)
}

// take returns the next n bits, 0 <= n <= 64.
func (r *reader) take(n int) uint64 {
	if n > peekBits {
		low := r.take(32)
		return low | r.take(n-32)<<32
	}
	v := peek(r.src, r.at) & (1<<n - 1)
	r.at += int64(n)
	return v
}

// zeros returns the number of zeros before the next one bit, and skips both. After limit zeros it stops: no one
// bit follows them.
func (r *reader) zeros(limit int) int {
	n := 0
	for limit-n > peekBits {
		if z := bits.TrailingZeros64(peek(r.src, r.at)); z < peekBits {
			r.at += int64(z) + 1
			return n + z
		}
		n += peekBits
		r.at += peekBits
	}
	z := bits.TrailingZeros64(peek(r.src, r.at))
	if z >= limit-n {
		r.at += int64(limit - n)
		return limit
	}
	r.at += int64(z) + 1
	return n + z
}
