package zfp

import (
	"encoding/binary"
	"math/bits"
)

// peeked is how many bits peek returns at the least.
const peeked = 57

// reader takes bits from a stream, the least significant of each byte first. Past the
// end there are zeros; whoever reads must look at overrun from time to time.
type reader struct {
	src []byte
	at  int64 // bit
}

// overrun reports whether bits were taken from past the end.
func (r *reader) overrun() bool { return r.at > 8*int64(len(r.src)) }

// peek returns the bits from a bit of src on, peeked of them or a few more, with zeros
// past the end.
func peek(src []byte, at int64) uint64 {
	if i := int(at >> 3); len(src)-i >= 8 {
		return binary.LittleEndian.Uint64(src[i:]) >> (at & 7)
	}
	return peekTail(src, at)
}

// peekTail is peek where there are no eight bytes. It is a call, so that peek is not.
//
//go:noinline
func peekTail(src []byte, at int64) uint64 {
	var tail [8]byte
	copy(tail[:], src[min(int(at>>3), len(src)):])
	return binary.LittleEndian.Uint64(tail[:]) >> (at & 7)
}

// take returns the next n bits, 0 <= n <= 64.
func (r *reader) take(n int) uint64 {
	if n > peeked {
		low := r.take(32)
		return low | r.take(n-32)<<32
	}
	v := peek(r.src, r.at) & (1<<n - 1)
	r.at += int64(n)
	return v
}

// zeros takes zeros and the one after them, and returns how many zeros there were. After
// limit zeros it takes nothing more.
func (r *reader) zeros(limit int) int {
	n := 0
	for limit-n > peeked {
		if z := bits.TrailingZeros64(peek(r.src, r.at)); z < peeked {
			r.at += int64(z) + 1
			return n + z
		}
		n += peeked
		r.at += peeked
	}
	z := bits.TrailingZeros64(peek(r.src, r.at))
	if z >= limit-n {
		r.at += int64(limit - n)
		return limit
	}
	r.at += int64(z) + 1
	return n + z
}
