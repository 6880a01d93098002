//go:build !(libdeflate && cgo)

package inflate

// forgiving is whether malformed codes may be accepted that zlib refuses.
const forgiving = false

// blocks decodes the DEFLATE stream at src[at:] and returns where it ends.
func blocks(dst, src []byte, at int) (n, end int, err error) {
	return decode(dst, src, at)
}
