package sperr

import "encoding/binary"

// reader reads bits from a stream, the lowest bit of each byte first. After the end it returns zeros.
type reader struct {
	src    []byte // bytes that are not yet loaded
	word   uint64 // loaded bits that are not yet read, the next one lowest, zeros above
	left   int    // number of such bits
	loaded int    // number of bits loaded so far
}

// bit returns the next bit.
func (r *reader) bit() uint64 {
	if r.left == 0 {
		r.load()
	}
	r.left--
	b := r.word & 1
	r.word >>= 1
	return b
}

// take returns the next n bits, 0 <= n <= 64, the first one lowest.
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

// load replaces word by the next 8 bytes.
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

// position returns the number of bits read so far.
func (r *reader) position() int { return r.loaded - r.left }

// mask holds one bit per element.
type mask []uint64

func (m mask) set(i int)        { m[i>>6] |= 1 << (i & 63) }
func (m mask) bit(i int) uint64 { return m[i>>6] >> (i & 63) & 1 }

// zeros returns n zeros, in the memory of s if its capacity suffices.
func zeros[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	s = s[:n]
	clear(s)
	return s
}
