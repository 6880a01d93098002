package zstd

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// block decodes one block (RFC 8878, section 3.1.1.2) and reports whether it is the last one.
func (d *decoder) block() (last bool, err error) {
	if len(d.src)-d.ip < 3 {
		return false, d.truncated("a block's header")
	}
	at := d.ip
	h := int(d.src[at]) | int(d.src[at+1])<<8 | int(d.src[at+2])<<16
	d.ip += 3
	last, kind, size := h&1 != 0, h>>1&3, h>>3
	if kind == 3 {
		return last, corrupt.Errorf("zstd: block type 3 at offset %d, must be 0 to 2", at)
	}
	if size > d.blockMax {
		return last, corrupt.Errorf("zstd: block of %d bytes at offset %d, at most %d are allowed", size, at, d.blockMax)
	}
	stored := size
	if kind == 1 { // run of one byte
		stored = 1
	}
	if stored > len(d.src)-d.ip {
		return last, d.truncated("a block")
	}
	body := d.src[d.ip : d.ip+stored]
	if kind != 2 && size > len(d.dst)-d.op {
		return last, d.overflow()
	}
	switch kind {
	case 0:
		copy(d.dst[d.op:], body)
		d.op += size
	case 1:
		repeat(d.dst[d.op:d.op+size], body[0])
		d.op += size
	default:
		err = d.compressed(body)
	}
	d.ip += stored
	return last, err
}

// repeat sets all bytes of b to v.
func repeat(b []byte, v byte) {
	if v == 0 { // the usual case for arrays, and clear is fastest
		clear(b)
		return
	}
	word := uint64(v) * 0x0101010101010101
	for ; len(b) >= 32; b = b[32:] {
		binary.LittleEndian.PutUint64(b, word)
		binary.LittleEndian.PutUint64(b[8:], word)
		binary.LittleEndian.PutUint64(b[16:], word)
		binary.LittleEndian.PutUint64(b[24:], word)
	}
	for i := range b {
		b[i] = v
	}
}

// compressed decodes the body of a compressed block (section 3.1.1.3).
func (d *decoder) compressed(body []byte) error {
	used, err := d.readLiterals(body)
	if err == nil {
		err = d.sequences(body[used:])
	}
	if err != nil {
		return corrupt.Errorf("zstd: block at offset %d: %w", d.ip, err)
	}
	return nil
}

// The types of a literals section.
const (
	rawLiterals = iota
	rleLiterals
	huffLiterals
	treelessLiterals
)

// literalRoom is the number of bytes that may be read past the literals.
const literalRoom = 32

// readLiterals sets d.literals and returns the length of the literals section.
func (d *decoder) readLiterals(body []byte) (used int, err error) {
	if len(body) == 0 {
		return 0, corrupt.Errorf("the literals section is missing")
	}
	kind, format := body[0]&3, body[0]>>2&3
	if kind == huffLiterals || kind == treelessLiterals {
		return d.huffLiterals(body, kind, format)
	}
	header, shift := 1, 3
	switch format {
	case 1:
		header, shift = 2, 4
	case 3:
		header, shift = 3, 4
	}
	size, err := bitsOf(body, header, shift, 8*header-shift)
	if err != nil {
		return 0, err
	}
	if size > d.blockMax {
		return 0, tooManyLiterals(size, d.blockMax)
	}
	if kind == rleLiterals {
		if len(body) <= header {
			return 0, corrupt.Errorf("truncated in its literals")
		}
		d.literals = d.scratch[:size]
		repeat(d.literals, body[header])
		return header + 1, nil
	}
	if size > len(body)-header {
		return 0, corrupt.Errorf("%d literals, only %d bytes are left", size, len(body)-header)
	}
	d.literals = d.padded(body[header : header+size])
	return header + size, nil
}

// padded returns the literals in memory that may be read up to literalRoom bytes past their end.
func (d *decoder) padded(literals []byte) []byte {
	if cap(literals)-len(literals) >= literalRoom {
		return literals
	}
	return d.scratch[:copy(d.scratch[:], literals)]
}

// huffLiterals decodes Huffman-coded literals, with a new code or that of the previous block.
func (d *decoder) huffLiterals(body []byte, kind, format byte) (used int, err error) {
	header, width := 3, 10
	switch format {
	case 2:
		header, width = 4, 14
	case 3:
		header, width = 5, 18
	}
	size, err := bitsOf(body, header, 4, width)
	if err != nil {
		return 0, err
	}
	stored, _ := bitsOf(body, header, 4+width, width)
	if size > d.blockMax {
		return 0, tooManyLiterals(size, d.blockMax)
	}
	if stored > len(body)-header {
		return 0, corrupt.Errorf("%d bytes of literals, only %d are left", stored, len(body)-header)
	}
	coded := body[header : header+stored]
	if kind == huffLiterals {
		n, err := d.readHuff(coded)
		if err != nil {
			return 0, err
		}
		coded = coded[n:]
	} else if !d.hasHuff {
		return 0, corrupt.Errorf("literals use the Huffman code of the previous block, but it has none")
	}
	d.literals = d.scratch[:size]
	if format == 0 {
		err = d.huff.one(d.literals, coded)
	} else {
		err = d.four(coded)
	}
	return header + stored, err
}

// bitsOf returns the width bits from bit shift on of a little-endian header of the given bytes.
func bitsOf(body []byte, header, shift, width int) (int, error) {
	if len(body) < header {
		return 0, corrupt.Errorf("truncated in the header of its literals")
	}
	v := 0
	for i := range header {
		v |= int(body[i]) << (8 * i)
	}
	return v >> shift & (1<<width - 1), nil
}

// tooManyLiterals returns the error for a literals section that is larger than a block.
func tooManyLiterals(n, most int) error {
	return corrupt.Errorf("%d literals, at most %d are allowed", n, most)
}
