package parquet

import (
	"encoding/binary"
	"math/bits"
)

// appendHybrid appends numbers of a width as runs of equal ones and runs of packed ones:
//
//	varint n<<1, number     the number in whole bytes, n times
//	varint n<<1 | 1, bits   8·n numbers of width bits, the lowest first
func appendHybrid(dst []byte, numbers []uint32, width int) []byte {
	packed := 0 // numbers before i that wait to be packed, from i-packed on
	for i := 0; i < len(numbers); {
		n := equal(numbers[i:])
		// A packed run holds a multiple of 8 numbers, so that a run of equal ones begins
		// only behind such.
		lead := (8 - packed%8) % 8
		if n < 8+lead {
			packed += n
			i += n
			continue
		}
		packed += lead
		i += lead
		dst = appendPacked(dst, numbers[i-packed:i], width)
		dst = binary.AppendUvarint(dst, uint64(n-lead)<<1)
		for b := 0; b < width; b += 8 {
			dst = append(dst, byte(numbers[i]>>b))
		}
		packed, i = 0, i+n-lead
	}
	return appendPacked(dst, numbers[len(numbers)-packed:], width)
}

// equal counts the numbers at the beginning that are the same.
func equal(numbers []uint32) int {
	n := 1
	for n < len(numbers) && numbers[n] == numbers[0] {
		n++
	}
	return n
}

// appendPacked appends a packed run, padded with zeros to a multiple of 8.
func appendPacked(dst []byte, numbers []uint32, width int) []byte {
	if len(numbers) == 0 {
		return dst
	}
	groups := (len(numbers) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	var word uint64
	filled := 0
	for _, v := range numbers {
		word |= uint64(v) << filled
		for filled += width; filled >= 8; filled -= 8 {
			dst = append(dst, byte(word))
			word >>= 8
		}
	}
	rest := groups*width - (len(numbers)*width)/8
	for ; rest > 0; rest-- {
		dst = append(dst, byte(word))
		word = 0
	}
	return dst
}

// widthOf is the number of bits of numbers below n. It is never 0, which not every reader
// of dictionaries takes.
func widthOf(n int) int { return max(bits.Len(uint(max(n-1, 0))), 1) }
