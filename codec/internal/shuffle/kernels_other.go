//go:build !amd64 || purego

package shuffle

func shuffle2(dst, src []byte, stride, n int)   { shuffle2Go(dst, src, stride, n) }
func shuffle4(dst, src []byte, stride, n int)   { shuffle4Go(dst, src, stride, n) }
func shuffle8(dst, src []byte, stride, n int)   { shuffle8Go(dst, src, stride, n) }
func unshuffle2(dst, src []byte, stride, n int) { unshuffle2Go(dst, src, stride, n) }
func unshuffle4(dst, src []byte, stride, n int) { unshuffle4Go(dst, src, stride, n) }
func unshuffle8(dst, src []byte, stride, n int) { unshuffle8Go(dst, src, stride, n) }
func transposeBits(b []byte)                    { transposeBitsGo(b) }

// hasAVX2 exists for tests that turn off the vector kernels.
var hasAVX2 = false
