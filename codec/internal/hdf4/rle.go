// Package hdf4 decodes the compressions that only HDF4 has: run-length encoding (DecodeRLE), n-bit
// numbers (Nbit) and adaptive Huffman codes (SkippingHuffman). They are specified in the HDF
// Specification and Developer's Guide 4.2, chapter 10, and by crle.c, cnbit.c and cskphuff.c of
// libhdf4.
//
// Run-length encoding is a sequence of
//
//	0LLLLLLL  byte…   L+1 literal bytes
//	1LLLLLLL  byte    a run: the byte, L+3 times
//
// For example, "abcdddd" is 02 61 62 63 │ 81 64.
//
// N-bit numbers follow each other without gaps. Each is the stored bits of a big-endian number,
// from bit First downwards, the most significant first.
package hdf4

import "varve/codec/internal/corrupt"

// DecodeRLE decodes src to the beginning of dst and returns the decoded length. It ignores bytes of
// src after dst is full: libhdf4 leaves the end of an earlier, longer version there.
func DecodeRLE(dst, src []byte) (int, error) {
	in, out := 0, 0
	for out < len(dst) && in < len(src) {
		start, count := in, int(src[in]&0x7f)
		in++
		if src[start]&0x80 != 0 {
			if in == len(src) {
				return 0, corrupt.Errorf("hdf4.rle: byte %d: truncated in a run", start)
			}
			n := min(count+3, len(dst)-out)
			for i := range n {
				dst[out+i] = src[in]
			}
			in, out = in+1, out+n
			continue
		}
		n := min(count+1, len(dst)-out)
		if n > len(src)-in {
			return 0, corrupt.Errorf("hdf4.rle: byte %d: %d literal bytes, only %d are left", start, n, len(src)-in)
		}
		copy(dst[out:out+n], src[in:])
		in, out = in+count+1, out+n
	}
	return out, nil
}
