//go:build !amd64 && !arm64

package codec

// unscaleFused decodes nothing here, where elements cannot be looked at as words.
func unscaleFused(scaling, conversion) bool { return false }
