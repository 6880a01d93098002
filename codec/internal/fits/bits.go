package fits

import "math/bits"

// bitReader reads bits from the most significant bit of each byte down.
type bitReader struct {
	src       []byte
	at        int    // index of the next byte to load
	acc       uint64 // loaded bits, from the top down; the bits below them are zero
	count     int    // number of loaded bits
	isOverrun bool   // more bits were read than src holds
}

// fill loads bytes until at least n bits are loaded, n <= 56, or src ends.
func (r *bitReader) fill(n int) {
	for r.count < n && r.at < len(r.src) {
		r.acc |= uint64(r.src[r.at]) << (56 - r.count)
		r.at, r.count = r.at+1, r.count+8
	}
}

// take returns the next n bits, n <= 32. Past the end of src it returns 0 and sets isOverrun.
func (r *bitReader) take(n int) uint64 {
	if r.count < n {
		if r.fill(56); r.count < n {
			r.isOverrun = true
			return 0
		}
	}
	v := r.acc >> (64 - n)
	r.acc, r.count = r.acc<<n, r.count-n
	return v
}

// zeros returns the number of zeros before the next one bit, and skips both. Past the end of
// src it returns 0 and sets isOverrun.
func (r *bitReader) zeros() (n int) {
	for r.acc == 0 {
		n += r.count
		r.count = 0
		if r.fill(56); r.count == 0 {
			r.isOverrun = true
			return 0
		}
	}
	k := bits.LeadingZeros64(r.acc)
	r.acc, r.count = r.acc<<k<<1, r.count-k-1 // k can be 63, and <<1 then clears the rest
	return n + k
}

// rest returns the bytes after the last one that was read, at least in part.
func (r *bitReader) rest() []byte { return r.src[r.at-r.count/8:] }
