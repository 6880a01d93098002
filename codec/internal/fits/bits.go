package fits

import "math/bits"

// bitReader takes bits from bytes, the highest first.
type bitReader struct {
	src     []byte
	at      int    // the byte that is held next
	held    uint64 // the bits that come next, at the top; what is below them is zero
	count   int    // how many those are
	missing bool   // more were asked for than there are
}

// fill sees to it that at least n bits of up to 56 are held, if there are so many.
func (r *bitReader) fill(n int) {
	for r.count < n && r.at < len(r.src) {
		r.held |= uint64(r.src[r.at]) << (56 - r.count)
		r.at, r.count = r.at+1, r.count+8
	}
}

// take takes up to 32 bits.
func (r *bitReader) take(n int) uint64 {
	if r.count < n {
		if r.fill(56); r.count < n {
			r.missing = true
			return 0
		}
	}
	v := r.held >> (64 - n)
	r.held, r.count = r.held<<n, r.count-n
	return v
}

// zeros counts the zeros before the next one, and takes them and that.
func (r *bitReader) zeros() (n int) {
	for r.held == 0 {
		n += r.count
		r.count = 0
		if r.fill(56); r.count == 0 {
			r.missing = true
			return 0
		}
	}
	k := bits.LeadingZeros64(r.held)
	r.held, r.count = r.held<<k<<1, r.count-k-1
	return n + k
}

// rest returns the bytes of which nothing was taken.
func (r *bitReader) rest() []byte { return r.src[r.at-r.count/8:] }
