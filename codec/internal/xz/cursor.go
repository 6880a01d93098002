package xz

import (
	"encoding/binary"
	"hash/crc32"

	"varve/codec/internal/corrupt"
)

// cursor is a place in what is read.
type cursor struct {
	src  []byte
	next int
}

// take returns the next n bytes.
func (c *cursor) take(n int) ([]byte, error) {
	if n > len(c.src)-c.next {
		return nil, corrupt.Errorf("xz: truncated at byte %d: %d more are needed", len(c.src), n-(len(c.src)-c.next))
	}
	p := c.src[c.next : c.next+n]
	c.next += n
	return p, nil
}

// integer returns the next integer without a width, of at most 63 bits.
func (c *cursor) integer() (uint64, error) {
	v := uint64(0)
	for i := range 9 {
		b, err := c.take(1)
		if err != nil {
			return 0, err
		}
		if v |= uint64(b[0]&0x7f) << (7 * i); b[0] < 0x80 {
			if b[0] == 0 && i > 0 {
				break
			}
			return v, nil
		}
	}
	return 0, corrupt.Errorf("xz: integer before byte %d is longer than it need be, or than 63 bits", c.next)
}

// padding skips zeros up to a multiple of 4 from start on.
func (c *cursor) padding(start int) error {
	p, err := c.take(-(c.next - start) & 3)
	if err != nil {
		return err
	}
	for _, b := range p {
		if b != 0 {
			return corrupt.Errorf("xz: padding before byte %d is not zero", c.next)
		}
	}
	return nil
}

// verify checks what has just been read against its CRC-32.
func (c *cursor) verify(body, sum []byte) error {
	if got, want := crc32.ChecksumIEEE(body), binary.LittleEndian.Uint32(sum); got != want {
		return corrupt.Errorf("xz: checksum %08x of what ends before byte %d, which should be %08x", got, c.next, want)
	}
	return nil
}
