// Package match copies the matches of Lempel-Ziv streams whose decoders are written in Go.
package match

import "encoding/binary"

var le = binary.LittleEndian

// long is from which length on copy, which has a price of its own, beats word by word.
const long = 64

// repeats is how much of a word whole repetitions of a distance fill.
var repeats = [8]int{1: 8, 2: 8, 3: 6, 4: 8, 5: 5, 6: 6, 7: 7}

// Copy fills dst[out:out+n] with what lies back bytes before, byte by byte in meaning: if back
// is less than n, what is written repeats. back is 1 to out, and n fits in dst. It may scribble on
// up to 8 bytes of dst behind the match.
func Copy(dst []byte, out, back, n int) {
	end := out + n
	if n >= long || end+8 > len(dst) {
		copyDoubling(dst[:end], out, back)
		return
	}
	if back < 8 && back < n {
		copyRepeating(dst, out, back, end)
		return
	}
	for ; out < end; out += 8 {
		le.PutUint64(dst[out:], le.Uint64(dst[out-back:]))
	}
}

// copyRepeating makes a word of repetitions in a register: reading back what was just written
// byte by byte would wait for each byte.
func copyRepeating(dst []byte, out, back, end int) {
	shift := uint(8 * back)
	w := le.Uint64(dst[out-back:]) & (1<<shift - 1)
	for ; shift < 64; shift *= 2 {
		w |= w << shift
	}
	for step := repeats[back]; out < end; out += step {
		le.PutUint64(dst[out:], w)
	}
}

// copyDoubling fills dst from out on: each round can copy what the rounds before made.
func copyDoubling(dst []byte, out, back int) {
	from := out - back
	for out < len(dst) {
		out += copy(dst[out:], dst[from:out])
	}
}
