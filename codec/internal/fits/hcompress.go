package fits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// HCompress decodes tiles compressed with HCOMPRESS_1 (FITS Standard 4.0, section 10.4.4): the H
// transform, a Haar transform along two axes, whose coefficients are stored as quadtrees of bits.
//
//	DD 99 │ rows(4) columns(4) scale(4) │ sum(8) │ bits(1) bits(1) bits(1) │ four quarters, 0000 │ signs
//
// Numbers in parentheses are bytes. The quarters are the coefficients of sums, of differences of
// columns, of differences of rows, and of both. A quarter is stored as bit planes, the most
// significant first. Each plane begins with four bits:
//
//	0000   uncompressed: four bits for each 2 × 2 coefficients
//	1111   a quadtree, whose nodes are Huffman codes for four bits
type HCompress struct {
	Size int // bytes per integer of the image: 1, 2 or 4
}

const (
	hcompressHead  = 25      // bytes before the quarters
	hcompressPlane = 1 << 26 // maximum number of pixels of a tile, which take 8 bytes each while decoding
)

// Check returns an error unless Size is valid.
func (p HCompress) Check() error {
	if !isSize(p.Size) {
		return fmt.Errorf("HCOMPRESS_1: image with integers of %d bytes, must be 1, 2 or 4", p.Size)
	}
	return nil
}

// Decode decodes src to dst, whose length must be the size of the tile, and returns that size.
// With a scale (lossy compression) values may be out of range for the image; they become the
// nearest limit.
func (p HCompress) Decode(dst, src []byte) (int, error) {
	if len(src) < hcompressHead || src[0] != 0xdd || src[1] != 0x99 {
		return 0, corrupt.Errorf("fits.hcompress: the tile must begin with DD 99 and have at least %d bytes (it has %d)", hcompressHead, len(src))
	}
	word := func(at int) int64 { return int64(int32(binary.BigEndian.Uint32(src[at:]))) }
	rows, columns, scale := word(2), word(6), word(10)
	out := words{dst: dst, size: p.Size, clips: scale > 1}
	n := int64(out.count())
	if rows < 1 || columns < 1 || rows*columns != n || n < 2 {
		return 0, corrupt.Errorf("fits.hcompress: %d × %d pixels at byte 2, but the tile has %d", rows, columns, n)
	}
	if n > hcompressPlane {
		return 0, fmt.Errorf("fits.hcompress: a tile of %d × %d pixels, at most %d pixels are supported: %w", rows, columns, hcompressPlane, errors.ErrUnsupported)
	}
	q := quarters{in: bitstream.Reader{Src: src[hcompressHead:]}, a: make([]int64, n), rows: int(rows), columns: int(columns)}
	if err := q.decode([3]byte(src[22:])); err != nil {
		return 0, err
	}
	q.a[0] = int64(binary.BigEndian.Uint64(src[14:]))
	if scale > 1 {
		for i := range q.a {
			q.a[i] *= scale
		}
	}
	(&transform{a: q.a, rows: q.rows, columns: q.columns}).invert()
	for i, v := range q.a {
		if err := out.put(i, v); err != nil {
			return 0, fmt.Errorf("fits.hcompress: %w", err)
		}
	}
	return len(q.a) * p.Size, nil
}

// quarters decodes the coefficients of a tile: sums, differences of columns, of rows, of both.
type quarters struct {
	in            bitstream.Reader
	a             []int64 // rows × columns coefficients
	rows, columns int
	codes         []byte // four bits for each 2 × 2 coefficients of the current bit plane
}

// decode reads all coefficients. planes are the numbers of bit planes: of sums, of differences
// of rows or columns, of differences of both.
func (q *quarters) decode(planes [3]byte) error {
	high, wide := (q.rows+1)/2, (q.columns+1)/2
	q.codes = make([]byte, (high+1)*(wide+1))
	for _, part := range []struct{ at, rows, columns, planes int }{
		{0, high, wide, int(planes[0])},
		{wide, high, q.columns / 2, int(planes[1])},
		{q.columns * high, q.rows / 2, wide, int(planes[1])},
		{q.columns*high + wide, q.rows / 2, q.columns / 2, int(planes[2])},
	} {
		if part.planes > 62 {
			return corrupt.Errorf("fits.hcompress: coefficients of %d bits at byte 22, at most 62 are allowed", part.planes)
		}
		for bit := part.planes - 1; bit >= 0; bit-- {
			if err := q.plane(part.at, part.rows, part.columns, bit); err != nil {
				return err
			}
		}
	}
	if q.in.Take(4) != 0 || q.in.Overrun() {
		return corrupt.Errorf("fits.hcompress: four zero bits must follow the coefficients")
	}
	q.in.Align() // the signs begin at the next byte boundary
	for i, v := range q.a {
		if v != 0 && q.in.Take(1) != 0 {
			q.a[i] = -v
		}
	}
	if q.in.Overrun() {
		return corrupt.Errorf("fits.hcompress: truncated in the signs")
	}
	return nil
}

// plane reads bit plane `bit` of the quarter of rows × columns coefficients that begins at a[at].
func (q *quarters) plane(at, rows, columns, bit int) error {
	high, wide := (rows+1)/2, (columns+1)/2
	switch kind := q.in.Take(4); {
	case q.in.Overrun():
		return corrupt.Errorf("fits.hcompress: truncated in the bit planes")
	case kind == 0:
		for i := range high * wide {
			q.codes[i] = byte(q.in.Take(4))
		}
	case kind == 15:
		q.quadtree(rows, columns)
	default:
		return corrupt.Errorf("fits.hcompress: bit plane of kind %d, must be 0 or 15", kind)
	}
	if q.in.Overrun() {
		return corrupt.Errorf("fits.hcompress: truncated in the bit planes")
	}
	for i := range rows {
		for j := range columns {
			q.a[at+i*q.columns+j] |= int64(bitOf(q.codes[i/2*wide+j/2], i, j)) << bit
		}
	}
	return nil
}

// quadtree reads the codes of a bit plane, from one code for the whole plane down to one for each
// 2 × 2 coefficients. A zero bit of a code means that all coefficients of its quadrant have a zero
// bit; the quadrant then has no codes.
func (q *quarters) quadtree(rows, columns int) {
	levels := logarithm(max(rows, columns))
	q.codes[0] = q.huffman()
	wide := 1
	for level := levels - 1; level > 0 && !q.in.Overrun(); level-- {
		step := 1 << level
		moreHigh, moreWide := max((rows+step-1)/step, 1), max((columns+step-1)/step, 1)
		q.expand(wide, moreHigh, moreWide)
		wide = moreWide
		for i := moreHigh*moreWide - 1; i >= 0; i-- {
			if q.codes[i] != 0 {
				q.codes[i] = q.huffman()
			}
		}
	}
}

// expand replaces each code by its four bits, for the next level of the quadtree. It works from the
// end to the beginning because the result overwrites the codes.
func (q *quarters) expand(wide, moreHigh, moreWide int) {
	for i := moreHigh - 1; i >= 0; i-- {
		for j := moreWide - 1; j >= 0; j-- {
			q.codes[i*moreWide+j] = bitOf(q.codes[i/2*wide+j/2], i, j)
		}
	}
}

// bitOf returns the bit of a code for row i and column j of its 2 × 2 block.
func bitOf(code byte, i, j int) byte { return code >> (3 - 2*(i&1) - j&1) & 1 }

// huffman reads the Huffman code of a node and returns its four bits.
func (q *quarters) huffman() byte {
	code := q.in.Take(3)
	if code < 4 {
		return 1 << code
	}
	if code = code<<1 | q.in.Take(1); code < 13 {
		return [...]byte{3, 5, 10, 12, 15}[code-8]
	}
	if code = code<<1 | q.in.Take(1); code < 31 {
		return [...]byte{6, 7, 9, 11, 13}[code-26]
	}
	if q.in.Take(1) == 0 {
		return 0
	}
	return 14
}

// logarithm returns the least k with 2^k >= n.
func logarithm(n int) int { return bits.Len(uint(n - 1)) }
