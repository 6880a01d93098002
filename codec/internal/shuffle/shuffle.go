// Package shuffle implements byte shuffle (HDF5's filter 2, Blosc) and bit shuffle (HDF5's filter
// 32008, Blosc1, Blosc2). They reorder the bytes or bits of packed elements so that similar bytes are
// adjacent, which makes them easier to compress.
//
// Byte shuffle turns n elements of e bytes into e planes of n bytes. Bytes after the last whole element
// do not move (HDF5 File Format Specification, "Shuffle filter"):
//
//	elements  a0 a1 a2 a3 | b0 b1 b2 b3 | c0 c1 c2 c3 | t
//	planes    a0 b0 c0 | a1 b1 c1 | a2 b2 c2 | a3 b3 c3 | t
//
// For example, the elements 0102 and 0304 become 01 03 │ 02 04.
//
// Bit shuffle splits each plane into eight rows of n/8 bytes. Row k holds bit k of every byte of the
// plane, with the first element in the least significant bit. It needs whole groups of eight elements;
// formats differ in how they treat the rest, see BitShuffle.
//
// Kernels exist for elements of 2, 4 and 8 bytes: in assembly on amd64 (AVX2, else SSE2) and in Go.
// Other sizes combine them: elements of 12 bytes are a group of 8 planes and a group of 4.
package shuffle

// tileBytes is the size of a tile of elements. A tile in scratch memory on the stack, its source and
// its destination together fit in the first-level cache.
const tileBytes = 8192

// Shuffle writes the planes of src's elements of elemSize bytes to dst, which must be at least as long
// as src and not overlap it. If elemSize is below 2, it copies src.
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

// shufflePlanes splits all elements of src into planes, which begin stride bytes apart in dst.
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

// unshufflePlanes fills dst with elements, from planes that begin stride bytes apart in src.
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

// shuffleWide is shufflePlanes for other sizes than 2, 4 and 8. For each group of 8, 4 or 2 planes, it
// gathers their bytes from a tile of elements, and shuffles these with the kernel of that size.
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

// unshuffleWide is the inverse of shuffleWide.
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

// groupSize returns the size of the largest kernel for at most the given number of planes.
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
