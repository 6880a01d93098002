// Package hdf4 decodes what only HDF4 stores: its run lengths, numbers of fewer bits and
// adaptive Huffman codes (HDF Specification and Developer's Guide 4.2, chapter 10; crle.c,
// cnbit.c, cskphuff.c).
//
// Run lengths are a row of
//
//	0LLLLLLL  byte…   L+1 bytes as they are
//	1LLLLLLL  byte    L+3 times the byte
//
// Numbers of fewer bits stand one behind the other without gaps, each from its highest bit on:
// of a number of size bytes, big-endian, the bits from first downwards.
package hdf4

import "varve/codec/internal/corrupt"

// DecodeRLE decodes src to the beginning of dst and returns how many bytes it decodes to. What
// stands in src once dst is full was written by an earlier writer, and does not count.
func DecodeRLE(dst, src []byte) (int, error) {
	in, out := 0, 0
	for out < len(dst) && in < len(src) {
		start, count := in, int(src[in]&0x7f)
		in++
		if src[start]&0x80 != 0 {
			if in == len(src) {
				return 0, corrupt.Errorf("hdf4.rle: byte %d: a run without its byte", start)
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
			return 0, corrupt.Errorf("hdf4.rle: byte %d: %d bytes, %d are left", start, n, len(src)-in)
		}
		copy(dst[out:out+n], src[in:])
		in, out = in+count+1, out+n
	}
	return out, nil
}
