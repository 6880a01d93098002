//go:build !amd64

package adler32

// sums adds a run of at most maxRun bytes to the two sums a and b.
func sums(a, b uint32, p []byte) (uint32, uint32) { return portableSums(a, b, p) }
