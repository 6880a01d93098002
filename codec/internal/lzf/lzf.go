// Package lzf decodes liblzf streams, the chunks of HDF5's filter 32000. They have no header and no
// checksum; the decoded size is known from the dataset.
//
// A stream (lzf_d.c of liblzf) is a sequence of literal runs and matches:
//
//	000LLLLL  literal…              L+1 literals
//	LLLooooo  oooooooo              match of L+2 bytes, L 1 to 6, o+1 bytes back
//	111ooooo  LLLLLLLL  oooooooo    match of L+9 bytes, o+1 bytes back
//
// For example, "abcabcabc" is 3 literals and a match of 6 bytes 3 back: 02 61 62 63 │ 80 02.
package lzf

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/lzf/match"
)

var le = binary.LittleEndian

// Decode decodes all of src to the beginning of dst and returns the decoded length. It never writes
// past dst.
func Decode(dst, src []byte) (int, error) {
	in, out := 0, 0
	for in < len(src) {
		start := in
		ctrl := int(src[in])
		in++
		if ctrl < 32 {
			n := ctrl + 1
			if n > len(src)-in {
				return 0, corrupt.Errorf("lzf: byte %d: %d literals, only %d bytes are left", start, n, len(src)-in)
			}
			if n > len(dst)-out {
				return 0, overflow(start, n, len(dst)-out)
			}
			// Most runs are short. Copying a whole word avoids a call; later output overwrites the
			// excess bytes.
			if n <= 8 && len(src)-in >= 8 && len(dst)-out >= 8 {
				le.PutUint64(dst[out:], le.Uint64(src[in:]))
			} else {
				copy(dst[out:out+n], src[in:in+n])
			}
			in, out = in+n, out+n
			continue
		}
		n := ctrl>>5 + 2
		if n == 9 {
			if in >= len(src) {
				return 0, truncated(start)
			}
			n += int(src[in])
			in++
		}
		if in >= len(src) {
			return 0, truncated(start)
		}
		back := ctrl&31<<8 + int(src[in]) + 1
		in++
		if back > out {
			return 0, corrupt.Errorf("lzf: byte %d: match begins %d bytes back, only %d are decoded", start, back, out)
		}
		if n > len(dst)-out {
			return 0, overflow(start, n, len(dst)-out)
		}
		match.Copy(dst, out, back, n)
		out += n
	}
	return out, nil
}

// overflow returns the error for a run or match at byte `at` that is longer than expected.
func overflow(at, n, room int) error {
	return corrupt.Errorf("lzf: byte %d: run or match of %d bytes, only %d are expected", at, n, room)
}

// truncated returns the error for a stream that ends within the match at byte `at`.
func truncated(at int) error {
	return corrupt.Errorf("lzf: byte %d: the stream ends within a match", at)
}
