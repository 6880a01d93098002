// Package bitstream reads bits from the most significant bit of each byte down.
package bitstream

import (
	"encoding/binary"
	"math/bits"
)

// Reader reads bits in order. Past the end of Src it returns zeros, and Overrun reports true.
type Reader struct {
	Src  []byte
	Next int    // index of the next byte to load, or more than len(Src)
	Acc  uint64 // loaded bits, from the top down; the bits below the top N may already be set
	N    uint   // number of loaded bits
}

// Refill loads bits until there are at least 56.
func (r *Reader) Refill() {
	if r.Next+8 <= len(r.Src) {
		// One load of 8 bytes is faster than a loop. Only whole bytes count as loaded; the bits
		// of the next byte that fit too are set again, to the same values, by the next Refill.
		r.Acc |= binary.BigEndian.Uint64(r.Src[r.Next:]) >> (r.N & 63)
		r.Next += int(63-r.N) >> 3
		r.N |= 56
		return
	}
	for ; r.N <= 56; r.N += 8 {
		if r.Next < len(r.Src) {
			r.Acc |= uint64(r.Src[r.Next]) << (56 - r.N)
		}
		r.Next++
	}
}

// Take returns the next n bits, n <= 32.
func (r *Reader) Take(n uint) uint64 {
	if r.N < n {
		r.Refill()
	}
	v := r.Acc >> (64 - n)
	r.Acc <<= n
	r.N -= n
	return v
}

// Zeros returns the number of zeros before the next one bit, and skips both. If Src has no further
// one bit, it returns 0, and Overrun reports true.
func (r *Reader) Zeros() (n uint) {
	for {
		if z := uint(bits.LeadingZeros64(r.Acc)); z < r.N {
			r.Acc = r.Acc << z << 1
			r.N -= z + 1
			return n + z
		}
		if r.Next >= len(r.Src) {
			r.Acc, r.N, r.Next = 0, 0, len(r.Src)+1
			return 0
		}
		n += r.N
		r.Acc, r.N = 0, 0
		r.Refill()
	}
}

// Align skips to the next byte boundary.
func (r *Reader) Align() {
	skip := r.N & 7
	r.Acc <<= skip
	r.N -= skip
}

// Bit returns the number of bits that were read.
func (r *Reader) Bit() int { return 8*r.Next - int(r.N) }

// Offset returns the index of the byte that holds the next bit.
func (r *Reader) Offset() int { return r.Bit() / 8 }

// Overrun reports whether more bits were read than Src holds.
func (r *Reader) Overrun() bool { return 8*r.Next-int(r.N) > 8*len(r.Src) }

// WindowBits is the minimum number of bits that At returns. One load of 8 bytes holds them, whatever the
// bit of the first byte at which they start.
const WindowBits = 57

// At returns at least WindowBits bits of src from a bit on, at the top of the result, with zeros past the
// end.
func At(src []byte, bit int) uint64 {
	i := bit >> 3
	if i+8 <= len(src) {
		return binary.BigEndian.Uint64(src[i:]) << (bit & 7)
	}
	v := uint64(0)
	for k := range 8 {
		v <<= 8
		if i+k < len(src) {
			v |= uint64(src[i+k])
		}
	}
	return v << (bit & 7)
}

// Field returns n bits of src from a bit on, n <= 64, with zeros past the end.
func Field(src []byte, bit int, n uint) uint64 {
	v := At(src, bit)
	if skip := uint(bit & 7); skip+n > 64 {
		if i := bit>>3 + 8; i < len(src) {
			v |= uint64(src[i]) >> (8 - skip)
		}
	}
	return v >> (64 - n)
}
