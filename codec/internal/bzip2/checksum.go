package bzip2

import "sync"

// polynomial is the polynomial of CRC-32. bzip2 processes the most significant bit first, which
// hash/crc32 cannot do.
const polynomial = 0x04c11db7

// tables returns a table for "slicing by 8": tables()[k][b] is the checksum of the byte b
// followed by k zero bytes.
var tables = sync.OnceValue(func() *[8][256]uint32 {
	t := new([8][256]uint32)
	for i := range t[0] {
		c := uint32(i) << 24
		for range 8 {
			c = c<<1 ^ polynomial&-(c>>31)
		}
		t[0][i] = c
	}
	for k := 1; k < len(t); k++ {
		for i, c := range t[k-1] {
			t[k][i] = c<<8 ^ t[0][c>>24]
		}
	}
	return t
})

// checksum returns the CRC of a block's text, 8 bytes per step.
func checksum(p []byte) uint32 {
	t := tables()
	c := ^uint32(0)
	for ; len(p) >= 8; p = p[8:] {
		c ^= uint32(p[0])<<24 | uint32(p[1])<<16 | uint32(p[2])<<8 | uint32(p[3])
		c = t[7][c>>24] ^ t[6][c>>16&0xff] ^ t[5][c>>8&0xff] ^ t[4][c&0xff] ^
			t[3][p[4]] ^ t[2][p[5]] ^ t[1][p[6]] ^ t[0][p[7]]
	}
	for _, b := range p {
		c = c<<8 ^ t[0][c>>24^uint32(b)]
	}
	return ^c
}
