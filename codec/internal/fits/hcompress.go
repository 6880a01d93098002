package fits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// HCompress says how a plane was compressed by HCOMPRESS_1: by the H transform, a Haar transform
// of two axes, whose coefficients are stored bit by bit as quadtrees.
//
//	DD 99 │ rows(4) columns(4) scale(4) │ sum(8) │ bits(1) bits(1) bits(1) │ four quarters, 0 │ signs
//
// A quarter is its planes of bits, the highest first, each of them behind four bits: 0 if the plane
// is stored as it is, four bits for two by two of them, and 15 for Huffman codes of these.
type HCompress struct {
	Size int // of an integer of the image
}

const (
	hcompressHead  = 25      // bytes before the quarters
	hcompressPlane = 1 << 26 // numbers of a plane, each of which takes eight bytes on its way
)

// Check returns an error unless there are such integers.
func (p HCompress) Check() error {
	if !isSize(p.Size) {
		return fmt.Errorf("HCOMPRESS_1 of images of %d bytes, not 1, 2 or 4", p.Size)
	}
	return nil
}

// Decode decodes src to dst, which has room for exactly the integers of the tile, and returns how
// many bytes it decodes to. With a scale, numbers may come out beyond what the image holds, and
// become the nearest that it does.
func (p HCompress) Decode(dst, src []byte) (int, error) {
	if len(src) < hcompressHead || src[0] != 0xdd || src[1] != 0x99 {
		return 0, corrupt.Errorf("fits.hcompress: %d bytes do not begin with DD 99 and a head of %d", len(src), hcompressHead)
	}
	word := func(at int) int64 { return int64(int32(binary.BigEndian.Uint32(src[at:]))) }
	rows, columns, scale := word(2), word(6), word(10)
	out := words{dst: dst, size: p.Size, clip: scale > 1}
	n := int64(out.count())
	if rows < 1 || columns < 1 || rows*columns != n || n < 2 {
		return 0, corrupt.Errorf("fits.hcompress: %d × %d numbers, of a tile of %d", rows, columns, n)
	}
	if n > hcompressPlane {
		return 0, fmt.Errorf("fits.hcompress: a tile of %d × %d numbers, more than %d: %w", rows, columns, hcompressPlane, errors.ErrUnsupported)
	}
	q := quarters{in: bitReader{src: src[hcompressHead:]}, a: make([]int64, n), rows: int(rows), columns: int(columns)}
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

// quarters are the coefficients of a plane: sums, differences of rows, of columns, of both.
type quarters struct {
	in            bitReader
	a             []int64
	rows, columns int
	codes         []byte // four bits for two by two coefficients
}

// decode reads all coefficients, of which each kind has so many planes of bits.
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
			return corrupt.Errorf("fits.hcompress: coefficients of %d bits", part.planes)
		}
		for bit := part.planes - 1; bit >= 0; bit-- {
			if err := q.plane(part.at, part.rows, part.columns, bit); err != nil {
				return err
			}
		}
	}
	if q.in.take(4) != 0 || q.in.missing {
		return corrupt.Errorf("fits.hcompress: no zero stands behind the coefficients")
	}
	q.in = bitReader{src: q.in.rest()}
	for i, v := range q.a {
		if v != 0 && q.in.take(1) != 0 {
			q.a[i] = -v
		}
	}
	if q.in.missing {
		return corrupt.Errorf("fits.hcompress: the signs end too early")
	}
	return nil
}

// plane reads a plane of bits of the coefficients that begin at a place.
func (q *quarters) plane(at, rows, columns, bit int) error {
	high, wide := (rows+1)/2, (columns+1)/2
	switch how := q.in.take(4); {
	case q.in.missing:
		return corrupt.Errorf("fits.hcompress: the planes of bits end too early")
	case how == 0:
		for i := range high * wide {
			q.codes[i] = byte(q.in.take(4))
		}
	case how == 15:
		q.quadtree(rows, columns)
	default:
		return corrupt.Errorf("fits.hcompress: a plane of bits of kind %d, not 0 or 15", how)
	}
	if q.in.missing {
		return corrupt.Errorf("fits.hcompress: the planes of bits end too early")
	}
	for i := range rows {
		for j := range columns {
			q.a[at+i*q.columns+j] |= int64(bitOf(q.codes[i/2*wide+j/2], i, j)) << bit
		}
	}
	return nil
}

// quadtree reads the codes of a plane, from one for the whole plane down to one for two by two
// coefficients. Where a bit of a code is zero, all below it is.
func (q *quarters) quadtree(rows, columns int) {
	levels := logarithm(max(rows, columns))
	q.codes[0] = q.huffman()
	wide := 1
	for level := levels - 1; level > 0 && !q.in.missing; level-- {
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

// expand gives each bit of the codes a place of its own: from the end on, as they stay where they are.
func (q *quarters) expand(wide, moreHigh, moreWide int) {
	for i := moreHigh - 1; i >= 0; i-- {
		for j := moreWide - 1; j >= 0; j-- {
			q.codes[i*moreWide+j] = bitOf(q.codes[i/2*wide+j/2], i, j)
		}
	}
}

// bitOf is the bit of a code that is for a row and a column.
func bitOf(code byte, i, j int) byte { return code >> (3 - 2*(i&1) - j&1) & 1 }

// huffman reads a code of four bits.
func (q *quarters) huffman() byte {
	code := q.in.take(3)
	if code < 4 {
		return 1 << code
	}
	if code = code<<1 | q.in.take(1); code < 13 {
		return [...]byte{3, 5, 10, 12, 15}[code-8]
	}
	if code = code<<1 | q.in.take(1); code < 31 {
		return [...]byte{6, 7, 9, 11, 13}[code-26]
	}
	if q.in.take(1) == 0 {
		return 0
	}
	return 14
}

// logarithm is how often two has to be doubled from one on to reach n.
func logarithm(n int) int { return bits.Len(uint(n - 1)) }
