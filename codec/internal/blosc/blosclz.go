package blosc

import (
	"varve/codec/internal/corrupt"
	"varve/codec/internal/lzf/match"
)

// A blosclz stream (blosclz.c, after FastLZ) is a row of literal runs and matches:
//
//	000LLLLL  literal…                       L+1 literals
//	LLLooooo  oooooooo                       match of L+2 bytes, L 1 to 6, o+1 bytes back
//	111ooooo  LLLLLLLL…  oooooooo            match of 9 bytes and the sum of L, which goes on
//	                                         while it is 255
//	LLL11111  …  11111111  hhhhhhhh llllllll match h:l + 8192 bytes back
//
// The first byte is a literal run whatever its upper bits say. c-blosc refuses a match of the
// near form at the very end.
const (
	lzFar     = 8191 // the distance, less one, from which on the far form is used
	lzMaxFar  = 65535 + lzFar - 1
	lzMaxRun  = 32
	lzLongLen = 7
)

// decodeBlosclz decodes all of src to the beginning of dst.
func decodeBlosclz(dst, src []byte) (int, error) {
	if len(src) == 0 {
		return 0, nil
	}
	in, out := 0, 0
	ctrl := int(src[0] & 31)
	for {
		start := in
		in++
		if ctrl < 32 {
			n := ctrl + 1
			if n > len(src)-in {
				return 0, corrupt.Errorf("blosclz: byte %d: %d literals, %d bytes left", start, n, len(src)-in)
			}
			if n > len(dst)-out {
				return 0, lzOverflow(start, n, len(dst)-out)
			}
			if len(src)-in >= lzMaxRun && len(dst)-out >= lzMaxRun {
				*(*[lzMaxRun]byte)(dst[out:]) = [lzMaxRun]byte(src[in:])
			} else {
				copy(dst[out:], src[in:in+n])
			}
			in, out = in+n, out+n
		} else if near, ok := nearMatch(src, in, ctrl); ok && near.back >= 8 && near.back <= out && out+8 <= len(dst) {
			le.PutUint64(dst[out:], le.Uint64(dst[out-near.back:]))
			in, out = near.next, out+near.length
		} else {
			m, ok := readMatch(src, in, ctrl)
			if !ok {
				return 0, corrupt.Errorf("blosclz: byte %d: the stream ends within a match", start)
			}
			if m.back > out {
				return 0, corrupt.Errorf("blosclz: byte %d: match begins %d bytes back, %d are decoded", start, m.back, out)
			}
			if m.length > len(dst)-out {
				return 0, lzOverflow(start, m.length, len(dst)-out)
			}
			match.Copy(dst, out, m.back, m.length)
			in, out = m.next, out+m.length
		}
		if in >= len(src) {
			return out, nil
		}
		ctrl = int(src[in])
	}
}

type lzMatch struct{ length, back, next int }

// nearMatch reads a match of the shortest form, which is by far the most common. Such a match is
// no longer than a word.
func nearMatch(src []byte, in, ctrl int) (m lzMatch, ok bool) {
	if ctrl >= lzLongLen<<5 || ctrl&31 == 31 || in >= len(src) {
		return m, false
	}
	return lzMatch{length: ctrl>>5 + 2, back: ctrl&31<<8 + int(src[in]) + 1, next: in + 1}, true
}

// readMatch reads the match whose first byte was ctrl and whose next is at in.
func readMatch(src []byte, in, ctrl int) (m lzMatch, ok bool) {
	m.length = ctrl>>5 + 2
	for more := ctrl>>5 == lzLongLen; more; in++ {
		if in >= len(src) {
			return m, false
		}
		m.length += int(src[in])
		more = src[in] == 255
	}
	if in >= len(src) {
		return m, false
	}
	m.back = ctrl&31<<8 + int(src[in]) + 1
	in++
	if m.back == lzFar+1 {
		if len(src)-in < 2 {
			return m, false
		}
		m.back += int(src[in])<<8 + int(src[in+1])
		in += 2
	}
	m.next = in
	return m, true
}

func lzOverflow(at, n, room int) error {
	return corrupt.Errorf("blosclz: byte %d: would write %d bytes, room for %d", at, n, room)
}
