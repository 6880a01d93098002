package xz

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/crc64"

	"varve/codec/internal/corrupt"
)

// check is the kind of checksum that verifies the text of blocks.
type check uint8

const (
	checkNone   check = 0
	checkCRC32  check = 1
	checkCRC64  check = 4
	checkSHA256 check = 10
)

// checkOf returns the check in the two bytes of a stream's flags.
func checkOf(reserved, kind byte) (check, error) {
	if reserved != 0 || kind > 15 {
		return 0, fmt.Errorf("xz: stream flags %02x %02x: %w", reserved, kind, errors.ErrUnsupported)
	}
	switch c := check(kind); c {
	case checkNone, checkCRC32, checkCRC64, checkSHA256:
		return c, nil
	}
	return 0, fmt.Errorf("xz: check %d, supported are none (0), CRC-32 (1), CRC-64 (4) and SHA-256 (10): %w", kind, errors.ErrUnsupported)
}

// size returns the bytes of a checksum.
func (c check) size() int {
	switch c {
	case checkCRC32:
		return crc32.Size
	case checkCRC64:
		return crc64.Size
	case checkSHA256:
		return sha256.Size
	}
	return 0
}

// matches reports whether sum is the checksum of text.
func (c check) matches(text, sum []byte) bool {
	switch c {
	case checkCRC32:
		return crc32.ChecksumIEEE(text) == binary.LittleEndian.Uint32(sum)
	case checkCRC64:
		return crc64.Checksum(text, crc64.MakeTable(crc64.ECMA)) == binary.LittleEndian.Uint64(sum)
	case checkSHA256:
		got := sha256.Sum256(text)
		return bytes.Equal(got[:], sum)
	}
	return true
}

// header holds the sizes in a block's header: of the compressed data and of the text. A missing size is
// unknown.
type header struct{ packed, text uint64 }

const unknown = 1<<64 - 1

// block decodes a block to dst, records its sizes for the check of the index, and returns the decoded
// length.
func (d *decoder) block(dst []byte, c check) (int, error) {
	start := d.next
	h, err := d.header()
	if err != nil {
		return 0, err
	}
	data := d.next
	n, err := d.lzma2(dst)
	if err != nil {
		return 0, err
	}
	if d.isFull() {
		undoDeltas(dst[:n], d.chain)
		return n, nil
	}
	packed := d.next - data
	if h.packed != unknown && h.packed != uint64(packed) || h.text != unknown && h.text != uint64(n) {
		return 0, corrupt.Errorf("xz: block at byte %d has %d compressed and %d decoded bytes, but its header has other sizes", start, packed, n)
	}
	undoDeltas(dst[:n], d.chain)
	unpadded := d.next - start + c.size()
	if err := d.padding(data); err != nil {
		return 0, err
	}
	sum, err := d.take(c.size())
	if err != nil {
		return 0, err
	}
	if !c.matches(dst[:n], sum) {
		return 0, corrupt.Errorf("xz: the text of the block at byte %d does not match its checksum", start)
	}
	d.blocks = append(d.blocks, record{uint64(unpadded), uint64(n)})
	return n, nil
}

// header reads a block's header. It sets d.chain to the filters to undo.
func (d *decoder) header() (header, error) {
	start := d.next
	first, err := d.take(1)
	if err != nil {
		return header{}, err
	}
	body, err := d.take(4*int(first[0]) + 3)
	if err != nil {
		return header{}, err
	}
	if err := d.verify(d.src[start:d.next-4], d.src[d.next-4:d.next]); err != nil {
		return header{}, err
	}
	if body[0]&0x3c != 0 {
		return header{}, fmt.Errorf("xz: flags %02x of the block at byte %d: %w", body[0], start, errors.ErrUnsupported)
	}
	// Fields must not extend past the header, so they are read by a cursor that ends with it.
	fields := cursor{src: d.src[:d.next-4], next: start + 2}
	h, err := fields.sizes(body[0])
	if err != nil {
		return h, err
	}
	d.chain = d.chain[:0]
	for range body[0]&3 + 1 {
		f, err := fields.filter()
		if err != nil {
			return h, err
		}
		d.chain = append(d.chain, f)
	}
	for _, b := range fields.src[fields.next:] {
		if b != 0 {
			return h, fmt.Errorf("xz: unknown field in the block header at byte %d: %w", fields.next, errors.ErrUnsupported)
		}
	}
	return h, d.checkChain()
}

// checkChain returns an error unless the filters are any number of Delta, then LZMA2. It removes LZMA2, so
// that d.chain holds the filters to undo after it.
func (d *decoder) checkChain() error {
	last := len(d.chain) - 1
	switch id := d.chain[last].ID; id {
	case LZMA2:
		d.chain = d.chain[:last]
		return checkDeltas(d.chain)
	case Delta:
		return corrupt.Errorf("xz: the last filter before byte %d is Delta, must be LZMA2", d.next)
	default:
		return fmt.Errorf("xz: the last filter is %#x, supported is only LZMA2 (%#x): %w", id, LZMA2, errors.ErrUnsupported)
	}
}

// sizes reads the optional sizes in a block's header.
func (c *cursor) sizes(flags byte) (h header, err error) {
	h = header{unknown, unknown}
	if flags&0x40 != 0 {
		h.packed, err = c.integer()
	}
	if err == nil && flags&0x80 != 0 {
		h.text, err = c.integer()
	}
	return h, err
}

// filter reads a filter and its properties.
func (c *cursor) filter() (Filter, error) {
	id, err := c.integer()
	if err != nil {
		return Filter{}, err
	}
	size, err := c.integer()
	if err != nil {
		return Filter{}, err
	}
	if size > uint64(len(c.src)-c.next) {
		return Filter{}, corrupt.Errorf("xz: filter before byte %d has properties of %d bytes, only %d are left", c.next, size, len(c.src)-c.next)
	}
	properties := c.src[c.next : c.next+int(size)]
	c.next += int(size)
	f := Filter{ID: id}
	switch {
	case id == Delta && size == 1:
		f.Distance = int(properties[0]) + 1
	case id == LZMA2 && size == 1 && properties[0] <= 40: // a dictionary of up to 4 GiB
	case id == Delta || id == LZMA2:
		return f, corrupt.Errorf("xz: invalid properties % x of the filter before byte %d", properties, c.next)
	}
	return f, nil
}
