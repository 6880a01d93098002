package scaleoffset

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// none is a fill mark that no distance can have: there are at most 63 bits.
const none = math.MaxUint64

// maxLoad is how many bits one load of 8 bytes holds at any of the 8 positions
// where it may start.
const maxLoad = 57

// distances is a stream of distances that is known to be long enough.
type distances struct {
	src      []byte
	size     int  // bytes of an element
	bits     uint // bits of a distance, fewer than the element's
	minimum  uint64
	fillMark uint64
	fill     uint64
}

// value turns a distance into an element's bits, as an integer.
func (d *distances) value(distance uint64) uint64 {
	if distance == d.fillMark {
		return d.fill
	}
	return distance + d.minimum
}

// unpack writes elements little-endian. Each is one load and one store of 8 bytes, of
// which the next element overwrites what is too much.
func (d *distances) unpack(dst []byte) {
	if d.bits == 0 {
		d.repeat(dst)
		return
	}
	at, bit := 0, 0
	if d.bits <= maxLoad {
		src, width, drop := d.src, int(d.bits), (64-d.bits)&63
		minimum, fillMark, fill := d.minimum, d.fillMark, d.fill
		for ; at+8 <= len(dst) && bit>>3+8 <= len(src); at += d.size {
			v := binary.BigEndian.Uint64(src[bit>>3:]) << (bit & 7) >> drop
			if v == fillMark {
				v = fill
			} else {
				v += minimum
			}
			binary.LittleEndian.PutUint64(dst[at:], v)
			bit += width
		}
	}
	for ; at < len(dst); at += d.size {
		put(dst[at:at+d.size], d.value(take(d.src, bit, d.bits)))
		bit += int(d.bits)
	}
}

// repeat writes the one element of a chunk whose distances have no bits.
func (d *distances) repeat(dst []byte) {
	if len(dst) == 0 {
		return
	}
	put(dst[:d.size], d.value(0))
	for done := d.size; done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// take returns the n bits from bit on, 1 <= n <= 63.
func take(src []byte, bit int, n uint) uint64 {
	if n > maxLoad {
		return take(src, bit, 32)<<(n-32) | take(src, bit+32, n-32)
	}
	var window [8]byte
	copy(window[:], src[bit>>3:])
	return binary.BigEndian.Uint64(window[:]) << (bit & 7) >> (64 - n)
}

func put(dst []byte, v uint64) {
	for i := range dst {
		dst[i] = byte(v)
		v >>= 8
	}
}

// float32s unpacks the distances and scales them in place, rounding where the
// library's C does.
func (d *distances) float32s(dst []byte, minimum, power float32) {
	fillMark, fill := d.fillMark, uint32(d.fill)
	d.fillMark = none
	d.unpack(dst)
	for ; len(dst) >= 4; dst = dst[4:] {
		v := binary.LittleEndian.Uint32(dst)
		if uint64(v) == fillMark {
			v = fill
		} else {
			v = math.Float32bits(float32(int32(v))/power + minimum)
		}
		binary.LittleEndian.PutUint32(dst, v)
	}
}

// float64s is float32s for the wider type.
func (d *distances) float64s(dst []byte, minimum, power float64) {
	fillMark, fill := d.fillMark, d.fill
	d.fillMark = none
	d.unpack(dst)
	for ; len(dst) >= 8; dst = dst[8:] {
		v := binary.LittleEndian.Uint64(dst)
		if v == fillMark {
			v = fill
		} else {
			v = math.Float64bits(float64(int64(v))/power + minimum)
		}
		binary.LittleEndian.PutUint64(dst, v)
	}
}

// swap reverses the bytes of every element.
func swap(dst []byte, size int) {
	switch size {
	case 2:
		for ; len(dst) >= 2; dst = dst[2:] {
			binary.LittleEndian.PutUint16(dst, bits.ReverseBytes16(binary.LittleEndian.Uint16(dst)))
		}
	case 4:
		for ; len(dst) >= 4; dst = dst[4:] {
			binary.LittleEndian.PutUint32(dst, bits.ReverseBytes32(binary.LittleEndian.Uint32(dst)))
		}
	case 8:
		for ; len(dst) >= 8; dst = dst[8:] {
			binary.LittleEndian.PutUint64(dst, bits.ReverseBytes64(binary.LittleEndian.Uint64(dst)))
		}
	}
}
