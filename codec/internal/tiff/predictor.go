package tiff

import (
	"encoding/binary"
	"slices"
)

// Sum replaces each element of a row by the sum of it and of all before it at distances of dist elements: the predictor
// 2. It wraps around. Elements are little-endian, of 1, 2, 4 or 8 bytes; a row is rowLen elements.
func Sum(b []byte, size, rowLen, dist int) {
	for row := range slices.Chunk(b, size*rowLen) {
		switch size {
		case 1:
			for i := dist; i < len(row); i++ {
				row[i] += row[i-dist]
			}
		case 2:
			for i, j := 0, 2*dist; j < len(row); i, j = i+2, j+2 {
				binary.LittleEndian.PutUint16(row[j:], binary.LittleEndian.Uint16(row[j:])+binary.LittleEndian.Uint16(row[i:]))
			}
		case 4:
			for i, j := 0, 4*dist; j < len(row); i, j = i+4, j+4 {
				binary.LittleEndian.PutUint32(row[j:], binary.LittleEndian.Uint32(row[j:])+binary.LittleEndian.Uint32(row[i:]))
			}
		case 8:
			for i, j := 0, 8*dist; j < len(row); i, j = i+8, j+8 {
				binary.LittleEndian.PutUint64(row[j:], binary.LittleEndian.Uint64(row[j:])+binary.LittleEndian.Uint64(row[i:]))
			}
		}
	}
}

// Difference is the inverse of Sum.
func Difference(b []byte, size, rowLen, dist int) {
	for row := range slices.Chunk(b, size*rowLen) {
		for j := len(row) - size; j >= size*dist; j -= size {
			i := j - size*dist
			switch size {
			case 1:
				row[j] -= row[i]
			case 2:
				binary.LittleEndian.PutUint16(row[j:], binary.LittleEndian.Uint16(row[j:])-binary.LittleEndian.Uint16(row[i:]))
			case 4:
				binary.LittleEndian.PutUint32(row[j:], binary.LittleEndian.Uint32(row[j:])-binary.LittleEndian.Uint32(row[i:]))
			case 8:
				binary.LittleEndian.PutUint64(row[j:], binary.LittleEndian.Uint64(row[j:])-binary.LittleEndian.Uint64(row[i:]))
			}
		}
	}
}

// JoinFloats is the predictor 3: a row of src holds the first byte of each of its elements, then the second of each,
// from the most significant one on, as differences of bytes at distances of dist. It writes little-endian elements to
// dst, which has the length of src, and changes src.
//
// Specification: Adobe Photoshop TIFF Technical Note 3.
func JoinFloats(dst, src []byte, size, rowLen, dist int) {
	for at := 0; at < len(src); at += size * rowLen {
		row, out := src[at:at+size*rowLen], dst[at:at+size*rowLen]
		if dist == 1 {
			var sum byte
			for i, b := range row {
				sum += b
				row[i] = sum
			}
		} else {
			for i := dist; i < len(row); i++ {
				row[i] += row[i-dist]
			}
		}
		switch size {
		case 4:
			a, b, c, d := row[:rowLen], row[rowLen:2*rowLen], row[2*rowLen:3*rowLen], row[3*rowLen:4*rowLen]
			for i := range a {
				binary.LittleEndian.PutUint32(out[4*i:], uint32(a[i])<<24|uint32(b[i])<<16|uint32(c[i])<<8|uint32(d[i]))
			}
		default:
			for k := range size {
				plane := row[k*rowLen : (k+1)*rowLen]
				for i, b := range plane {
					out[i*size+size-1-k] = b
				}
			}
		}
	}
}

// SplitFloats is the inverse of JoinFloats. It keeps src.
func SplitFloats(dst, src []byte, size, rowLen, dist int) {
	for at := 0; at < len(src); at += size * rowLen {
		in, row := src[at:at+size*rowLen], dst[at:at+size*rowLen]
		for i := range rowLen {
			for k := range size {
				row[k*rowLen+i] = in[i*size+size-1-k]
			}
		}
		for i := len(row) - 1; i >= dist; i-- {
			row[i] -= row[i-dist]
		}
	}
}
