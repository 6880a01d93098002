//go:build !amd64 || (libdeflate && cgo)

package inflate

// fast decodes symbols while both buffers have room.
func fast(c *cursor, t *tables, dst, src []byte) status { return portableFast(c, t, dst, src) }
