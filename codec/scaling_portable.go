//go:build !amd64 && !arm64

package codec

// decodeFused returns false: these machines have no view of bytes as elements.
func decodeFused(scaling, conversion) bool { return false }
