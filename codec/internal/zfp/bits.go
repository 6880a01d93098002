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

// peek returns the next bits without taking them: peeked of them or a few more, with
// zeros above.
func (r *reader) peek() uint64 {
	i := int(r.at >> 3)
	if len(r.src)-i >= 8 {
		return binary.LittleEndian.Uint64(r.src[i:]) >> (r.at & 7)
	}
	return r.peekTail(i) >> (r.at & 7)
}

// peekTail returns the bytes from i on where there are no eight of them.
func (r *reader) peekTail(i int) uint64 {
	var tail [8]byte
	copy(tail[:], r.src[min(i, len(r.src)):])
	return binary.LittleEndian.Uint64(tail[:])
}

// take returns the next n bits, 0 <= n <= 64.
func (r *reader) take(n int) uint64 {
	if n > peeked {
		low := r.take(32)
		return low | r.take(n-32)<<32
	}
	v := r.peek() & (1<<n - 1)
	r.at += int64(n)
	return v
}

// zeros takes zeros and the one after them, and returns how many zeros there were. After
// limit zeros it takes nothing more.
func (r *reader) zeros(limit int) int {
	n := 0
	for limit-n > peeked {
		if z := bits.TrailingZeros64(r.peek()); z < peeked {
			r.at += int64(z) + 1
			return n + z
		}
		n += peeked
		r.at += peeked
	}
	z := bits.TrailingZeros64(r.peek())
	if z >= limit-n {
		r.at += int64(limit - n)
		return limit
	}
	r.at += int64(z) + 1
	return n + z
}
