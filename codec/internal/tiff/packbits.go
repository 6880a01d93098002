// Package tiff has the smaller codings of TIFF: PackBits, the two predictors, and samples of any number of bits.
package tiff

import "varve/codec/internal/corrupt"

// DecodePackBits writes the decoded bytes to dst and returns their number. It stops when dst is full, since some
// writers pad the last strip of an image.
//
// Specification: TIFF 6.0, section 9. A byte n up to 127 precedes n+1 bytes; from 129 on it precedes one byte that is
// repeated 257−n times; 128 stands for nothing.
func DecodePackBits(dst, src []byte) (int, error) {
	out, at := 0, 0
	for out < len(dst) && at < len(src) {
		n := int(src[at])
		at++
		switch {
		case n < 128:
			if at+n+1 > len(src) {
				return out, corrupt.Errorf("byte %d of PackBits: %d bytes follow, want %d", at-1, len(src)-at, n+1)
			}
			out += copy(dst[out:], src[at:at+n+1])
			at += n + 1
		case n > 128:
			if at == len(src) {
				return out, corrupt.Errorf("byte %d of PackBits: the byte to repeat is missing", at-1)
			}
			run := dst[out:min(out+257-n, len(dst))]
			for i := range run {
				run[i] = src[at]
			}
			out += len(run)
			at++
		}
	}
	return out, nil
}

// AppendPackBits appends the encoding of src to dst.
func AppendPackBits(dst, src []byte) []byte {
	for len(src) > 0 {
		n := 1
		for n < len(src) && n < 128 && src[n] == src[0] {
			n++
		}
		if n > 1 {
			dst = append(dst, byte(257-n), src[0])
			src = src[n:]
			continue
		}
		// Three equal bytes end a sequence of others; two would not be shorter.
		for n < len(src) && n < 128 && (n+2 >= len(src) || src[n] != src[n+1] || src[n] != src[n+2]) {
			n++
		}
		dst = append(append(dst, byte(n-1)), src[:n]...)
		src = src[n:]
	}
	return dst
}
