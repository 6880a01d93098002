package tiff

import (
	"encoding/binary"

	"varve/codec/internal/bitstream"
)

// PackedSize returns the number of bytes of n elements of the given bits. Each row of rowLen elements starts at a byte; 0 means
// one row.
func PackedSize(n, bits, rowLen int) int {
	if rowLen <= 0 || n == 0 {
		return (n*bits + 7) / 8
	}
	return n / rowLen * ((rowLen*bits + 7) / 8)
}

// Unpack decodes unsigned numbers of the given bits, the most significant bit first, to little-endian elements of size bytes.
func Unpack(dst, src []byte, size, bits, rowLen int) {
	n := len(dst) / size
	if rowLen <= 0 {
		rowLen = n
	}
	for at := 0; at < n; at += rowLen {
		row := src[PackedSize(at, bits, rowLen):]
		out := dst[at*size : min(at+rowLen, n)*size]
		switch {
		case size == 1 && bits == 1:
			for i := range out {
				out[i] = row[i>>3] >> (7 - i&7) & 1
			}
		case size == 1:
			for i := range out {
				out[i] = byte(bitstream.At(row, i*bits) >> (64 - bits))
			}
		case size == 2:
			for i := range len(out) / 2 {
				binary.LittleEndian.PutUint16(out[2*i:], uint16(bitstream.At(row, i*bits)>>(64-bits)))
			}
		case size == 4:
			for i := range len(out) / 4 {
				binary.LittleEndian.PutUint32(out[4*i:], uint32(bitstream.At(row, i*bits)>>(64-bits)))
			}
		default:
			for i := range len(out) / 8 {
				binary.LittleEndian.PutUint64(out[8*i:], bitstream.Field(row, i*bits, uint(bits)))
			}
		}
	}
}

// Pack is the inverse of Unpack. It ignores the bits of an element above the given ones; dst is zero.
func Pack(dst, src []byte, size, bits, rowLen int) {
	n := len(src) / size
	if rowLen <= 0 {
		rowLen = n
	}
	for at := 0; at < n; at += rowLen {
		row := dst[PackedSize(at, bits, rowLen):]
		for i := range min(rowLen, n-at) {
			e := src[(at+i)*size:]
			for b := range bits {
				k := bits - 1 - b
				if e[k>>3]>>(k&7)&1 != 0 {
					bit := i*bits + b
					row[bit>>3] |= 0x80 >> (bit & 7)
				}
			}
		}
	}
}
