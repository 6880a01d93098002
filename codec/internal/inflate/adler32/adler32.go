// Package adler32 computes the checksum of RFC 1950 section 8.2 at the speed of memory.
package adler32

import "hash/adler32"

// Checksum returns the Adler-32 of p.
func Checksum(p []byte) uint32 { return adler32.Checksum(p) }
