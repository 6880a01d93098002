// Package shuffle reorders the bytes, or the bits, of packed elements so that what is
// alike lies together: HDF5's filter 2 and the shuffle of Blosc (bytes), and bitshuffle
// as HDF5's filter 32008, Blosc1 and Blosc2 have it (bits).
//
// Byte shuffle turns n elements of e bytes into e planes of n bytes. Bytes after the last
// whole element stay where they are (HDF5 File Format Specification, "Shuffle filter"):
//
//	elements  a0 a1 a2 a3 | b0 b1 b2 b3 | c0 c1 c2 c3 | t
//	planes    a0 b0 c0 | a1 b1 c1 | a2 b2 c2 | a3 b3 c3 | t
//
// Bit shuffle cuts each plane into eight rows of n/8 bytes: row k holds bit k of every
// byte of the plane, the first element in the least significant bit. It needs whole groups
// of eight elements; who uses it decides what becomes of the rest, see BitShuffle.
//
// The work is done by kernels for elements of 2, 4 and 8 bytes, in assembly on amd64 (AVX2,
// else SSE2) with twins in Go. Any other size is put together from these: 12 bytes are a
// group of 8 planes and one of 4.
package shuffle

// tileBytes is how much a tile of elements takes in the scratch on the stack: small
// enough that scratch, source and destination of a tile stay in the first-level cache.
const tileBytes = 8192

// Shuffle writes the planes of src's elements of elemSize bytes to dst, which must be at
// least as long as src and not overlap it. Element sizes below 2 copy.
func Shuffle(dst, src []byte, elemSize int) {
	dst = dst[:len(src)]
	if elemSize < 2 || len(src) < elemSize {
		copy(dst, src)
		return
	}
	n := len(src) / elemSize
	whole := n * elemSize
	shufflePlanes(dst[:whole], src[:whole], n, elemSize)
	copy(dst[whole:], src[whole:])
}

// Unshuffle is the inverse of Shuffle.
func Unshuffle(dst, src []byte, elemSize int) {
	dst = dst[:len(src)]
	if elemSize < 2 || len(src) < elemSize {
		copy(dst, src)
		return
	}
	n := len(src) / elemSize
	whole := n * elemSize
	unshufflePlanes(dst[:whole], src[:whole], n, elemSize)
	copy(dst[whole:], src[whole:])
}

func shufflePlanes(dst, src []byte, stride, size int) {
	n := len(src) / size
	switch size {
	case 2:
		shuffle2(dst, src, stride, n)
	case 4:
		shuffle4(dst, src, stride, n)
	case 8:
		shuffle8(dst, src, stride, n)
	default:
		shuffleWide(dst, src, stride, size)
	}
}

// unshufflePlanes joins the first n bytes of each plane, n being what dst has room for;
// the planes begin stride bytes apart in src.
func unshufflePlanes(dst, src []byte, stride, size int) {
	n := len(dst) / size
	switch size {
	case 2:
		unshuffle2(dst, src, stride, n)
	case 4:
		unshuffle4(dst, src, stride, n)
	case 8:
		unshuffle8(dst, src, stride, n)
	default:
		unshuffleWide(dst, src, stride, size)
	}
}

// shuffleWide gathers the bytes of a group of planes from a tile of elements into scratch,
// so that they look like elements of 8, 4 or 2 bytes, and lets a kernel do the rest.
func shuffleWide(dst, src []byte, stride, size int) {
	var scratch [tileBytes]byte
	n := len(src) / size
	for plane := 0; plane < size; {
		group := groupSize(size - plane)
		out := dst[plane*stride:]
		if group == 1 {
			gather1(out[:n], src[plane:], size)
		} else {
			tile := tileBytes / group
			for first := 0; first < n; first += tile {
				m := min(tile, n-first)
				gather(scratch[:m*group], src[first*size+plane:], size, group)
				shufflePlanes(out[first:], scratch[:m*group], stride, group)
			}
		}
		plane += group
	}
}

func unshuffleWide(dst, src []byte, stride, size int) {
	var scratch [tileBytes]byte
	n := len(dst) / size
	for plane := 0; plane < size; {
		group := groupSize(size - plane)
		in := src[plane*stride:]
		if group == 1 {
			scatter1(dst[plane:], in[:n], size)
		} else {
			tile := tileBytes / group
			for first := 0; first < n; first += tile {
				m := min(tile, n-first)
				unshufflePlanes(scratch[:m*group], in[first:], stride, group)
				scatter(dst[first*size+plane:], scratch[:m*group], size, group)
			}
		}
		plane += group
	}
}

// groupSize is the largest kernel that fits in the planes left.
func groupSize(planes int) int {
	switch {
	case planes >= 8:
		return 8
	case planes >= 4:
		return 4
	case planes >= 2:
		return 2
	}
	return 1
}
