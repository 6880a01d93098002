// Package lzf decodes liblzf streams as HDF5's filter 32000 stores them: no header, no
// checksum, the decoded size known from elsewhere.
//
// A stream (liblzf, lzf_d.c) is a row of literal runs and matches:
//
//	000LLLLL  literal…              L+1 literals
//	LLLooooo  oooooooo              match of L+2 bytes, L 1 to 6, o+1 bytes back
//	111ooooo  LLLLLLLL  oooooooo    match of L+9 bytes, o+1 bytes back
package lzf

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/lzf/match"
)

var le = binary.LittleEndian

// Decode decodes all of src to the beginning of dst and returns how many bytes it decodes
// to. It never writes beyond dst.
func Decode(dst, src []byte) (int, error) {
	in, out := 0, 0
	for in < len(src) {
		start := in
		ctrl := int(src[in])
		in++
		if ctrl < 32 {
			n := ctrl + 1
			if n > len(src)-in {
				return 0, corrupt.Errorf("lzf: byte %d: %d literals, %d bytes left", start, n, len(src)-in)
			}
			if n > len(dst)-out {
				return 0, overflow(start, n, len(dst)-out)
			}
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
			return 0, corrupt.Errorf("lzf: byte %d: match begins %d bytes back, %d are decoded", start, back, out)
		}
		if n > len(dst)-out {
			return 0, overflow(start, n, len(dst)-out)
		}
		match.Copy(dst, out, back, n)
		out += n
	}
	return out, nil
}

func overflow(at, n, room int) error {
	return corrupt.Errorf("lzf: byte %d: would write %d bytes, room for %d", at, n, room)
}

func truncated(at int) error {
	return corrupt.Errorf("lzf: byte %d: the stream ends within a match", at)
}
