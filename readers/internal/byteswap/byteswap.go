// Package byteswap changes the byte order of elements.
package byteswap

import (
	"encoding/binary"
	"slices"
)

// Elements reverses the bytes of each element of size bytes.
func Elements(b []byte, size int) {
	switch size {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			b[0], b[1] = b[1], b[0]
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.BigEndian.PutUint32(b, binary.LittleEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.BigEndian.PutUint64(b, binary.LittleEndian.Uint64(b))
		}
	default:
		for ; len(b) >= size; b = b[size:] {
			slices.Reverse(b[:size])
		}
	}
}
