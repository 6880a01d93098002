//go:build !amd64 || (libdeflate && cgo)

package inflate

// fast decodes symbols while src and dst have fastIn and fastOut bytes left.
func fast(c *cursor, t *tables, dst, src []byte) status { return portableFast(c, t, dst, src) }
