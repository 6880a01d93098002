//go:build !amd64

package adler32

func sums(a, b uint32, p []byte) (uint32, uint32) { return portableSums(a, b, p) }
