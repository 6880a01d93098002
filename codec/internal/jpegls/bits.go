package jpegls

import (
	"encoding/binary"
	"math/bits"
)

// bitReader reads bits from the most significant bit of each byte down, without the bit that is
// stuffed after each byte FF. Past the end of src it returns zeros, and overrun reports true. It is no
// bitstream.Reader because a test for FF there would keep the compiler from inlining Refill in other
// decoders.
type bitReader struct {
	src    []byte // the coded samples, up to the next marker
	next   int    // index of the next byte to load
	acc    uint64 // loaded bits, from the top down; the bits below the top n may already be set
	n      uint   // number of loaded bits
	padded uint   // number of loaded bits that are zeros past the end of src
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
			r.padded += 8
			continue
		}
		b := r.src[r.next]
		r.next++
		r.acc |= uint64(b) << (56 - r.n)
		r.n += 8
		if b == 0xff {
			// The stuffed bit is 0. The next byte is loaded one bit higher, so that this 0 falls on
			// the last 1 of FF.
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

// zeros returns the number of zeros before the next one bit, and skips both.
func (r *bitReader) zeros() int {
	count := uint(0)
	for {
		if z := uint(bits.LeadingZeros64(r.acc)); z < r.n {
			r.acc = r.acc << z << 1
			r.n -= z + 1
			return int(count + z)
		}
		if r.padded > 0 {
			// All of src is loaded, and the padding has no one bit.
			r.n, r.acc = 0, 0
			return int(count)
		}
		count += r.n
		r.n, r.acc = 0, 0
		r.refill()
	}
}

// overrun reports whether more bits were read than src holds.
func (r *bitReader) overrun() bool { return r.padded > r.n }

// isAtEnd reports whether only the padding of the last byte is left.
func (r *bitReader) isAtEnd() bool {
	if r.n < 56 {
		r.refill()
	}
	return r.acc == 0 && r.next >= len(r.src)
}
