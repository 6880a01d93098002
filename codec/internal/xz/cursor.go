package xz

import (
	"encoding/binary"
	"hash/crc32"

	"varve/codec/internal/corrupt"
)

// cursor reads fields of src one after another.
type cursor struct {
	src  []byte
	next int
}

// take returns the next n bytes.
func (c *cursor) take(n int) ([]byte, error) {
	if n > len(c.src)-c.next {
		return nil, corrupt.Errorf("xz: truncated at byte %d, %d more bytes are needed", len(c.src), n-(len(c.src)-c.next))
	}
	p := c.src[c.next : c.next+n]
	c.next += n
	return p, nil
}

// integer reads an integer of variable length, of at most 63 bits: 7 bits per byte, the lowest first.
func (c *cursor) integer() (uint64, error) {
	v := uint64(0)
	for i := range 9 {
		b, err := c.take(1)
		if err != nil {
			return 0, err
		}
		if v |= uint64(b[0]&0x7f) << (7 * i); b[0] < 0x80 {
			if b[0] == 0 && i > 0 { // the encoding must be the shortest
				break
			}
			return v, nil
		}
	}
	return 0, corrupt.Errorf("xz: integer before byte %d is not in its shortest form, or has more than 63 bits", c.next)
}

// padding skips zeros up to a multiple of 4 bytes after start.
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

// verify returns an error unless sum is the CRC-32 of body, which ends before the cursor.
func (c *cursor) verify(body, sum []byte) error {
	if got, want := crc32.ChecksumIEEE(body), binary.LittleEndian.Uint32(sum); got != want {
		return corrupt.Errorf("xz: the header or index that ends at byte %d has CRC-32 %08x, must be %08x", c.next, got, want)
	}
	return nil
}
