// Package lzf decodes liblzf streams as HDF5's filter 32000 stores them: no header, no
// checksum, the decoded size known from elsewhere.
//
// A stream (liblzf, lzf_d.c) is a row of literal runs and matches:
//
//	000LLLLL  literal…              L+1 literals
//	LLLooooo  oooooooo              match of L+2 bytes, L 1 to 6, o+1 bytes back
//	111ooooo  LLLLLLLL  oooooooo    match of L+9 bytes, o+1 bytes back
package lzf

import "varve/codec/internal/corrupt"

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
			copy(dst[out:out+n], src[in:in+n])
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
		copyMatch(dst[:out+n], out, back)
		out += n
	}
	return out, nil
}

// copyMatch fills dst from out on with what lies back bytes before. Match and copy may
// overlap: then what is written repeats, and each round can copy twice as much.
func copyMatch(dst []byte, out, back int) {
	from := out - back
	for out < len(dst) {
		out += copy(dst[out:], dst[from:out])
	}
}

func overflow(at, n, room int) error {
	return corrupt.Errorf("lzf: byte %d: would write %d bytes, room for %d", at, n, room)
}

func truncated(at int) error {
	return corrupt.Errorf("lzf: byte %d: the stream ends within a match", at)
}
