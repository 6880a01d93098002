// Package match copies the matches of Lempel-Ziv streams. The decoders of lzf and blosclz share it.
package match

import "encoding/binary"

var le = binary.LittleEndian

// long is the length from which on the builtin copy is faster than copying word by word, in spite of
// its call.
const long = 64

// repeats maps a distance below 8 to the number of bytes of a word that whole repetitions fill.
var repeats = [8]int{1: 8, 2: 8, 3: 6, 4: 8, 5: 5, 6: 6, 7: 7}

// Copy copies n bytes to dst[out:], from back bytes before. The result is that of copying byte by
// byte: if back is less than n, the bytes repeat. back must be 1 to out, and the match must fit in
// dst. Copy may also overwrite up to 8 bytes of dst after the match.
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

// copyRepeating copies a match that overlaps itself within a word. It repeats the bytes in a register,
// because reading bytes that were just written stalls the processor.
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

// copyDoubling fills dst[out:]. Each copy includes the result of the previous ones as its source.
func copyDoubling(dst []byte, out, back int) {
	from := out - back
	for out < len(dst) {
		out += copy(dst[out:], dst[from:out])
	}
}
