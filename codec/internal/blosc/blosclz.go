package blosc

import (
	"varve/codec/internal/corrupt"
	"varve/codec/internal/lzf/match"
)

// A blosclz stream (blosclz.c of c-blosc, derived from FastLZ) is a sequence of literal runs
// and matches:
//
//	000LLLLL  literal…                       L+1 literals
//	LLLooooo  oooooooo                       match of L+2 bytes, L 1 to 6, o+1 bytes back
//	111ooooo  LLLLLLLL…  oooooooo            match of 9 bytes plus the sum of all L; another L
//	                                         follows each L of 255
//	LLL11111  …  11111111  hhhhhhhh llllllll match h:l + 8192 bytes back (the far form)
//
// The first byte is always a literal run; its upper bits are ignored. c-blosc rejects a stream
// that ends with a match of the near form.
const (
	lzFar     = 8191 // matches more than this many bytes back need the far form
	lzMaxFar  = 65535 + lzFar - 1
	lzMaxRun  = 32
	lzLongLen = 7
)

// decodeBlosclz decodes all of src to the beginning of dst and returns the decoded length.
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
			// A copy of fixed length compiles to a few wide moves. The bytes that it writes past
			// the run are overwritten by later runs or lie beyond the returned length.
			if len(src)-in >= lzMaxRun && len(dst)-out >= lzMaxRun {
				*(*[lzMaxRun]byte)(dst[out:]) = [lzMaxRun]byte(src[in:])
			} else {
				copy(dst[out:], src[in:in+n])
			}
			in, out = in+n, out+n
		} else if near, ok := nearMatch(src, in, ctrl); ok && near.back >= 8 && near.back <= out && out+8 <= len(dst) {
			// At least 8 bytes back, so one word can be copied at once without overlap.
			le.PutUint64(dst[out:], le.Uint64(dst[out-near.back:]))
			in, out = near.next, out+near.length
		} else {
			m, ok := readMatch(src, in, ctrl)
			if !ok {
				return 0, corrupt.Errorf("blosclz: byte %d: the stream ends within a match", start)
			}
			if m.back > out {
				return 0, corrupt.Errorf("blosclz: byte %d: match begins %d bytes back, only %d are decoded", start, m.back, out)
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

// lzMatch is a match of length bytes, back bytes before the current position. The next run or
// match begins at src[next].
type lzMatch struct{ length, back, next int }

// nearMatch reads a match of at most 8 bytes of the near form. It returns ok = false for other
// matches, which are far less common.
func nearMatch(src []byte, in, ctrl int) (m lzMatch, ok bool) {
	if ctrl >= lzLongLen<<5 || ctrl&31 == 31 || in >= len(src) {
		return m, false
	}
	return lzMatch{length: ctrl>>5 + 2, back: ctrl&31<<8 + int(src[in]) + 1, next: in + 1}, true
}

// readMatch reads a match of any form. ctrl is its first byte, src[in] its second. ok is false
// if src ends within the match.
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
	return corrupt.Errorf("blosclz: byte %d: run or match of %d bytes, only %d are expected", at, n, room)
}
