package jpegls

import (
	"encoding/binary"
	"math/bits"
)

// bitReader takes bits from the most significant down, without those stuffed after FF. Past
// the end it gives zeros, and overrun tells.
type bitReader struct {
	src  []byte // up to the marker that ends it
	next int    // the next byte to load
	acc  uint64 // loaded bits from the top down, and perhaps some of those to come
	n    uint   // how many are loaded
	made uint   // how many of those lie past the end
}

const (
	everyByte = 0x0101010101010101
	everyTop  = 0x8080808080808080
)

// refill loads bits until there are at least 55.
func (r *bitReader) refill() {
	if r.next+8 <= len(r.src) {
		v := binary.BigEndian.Uint64(r.src[r.next:])
		if (^v-everyByte)&v&everyTop == 0 { // no byte is FF
			r.acc |= v >> (r.n & 63)
			r.next += int(63-r.n) >> 3
			r.n |= 56
			return
		}
	}
	for r.n <= 56 {
		if r.next >= len(r.src) {
			r.n += 8
			r.made += 8
			continue
		}
		b := r.src[r.next]
		r.next++
		r.acc |= uint64(b) << (56 - r.n)
		r.n += 8
		if b == 0xff {
			// The stuffed bit is 0 and falls on the last of these ones.
			r.n--
		}
	}
}

// take returns the next n bits, n <= 32.
func (r *bitReader) take(n uint) int {
	if r.n < n {
		r.refill()
	}
	v := r.acc >> (64 - n)
	r.acc <<= n
	r.n -= n
	return int(v)
}

// zeros counts the zeros before the next one, and takes that too.
func (r *bitReader) zeros() int {
	count := uint(0)
	for {
		if z := uint(bits.LeadingZeros64(r.acc)); z < r.n {
			r.acc = r.acc << z << 1
			r.n -= z + 1
			return int(count + z)
		}
		if r.made > 0 {
			// All that is there is loaded, so no one comes.
			r.n, r.acc = 0, 0
			return int(count)
		}
		count += r.n
		r.n, r.acc = 0, 0
		r.refill()
	}
}

// overrun reports whether bits were taken that are not there.
func (r *bitReader) overrun() bool { return r.made > r.n }

// rest reports whether what is left is the padding of the last byte.
func (r *bitReader) rest() bool {
	if r.n < 56 {
		r.refill()
	}
	return r.acc == 0 && r.next >= len(r.src)
}
