package adler32

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

// block is the number of bytes that an iteration of the vector loop processes.
const block = 64

// sums adds a run of at most maxRun bytes to the two sums a and b.
func sums(a, b uint32, p []byte) (uint32, uint32) {
	if whole := len(p) &^ (block - 1); whole > 0 && hasAVX2 {
		a, b = sumsAVX2(a, b, p[:whole])
		p = p[whole:]
	}
	return portableSums(a, b, p)
}

// sumsAVX2 is sums for a multiple of block bytes. It requires AVX2.
//
//go:noescape
func sumsAVX2(a, b uint32, p []byte) (uint32, uint32)
