//go:build !(libdeflate && cgo)

package inflate

// isLenient reports whether this build may accept malformed codes that zlib rejects.
const isLenient = false

// blocks decodes the DEFLATE stream at src[at:] to dst. It returns the decoded length and the end of
// the stream in src.
func blocks(dst, src []byte, at int) (n, end int, err error) {
	return decode(dst, src, at)
}
