package grib

import (
	"encoding/binary"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// maxWidth is the greatest width of a packed integer, in bits.
const maxWidth = 64

// checkBits returns an error if src is too short for n integers of a width.
func checkBits(src []byte, n int, width uint, what string) error {
	if width > 0 && n > 8*len(src)/int(width) {
		return corrupt.Errorf("%d %s of %d bits do not fit in %d bytes", n, what, width, len(src))
	}
	return nil
}

// unpack unpacks and scales consecutive integers of width bits (1 to 64). src has at least as many
// as dst.
func unpack(dst []float64, src []byte, width uint, c scaling) {
	switch width {
	case 8:
		for i, b := range src[:len(dst)] {
			dst[i] = c.of(float64(b))
		}
	case 16:
		unpack16(dst, src, c)
	case 24:
		unpack24(dst, src, c)
	case 32:
		src = src[:4*len(dst)]
		for i := range dst {
			dst[i] = c.of(float64(int64(binary.BigEndian.Uint32(src[4*i:]))))
		}
	default:
		unpackOdd(dst, src, width, c)
	}
}

// unpack16 loads four integers at a time, since a load takes as long as the rest of the work on one.
func unpack16(dst []float64, src []byte, c scaling) {
	for len(dst) >= 4 && len(src) >= 8 {
		v := binary.BigEndian.Uint64(src)
		d := dst[:4:4]
		d[0] = c.of(float64(int64(v >> 48)))
		d[1] = c.of(float64(int64(v >> 32 & 0xffff)))
		d[2] = c.of(float64(int64(v >> 16 & 0xffff)))
		d[3] = c.of(float64(int64(v & 0xffff)))
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = c.of(float64(binary.BigEndian.Uint16(src[2*i:])))
	}
}

func unpack24(dst []float64, src []byte, c scaling) {
	for i := range dst {
		b := src[3*i : 3*i+3]
		dst[i] = c.of(float64(int64(b[0])<<16 | int64(b[1])<<8 | int64(b[2])))
	}
}

// unpackOdd unpacks integers of any width. It loads 8 bytes at once while src has them.
func unpackOdd(dst []float64, src []byte, width uint, c scaling) {
	at, i := 0, 0
	if width <= 57 { // 8 bytes contain an integer that begins at any bit of the first
		shift := 64 - width
		for last := 8*(len(src)-8) + 7; i < len(dst) && at <= last; i++ {
			v := binary.BigEndian.Uint64(src[at>>3:]) << (at & 7) >> (shift & 63)
			dst[i] = c.of(float64(int64(v)))
			at += int(width)
		}
	}
	for ; i < len(dst); i++ {
		dst[i] = c.of(float64(bitstream.Field(src, at, width)))
		at += int(width)
	}
}
