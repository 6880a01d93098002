package nbit

import (
	"encoding/binary"
	"math/bits"

	"varve/codec/internal/bitstream"
)

// reader reads bits from a stream, the most significant bit of each byte first. The caller must check
// that the stream is long enough.
type reader struct {
	src []byte
	bit int // index of the next bit
}

// take returns the next n bits, 1 <= n <= 64.
func (r *reader) take(n int) uint64 {
	v := bitstream.Field(r.src, r.bit, uint(n))
	r.bit += n
	return v
}

// fill sets the fields of an element, whose bytes must be zero.
func (r *reader) fill(elem []byte, fields []field) {
	for i := range fields {
		f := &fields[i]
		switch f.kind {
		case opaque:
			r.copyBytes(elem[f.at : f.at+f.size])
		case group:
			r.fillGroup(elem[f.at:f.at+f.size*f.repeats], f)
		default:
			r.number(elem[f.at:f.at+f.size], f)
		}
	}
}

// fillGroup sets the elements of an array, or the members of a compound. Parse limits the depth of its
// recursion.
func (r *reader) fillGroup(dst []byte, f *field) {
	// An array of numbers needs no recursion.
	if len(f.group) == 1 && f.group[0].kind <= bigEndian {
		for ; len(dst) > 0; dst = dst[f.size:] {
			g := &f.group[0]
			r.number(dst[g.at:g.at+g.size], g)
		}
		return
	}
	for ; len(dst) > 0; dst = dst[f.size:] {
		r.fill(dst[:f.size], f.group)
	}
}

// copyBytes fills dst with the next bytes of the stream, which may start at any bit.
func (r *reader) copyBytes(dst []byte) {
	for len(dst) >= 4 {
		binary.BigEndian.PutUint32(dst, uint32(r.take(32)))
		dst = dst[4:]
	}
	for i := range dst {
		dst[i] = byte(r.take(8))
	}
}

// number sets a number, whose bytes must be zero, from the next bits of the stream.
func (r *reader) number(dst []byte, f *field) {
	if f.size > 8 {
		r.wide(dst, f)
		return
	}
	v := r.take(f.bits) << f.shift
	if f.kind == bigEndian {
		v = bits.ReverseBytes64(v) >> (64 - 8*f.size)
	}
	switch f.size {
	case 1:
		dst[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(dst, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(dst, uint32(v))
	case 8:
		binary.LittleEndian.PutUint64(dst, v)
	default:
		for i := range dst {
			dst[i] = byte(v >> (8 * i))
		}
	}
}

// wide sets a number of more than 8 bytes, such as a long double. It goes byte by byte from the most
// significant one down.
func (r *reader) wide(dst []byte, f *field) {
	for top := f.shift + f.bits; top > f.shift; {
		low := max((top-1)&^7, f.shift) // lowest stored bit of this byte
		i := low / 8
		if f.kind == bigEndian {
			i = f.size - 1 - i
		}
		dst[i] = byte(r.take(top-low) << (low % 8))
		top = low
	}
}

// unpackNumbers decodes a chunk whose elements are one number each, of up to bitstream.WindowBits bits in
// up to 8 bytes. Nearly all chunks are of this kind. Each number takes one load and one store of 8 bytes;
// the next number overwrites the excess.
func unpackNumbers(dst, src []byte, f *field) {
	// The shifts move the stored bits to the bottom (drop), then to their place in the number. The
	// masks spare the compiler a check for shifts of 64 or more.
	drop, shift, step := uint(64-f.bits), uint(f.shift), f.size
	at, bit := 0, 0
	if f.kind == littleEndian {
		for ; at+8 <= len(dst) && bit>>3+8 <= len(src); at += step {
			v := binary.BigEndian.Uint64(src[bit>>3:]) << (bit & 7) >> (drop & 63) << (shift & 63)
			binary.LittleEndian.PutUint64(dst[at:], v)
			bit += f.bits
		}
	} else {
		shift += uint(64 - 8*step)
		for ; at+8 <= len(dst) && bit>>3+8 <= len(src); at += step {
			v := binary.BigEndian.Uint64(src[bit>>3:]) << (bit & 7) >> (drop & 63) << (shift & 63)
			binary.BigEndian.PutUint64(dst[at:], v)
			bit += f.bits
		}
	}
	r := reader{src: src, bit: bit}
	for ; at < len(dst); at += step { // the last numbers: 8 bytes would exceed a buffer
		clear(dst[at : at+step])
		r.number(dst[at:at+step], f)
	}
}
