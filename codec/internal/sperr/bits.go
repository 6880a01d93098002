package sperr

import "encoding/binary"

// reader takes bits from a stream, and zeros after its end.
type reader struct {
	src    []byte // not yet loaded
	word   uint64 // loaded and not yet taken, zeros above
	left   int    // bits of word that count
	loaded int    // bits in total
}

func (r *reader) bit() uint64 {
	if r.left == 0 {
		r.load()
	}
	r.left--
	b := r.word & 1
	r.word >>= 1
	return b
}

// take returns the next n bits, 0 <= n <= 64, the first of them as the lowest.
func (r *reader) take(n int) uint64 {
	v, have := r.word, r.left
	if n > have {
		r.load()
		v |= r.word << have
		r.word >>= n - have
		r.left -= n - have
	} else {
		r.word >>= n
		r.left -= n
	}
	return v & (1<<n - 1)
}

func (r *reader) load() {
	if len(r.src) >= 8 {
		r.word = binary.LittleEndian.Uint64(r.src)
		r.src = r.src[8:]
	} else {
		var tail [8]byte
		copy(tail[:], r.src)
		r.word = binary.LittleEndian.Uint64(tail[:])
		r.src = nil
	}
	r.left = 64
	r.loaded += 64
}

// position returns how many bits were taken.
func (r *reader) position() int { return r.loaded - r.left }

// mask is a bit an element.
type mask []uint64

func (m mask) set(i int)        { m[i>>6] |= 1 << (i & 63) }
func (m mask) bit(i int) uint64 { return m[i>>6] >> (i & 63) & 1 }

// cleared returns n zeros, in the memory of s if that is enough.
func cleared[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	s = s[:n]
	clear(s)
	return s
}
