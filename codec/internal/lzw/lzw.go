// Package lzw decodes and encodes the LZW of TIFF.
//
// Specification: TIFF 6.0, section 13. Codes have 9 to 12 bits, from the most significant bit down. Code 256 clears
// the table, 257 ends the data. The writer adds a string to the table with each code, and codes get wider one code
// before the table needs it. Programs before 1990 wrote bits from the least significant one up, and widened codes
// when the table needed it: their data start with the bytes 0 and 1, which no later writer makes.
package lzw

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

const (
	clearCode = 256
	endCode   = 257
	first     = 258  // the first code of a string
	tableSize = 4096 // codes of 12 bits
	minWidth  = 9
	maxWidth  = 12
)

// isOld reports whether a writer from before 1990 made src.
func isOld(src []byte) bool { return len(src) >= 2 && src[0] == 0 && src[1]&1 != 0 }

// Decode writes the decoded bytes to dst and returns their number. It stops when dst is full, since some writers pad
// the last strip of an image.
func Decode(dst, src []byte) (int, error) {
	if isOld(src) {
		return decodeOld(dst, src)
	}
	var (
		table  [tableSize]entry
		next   = first
		width  = uint(minWidth)
		acc    uint64 // bits not yet used, from the top
		n      uint   // their number
		at     int    // the next byte of src
		out    int
		before entry // the string of the code before; size 0 after a clear code
	)
	for out < len(dst) {
		if n < width {
			if at+8 <= len(src) {
				acc |= binary.BigEndian.Uint64(src[at:]) >> n
				at += int(63-n) >> 3
				n |= 56
			} else {
				for ; n <= 56 && at < len(src); n += 8 {
					acc |= uint64(src[at]) << (56 - n)
					at++
				}
				if n < width {
					return out, nil // some writers leave out the code at the end
				}
			}
		}
		code := int(acc >> (64 - width))
		acc <<= width
		n -= width
		if code < clearCode {
			dst[out] = byte(code)
			if before.size > 0 && next < tableSize {
				table[next] = entry{before.at, before.size + 1}
				next++
				if next+1 >= 1<<width && width < maxWidth {
					width++
				}
			}
			before = entry{int32(out), 1}
			out++
			continue
		}
		if code == clearCode {
			next, width, before = first, minWidth, entry{}
			continue
		}
		if code == endCode {
			return out, nil
		}
		if code > next || before.size == 0 || code == next && next == tableSize {
			return out, corrupt.Errorf("byte %d of LZW data: code %d, but the table ends at %d", at-int(n/8), code, next-1)
		}
		// The string of a new code is the one before and the first byte of this one. It is in dst already but for that
		// byte, which follows it there.
		if next < tableSize {
			table[next] = entry{before.at, before.size + 1}
			next++
			if next+1 >= 1<<width && width < maxWidth {
				width++
			}
		}
		s := table[code]
		before = entry{int32(out), s.size}
		out += copyString(dst, out, s)
	}
	return out, nil
}

// entry is a string of the table: its place in the decoded bytes.
type entry struct{ at, size int32 }

// copyString appends a string to the first out bytes of dst, as far as dst reaches. The string may reach one byte into
// what is appended.
func copyString(dst []byte, out int, s entry) int {
	from, size := int(s.at), int(s.size)
	if size <= 16 && out+16 <= len(dst) && from+16 <= out {
		// Two words are copied faster than the exact bytes; what follows is written again.
		binary.LittleEndian.PutUint64(dst[out:], binary.LittleEndian.Uint64(dst[from:]))
		binary.LittleEndian.PutUint64(dst[out+8:], binary.LittleEndian.Uint64(dst[from+8:]))
		return size
	}
	if from+size <= out {
		return copy(dst[out:], dst[from:from+size])
	}
	size = min(size, len(dst)-out)
	for i := range size {
		dst[out+i] = dst[from+i]
	}
	return size
}

// decodeOld decodes what programs before 1990 wrote.
func decodeOld(dst, src []byte) (int, error) {
	var table [tableSize]entry
	next, width, out, bit := first, uint(minWidth), 0, 0
	var before entry
	for out < len(dst) && bit+int(width) <= 8*len(src) {
		code := 0
		for i := range int(width) {
			code |= int(src[(bit+i)>>3]>>((bit+i)&7)&1) << i
		}
		bit += int(width)
		if code == clearCode {
			next, width, before = first, minWidth, entry{}
			continue
		}
		if code == endCode {
			break
		}
		if code > clearCode && (code > next || before.size == 0 || code == next && next == tableSize) {
			return out, corrupt.Errorf("bit %d of LZW data: code %d, but the table ends at %d", bit, code, next-1)
		}
		if before.size > 0 && next < tableSize {
			table[next] = entry{before.at, before.size + 1}
			next++
			if next >= 1<<width && width < maxWidth {
				width++
			}
		}
		if code < clearCode {
			before = entry{int32(out), 1}
			dst[out] = byte(code)
			out++
			continue
		}
		s := table[code]
		before = entry{int32(out), s.size}
		out += copyString(dst, out, s)
	}
	return out, nil
}

// Append appends the encoding of src to dst.
func Append(dst, src []byte) []byte {
	// The table maps a code and a byte to the code of the longer string.
	var (
		table  = map[uint32]uint16{}
		next   = first
		width  = uint(minWidth)
		acc    uint64
		n      uint
		prefix = -1
	)
	put := func(code int) {
		acc = acc<<width | uint64(code)
		for n += width; n >= 8; n -= 8 {
			dst = append(dst, byte(acc>>(n-8)))
		}
	}
	put(clearCode)
	for _, b := range src {
		if prefix < 0 {
			prefix = int(b)
			continue
		}
		key := uint32(prefix)<<8 | uint32(b)
		if code, ok := table[key]; ok {
			prefix = int(code)
			continue
		}
		put(prefix)
		prefix = int(b)
		table[key] = uint16(next)
		next++
		// The decoder's table has one string less than this one.
		if next >= 1<<width && width < maxWidth {
			width++
		}
		if next == tableSize-2 {
			put(clearCode)
			clear(table)
			next, width = first, minWidth
		}
	}
	if prefix >= 0 {
		put(prefix)
		// The decoder adds a string with this code too.
		if next++; next >= 1<<width && width < maxWidth {
			width++
		}
	}
	put(endCode)
	if n > 0 {
		dst = append(dst, byte(acc<<(8-n)))
	}
	return dst
}
