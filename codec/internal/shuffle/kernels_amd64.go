//go:build amd64 && !purego

package shuffle

import "golang.org/x/sys/cpu"

// hasAVX2 selects the AVX2 kernels. Otherwise the SSE2 kernels are used, which every amd64 processor
// supports. It is a variable so that tests can turn it off.
var hasAVX2 = cpu.X86.HasAVX2

// The assembly moves n elements. n must be a positive multiple of 32 (AVX2) or 16 (SSE2). It checks no
// bounds.

//go:noescape
func shuffle2AVX2(dst, src *byte, stride, n int)

//go:noescape
func shuffle4AVX2(dst, src *byte, stride, n int)

//go:noescape
func shuffle8AVX2(dst, src *byte, stride, n int)

//go:noescape
func unshuffle2AVX2(dst, src *byte, stride, n int)

//go:noescape
func unshuffle4AVX2(dst, src *byte, stride, n int)

//go:noescape
func unshuffle8AVX2(dst, src *byte, stride, n int)

//go:noescape
func shuffle2SSE2(dst, src *byte, stride, n int)

//go:noescape
func shuffle4SSE2(dst, src *byte, stride, n int)

//go:noescape
func shuffle8SSE2(dst, src *byte, stride, n int)

//go:noescape
func unshuffle2SSE2(dst, src *byte, stride, n int)

//go:noescape
func unshuffle4SSE2(dst, src *byte, stride, n int)

//go:noescape
func unshuffle8SSE2(dst, src *byte, stride, n int)

// transposeBitsAVX2 transposes n bytes; n must be a positive multiple of 32. For transposeBitsSSE2 it
// must be a positive multiple of 16.
//
//go:noescape
func transposeBitsAVX2(b *byte, n int)

//go:noescape
func transposeBitsSSE2(b *byte, n int)

// vectorElems returns the number of elements, of n, that the vector kernels can move. It panics, as
// slicing would, if the elements or their planes exceed the slices, because the assembly does not check.
func vectorElems(elems, planes []byte, size, stride, n int) int {
	if n == 0 {
		return 0
	}
	_, _ = elems[n*size-1], planes[(size-1)*stride+n-1]
	if hasAVX2 {
		return n &^ 31
	}
	return n &^ 15
}

func shuffle2(dst, src []byte, stride, n int) {
	v := vectorElems(src, dst, 2, stride, n)
	if v > 0 && hasAVX2 {
		shuffle2AVX2(&dst[0], &src[0], stride, v)
	} else if v > 0 {
		shuffle2SSE2(&dst[0], &src[0], stride, v)
	}
	shuffle2Go(dst[v:], src[2*v:], stride, n-v)
}

func shuffle4(dst, src []byte, stride, n int) {
	v := vectorElems(src, dst, 4, stride, n)
	if v > 0 && hasAVX2 {
		shuffle4AVX2(&dst[0], &src[0], stride, v)
	} else if v > 0 {
		shuffle4SSE2(&dst[0], &src[0], stride, v)
	}
	shuffle4Go(dst[v:], src[4*v:], stride, n-v)
}

func shuffle8(dst, src []byte, stride, n int) {
	v := vectorElems(src, dst, 8, stride, n)
	if v > 0 && hasAVX2 {
		shuffle8AVX2(&dst[0], &src[0], stride, v)
	} else if v > 0 {
		shuffle8SSE2(&dst[0], &src[0], stride, v)
	}
	shuffle8Go(dst[v:], src[8*v:], stride, n-v)
}

func unshuffle2(dst, src []byte, stride, n int) {
	v := vectorElems(dst, src, 2, stride, n)
	if v > 0 && hasAVX2 {
		unshuffle2AVX2(&dst[0], &src[0], stride, v)
	} else if v > 0 {
		unshuffle2SSE2(&dst[0], &src[0], stride, v)
	}
	unshuffle2Go(dst[2*v:], src[v:], stride, n-v)
}

func unshuffle4(dst, src []byte, stride, n int) {
	v := vectorElems(dst, src, 4, stride, n)
	if v > 0 && hasAVX2 {
		unshuffle4AVX2(&dst[0], &src[0], stride, v)
	} else if v > 0 {
		unshuffle4SSE2(&dst[0], &src[0], stride, v)
	}
	unshuffle4Go(dst[4*v:], src[v:], stride, n-v)
}

func unshuffle8(dst, src []byte, stride, n int) {
	v := vectorElems(dst, src, 8, stride, n)
	if v > 0 && hasAVX2 {
		unshuffle8AVX2(&dst[0], &src[0], stride, v)
	} else if v > 0 {
		unshuffle8SSE2(&dst[0], &src[0], stride, v)
	}
	unshuffle8Go(dst[8*v:], src[v:], stride, n-v)
}

func transposeBits(b []byte) {
	v := 0
	if hasAVX2 {
		if v = len(b) &^ 31; v > 0 {
			transposeBitsAVX2(&b[0], v)
		}
	} else if v = len(b) &^ 15; v > 0 {
		transposeBitsSSE2(&b[0], v)
	}
	transposeBitsGo(b[v:])
}
