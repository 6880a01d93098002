package aec

import (
	"encoding/binary"
	"math/bits"
)

// bitReader takes bits from the most significant down. Past the end it gives zeros, and
// overrun tells.
type bitReader struct {
	src  []byte
	next int    // the next byte to load
	acc  uint64 // loaded bits from the top down, and perhaps some of those to come
	n    uint   // how many are loaded
}

// refill loads bits until there are at least 56.
func (r *bitReader) refill() {
	if r.next+8 <= len(r.src) {
		r.acc |= binary.BigEndian.Uint64(r.src[r.next:]) >> (r.n & 63)
		r.next += int(63-r.n) >> 3
		r.n |= 56
		return
	}
	for ; r.n <= 56; r.n += 8 {
		if r.next < len(r.src) {
			r.acc |= uint64(r.src[r.next]) << (56 - r.n)
		}
		r.next++
	}
}

// take returns the next n bits, 1 <= n <= 32.
func (r *bitReader) take(n uint) uint64 {
	if r.n < n {
		r.refill()
	}
	v := r.acc >> (64 - n)
	r.acc <<= n
	r.n -= n
	return v
}

// sequence returns the number of zeros before the next one, or that there is none.
func (r *bitReader) sequence() (uint, bool) {
	if zeros := uint(bits.LeadingZeros64(r.acc)); zeros < r.n {
		r.acc = r.acc << zeros << 1
		r.n -= zeros + 1
		return zeros, true
	}
	return r.longSequence()
}

// longSequence is sequence for one that goes on past the loaded bits.
func (r *bitReader) longSequence() (uint, bool) {
	for zeros := uint(0); r.next < len(r.src); {
		zeros += r.n
		r.acc <<= r.n
		r.n = 0
		r.refill()
		if n := uint(bits.LeadingZeros64(r.acc)); n < r.n {
			r.acc = r.acc << n << 1
			r.n -= n + 1
			return zeros + n, true
		}
	}
	return 0, false
}

// offset is the byte that the next bit is in.
func (r *bitReader) offset() int { return (8*r.next - int(r.n)) / 8 }

// overrun reports whether bits were taken that are not there.
func (r *bitReader) overrun() bool { return 8*r.next-int(r.n) > 8*len(r.src) }
