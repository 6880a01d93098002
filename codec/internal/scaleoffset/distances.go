package scaleoffset

import (
	"encoding/binary"
	"math"
	"math/bits"

	"varve/codec/internal/bitstream"
)

// noMark is a fillMark that no distance equals, because distances have at most 63 bits.
const noMark = math.MaxUint64

// distances decodes a stream of distances. The caller must check that src is long enough.
type distances struct {
	src      []byte
	size     int    // bytes per element
	bits     uint   // bits per distance, fewer than 8*size
	minimum  uint64 // added to each distance
	fillMark uint64 // the distance that means the fill value, or noMark
	fill     uint64 // the fill value
}

// value returns the element of a distance.
func (d *distances) value(distance uint64) uint64 {
	if distance == d.fillMark {
		return d.fill
	}
	return distance + d.minimum
}

// unpack fills dst with elements, little-endian. Each takes one load and one store of 8 bytes; the next
// element overwrites the excess.
func (d *distances) unpack(dst []byte) {
	if d.bits == 0 {
		d.repeat(dst)
		return
	}
	at, bit := 0, 0
	if d.bits <= bitstream.WindowBits {
		src, width, drop := d.src, int(d.bits), (64-d.bits)&63
		minimum, fillMark, fill := d.minimum, d.fillMark, d.fill // stores to dst could alias the fields of d
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
		put(dst[at:at+d.size], d.value(bitstream.Field(d.src, bit, d.bits)))
		bit += int(d.bits)
	}
}

// repeat fills dst with one element, for a chunk whose distances have no bits.
func (d *distances) repeat(dst []byte) {
	if len(dst) == 0 {
		return
	}
	put(dst[:d.size], d.value(0))
	for done := d.size; done < len(dst); done *= 2 {
		copy(dst[done:], dst[:done])
	}
}

// put writes v little-endian in len(dst) bytes.
func put(dst []byte, v uint64) {
	for i := range dst {
		dst[i] = byte(v)
		v >>= 8
	}
}

// float32s unpacks the distances and scales them in place. It rounds at the same steps as libhdf5.
func (d *distances) float32s(dst []byte, minimum, power float32) {
	fillMark, fill := d.fillMark, uint32(d.fill)
	d.fillMark = noMark // fill values are not scaled, so unpack must leave their marks for this loop
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
	d.fillMark = noMark
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
