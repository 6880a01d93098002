package shuffle

import "encoding/binary"

// The kernels in Go. They move n elements between elements and planes that begin stride bytes apart:
// eight at a time in 64-bit words, the last ones byte by byte.

var le = binary.LittleEndian

// interleave8 interleaves the bytes of the low halves of a and b: a0 b0 a1 b1 a2 b2 a3 b3.
func interleave8(a, b uint64) uint64 {
	return spread8(a) | spread8(b)<<8
}

// spread8 moves the low four bytes of x to the even bytes of the result.
func spread8(x uint64) uint64 {
	x &= 0xFFFFFFFF
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	return (x | x<<8) & 0x00FF00FF00FF00FF
}

// pack8 is the inverse of spread8.
func pack8(x uint64) uint64 {
	x &= 0x00FF00FF00FF00FF
	x = (x | x>>8) & 0x0000FFFF0000FFFF
	return (x | x>>16) & 0xFFFFFFFF
}

// transpose8 transposes the 8 × 8 bytes in w. It exchanges halves of words that are 4 apart, then
// quarters of words 2 apart, then bytes of adjacent words.
func transpose8(w *[8]uint64) {
	a, b, c, d, e, f, g, h := w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
	a, e = swap(a, e, 32, 0x00000000FFFFFFFF)
	b, f = swap(b, f, 32, 0x00000000FFFFFFFF)
	c, g = swap(c, g, 32, 0x00000000FFFFFFFF)
	d, h = swap(d, h, 32, 0x00000000FFFFFFFF)
	a, c = swap(a, c, 16, 0x0000FFFF0000FFFF)
	b, d = swap(b, d, 16, 0x0000FFFF0000FFFF)
	e, g = swap(e, g, 16, 0x0000FFFF0000FFFF)
	f, h = swap(f, h, 16, 0x0000FFFF0000FFFF)
	a, b = swap(a, b, 8, 0x00FF00FF00FF00FF)
	c, d = swap(c, d, 8, 0x00FF00FF00FF00FF)
	e, f = swap(e, f, 8, 0x00FF00FF00FF00FF)
	g, h = swap(g, h, 8, 0x00FF00FF00FF00FF)
	w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7] = a, b, c, d, e, f, g, h
}

// swap exchanges the bits of b under mask with the bits of a under mask<<shift.
func swap(a, b uint64, shift uint, mask uint64) (uint64, uint64) {
	t := (a>>shift ^ b) & mask
	return a ^ t<<shift, b ^ t
}

func unshuffle2Go(dst, src []byte, stride, n int) {
	i := 0
	for ; i+8 <= n; i += 8 {
		a, b := le.Uint64(src[i:]), le.Uint64(src[stride+i:])
		out := dst[2*i : 2*i+16]
		le.PutUint64(out, interleave8(a, b))
		le.PutUint64(out[8:], interleave8(a>>32, b>>32))
	}
	unshuffleBytes(dst, src, span{stride, i, n}, 2)
}

func unshuffle4Go(dst, src []byte, stride, n int) {
	i := 0
	for ; i+4 <= n; i += 4 {
		ac := interleave8(uint64(le.Uint32(src[i:])), uint64(le.Uint32(src[2*stride+i:])))
		bd := interleave8(uint64(le.Uint32(src[stride+i:])), uint64(le.Uint32(src[3*stride+i:])))
		out := dst[4*i : 4*i+16]
		le.PutUint64(out, interleave8(ac, bd))
		le.PutUint64(out[8:], interleave8(ac>>32, bd>>32))
	}
	unshuffleBytes(dst, src, span{stride, i, n}, 4)
}

func unshuffle8Go(dst, src []byte, stride, n int) {
	var w [8]uint64
	i := 0
	for ; i+8 <= n; i += 8 {
		for p := range w {
			w[p] = le.Uint64(src[p*stride+i:])
		}
		transpose8(&w)
		out := dst[8*i : 8*i+64]
		for p := range w {
			le.PutUint64(out[8*p:], w[p])
		}
	}
	unshuffleBytes(dst, src, span{stride, i, n}, 8)
}

func shuffle2Go(dst, src []byte, stride, n int) {
	i := 0
	for ; i+8 <= n; i += 8 {
		in := src[2*i : 2*i+16]
		x, y := le.Uint64(in), le.Uint64(in[8:])
		le.PutUint64(dst[i:], pack8(x)|pack8(y)<<32)
		le.PutUint64(dst[stride+i:], pack8(x>>8)|pack8(y>>8)<<32)
	}
	shuffleBytes(dst, src, span{stride, i, n}, 2)
}

func shuffle4Go(dst, src []byte, stride, n int) {
	i := 0
	for ; i+4 <= n; i += 4 {
		in := src[4*i : 4*i+16]
		x, y := le.Uint64(in), le.Uint64(in[8:])
		ac, bd := pack8(x)|pack8(y)<<32, pack8(x>>8)|pack8(y>>8)<<32
		le.PutUint32(dst[i:], uint32(pack8(ac)))
		le.PutUint32(dst[stride+i:], uint32(pack8(bd)))
		le.PutUint32(dst[2*stride+i:], uint32(pack8(ac>>8)))
		le.PutUint32(dst[3*stride+i:], uint32(pack8(bd>>8)))
	}
	shuffleBytes(dst, src, span{stride, i, n}, 4)
}

func shuffle8Go(dst, src []byte, stride, n int) {
	var w [8]uint64
	i := 0
	for ; i+8 <= n; i += 8 {
		in := src[8*i : 8*i+64]
		for p := range w {
			w[p] = le.Uint64(in[8*p:])
		}
		transpose8(&w)
		for p := range w {
			le.PutUint64(dst[p*stride+i:], w[p])
		}
	}
	shuffleBytes(dst, src, span{stride, i, n}, 8)
}

// A span is the elements [from, to) of planes that begin stride bytes apart.
type span struct{ stride, from, to int }

func unshuffleBytes(dst, src []byte, s span, size int) {
	for p := range size {
		for i := s.from; i < s.to; i++ {
			dst[i*size+p] = src[p*s.stride+i]
		}
	}
}

func shuffleBytes(dst, src []byte, s span, size int) {
	for p := range size {
		for i := s.from; i < s.to; i++ {
			dst[p*s.stride+i] = src[i*size+p]
		}
	}
}

// gather copies the first group bytes of every size bytes of src to dst, until dst is full. group is 8,
// 4 or 2. scatter is its inverse.
func gather(dst, src []byte, size, group int) {
	at := 0
	switch group {
	case 8:
		for ; len(dst) >= 8; dst, at = dst[8:], at+size {
			le.PutUint64(dst, le.Uint64(src[at:]))
		}
	case 4:
		for ; len(dst) >= 4; dst, at = dst[4:], at+size {
			le.PutUint32(dst, le.Uint32(src[at:]))
		}
	case 2:
		for ; len(dst) >= 2; dst, at = dst[2:], at+size {
			le.PutUint16(dst, le.Uint16(src[at:]))
		}
	}
}

func scatter(dst, src []byte, size, group int) {
	at := 0
	switch group {
	case 8:
		for ; len(src) >= 8; src, at = src[8:], at+size {
			le.PutUint64(dst[at:], le.Uint64(src))
		}
	case 4:
		for ; len(src) >= 4; src, at = src[4:], at+size {
			le.PutUint32(dst[at:], le.Uint32(src))
		}
	case 2:
		for ; len(src) >= 2; src, at = src[2:], at+size {
			le.PutUint16(dst[at:], le.Uint16(src))
		}
	}
}

func gather1(dst, src []byte, size int) {
	for i := range dst {
		dst[i] = src[i*size]
	}
}

func scatter1(dst, src []byte, size int) {
	for i, b := range src {
		dst[i*size] = b
	}
}

// transposeBitsGo transposes each 8 bytes of b as a matrix of 8 × 8 bits, in place: it exchanges bit i
// of byte k with bit k of byte i. Bytes after the last 8 do not change.
func transposeBitsGo(b []byte) {
	for ; len(b) >= 8; b = b[8:] {
		x := le.Uint64(b)
		t := (x ^ x>>7) & 0x00AA00AA00AA00AA
		x ^= t ^ t<<7
		t = (x ^ x>>14) & 0x0000CCCC0000CCCC
		x ^= t ^ t<<14
		t = (x ^ x>>28) & 0x00000000F0F0F0F0
		x ^= t ^ t<<28
		le.PutUint64(b, x)
	}
}
