package aec

import (
	"encoding/binary"
	"math/bits"
)

// bitReader reads bits from the most significant bit of each byte down. Past the end of src it
// returns zeros, and overrun reports true.
type bitReader struct {
	src  []byte
	next int    // index of the next byte to load
	acc  uint64 // loaded bits, from the top down; the bits below the top n may already be set
	n    uint   // number of loaded bits
}

// refill loads bits until there are at least 56.
func (r *bitReader) refill() {
	if r.next+8 <= len(r.src) {
		// One load of 8 bytes is faster than a loop. Only whole bytes count as loaded; the bits
		// of the next byte that fit too are set again, to the same values, by the next refill.
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

// sequence returns the number of zeros before the next one bit and skips both. ok is false if
// src has no further one bit.
func (r *bitReader) sequence() (n uint, ok bool) {
	if zeros := uint(bits.LeadingZeros64(r.acc)); zeros < r.n {
		r.acc = r.acc << zeros << 1
		r.n -= zeros + 1
		return zeros, true
	}
	return r.longSequence()
}

// longSequence is sequence if the loaded bits hold no one.
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

// offset returns the index of the byte that holds the next bit.
func (r *bitReader) offset() int { return (8*r.next - int(r.n)) / 8 }

// overrun reports whether more bits were read than src holds.
func (r *bitReader) overrun() bool { return 8*r.next-int(r.n) > 8*len(r.src) }
