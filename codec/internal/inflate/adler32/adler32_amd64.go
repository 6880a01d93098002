package adler32

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

// block is what the vector loop takes at a time.
const block = 64

func sums(a, b uint32, p []byte) (uint32, uint32) {
	if whole := len(p) &^ (block - 1); whole > 0 && hasAVX2 {
		a, b = sumsAVX2(a, b, p[:whole])
		p = p[whole:]
	}
	return portableSums(a, b, p)
}

// sumsAVX2 adds a run of at most maxRun bytes, a multiple of block, to the two sums.
//
//go:noescape
func sumsAVX2(a, b uint32, p []byte) (uint32, uint32)
