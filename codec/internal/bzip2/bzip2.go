// Package bzip2 decodes bzip2 streams to a buffer of known size.
//
// Use it instead of compress/bzip2 for chunks: compress/bzip2 allocates 3.6 MB per stream and
// cannot be reset, and every chunk of an array is a stream.
//
//	file     stream…
//	stream   "BZh" level:'1'…'9' block… 17 72 45 38 50 90 crc:32, zero bits up to the next byte
//	block    31 41 59 26 53 59 crc:32 randomised:1 origin:24 used bytes, selectors, codes, symbols
//
// Numbers after colons are bits; a block starts at any bit. To decode a block:
//
//  1. Decode the symbols, in groups of 50. A selector chooses one of 2 to 6 Huffman codes for
//     each group. Symbols are positions in a move-to-front list, or lengths of runs of the
//     list's first byte.
//  2. The result is the last column of the sorted rotations of the block (the Burrows-Wheeler
//     transform). "origin" is the row that holds the block itself. Invert the transform.
//  3. Expand repeats: after four equal bytes, one byte is the number of further equal bytes.
//
// There is no specification except the program bzip2-1.0.8.
//
// For example, "x" is
//
//	42 5a 68 31 │ 31 41 59 26 53 59 │ 77 4b b0 14 │ 00 00 00 00 80 00 40 20 00 21 18 46 82 ee 48 a7 0a 12 0e e9 76 02 80
//	BZh   level   magic of a block    crc           randomised, origin, used bytes, …; the end begins at bit 3 of byte 26
package bzip2

import (
	"sync"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

const (
	blockMagic = 0x314159265359
	endMagic   = 0x177245385090
	levelSize  = 100_000 // symbols in a block, per level
)

// decoder is the state of a stream and reusable memory for its blocks.
type decoder struct {
	bitstream.Reader
	column    []uint32 // per row: the byte of the last column (low 8 bits), a link to another row
	selectors []uint8
	codes     [6]huffman
	front     [256]byte // the move-to-front list
	counts    [256]uint32

	isPart  bool                     // the buffer may end within a block
	onBlock func(out, size, bit int) // called after each block, unless it is nil
	before  int                      // decoded bytes of the streams before this one
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode decodes all streams in src to dst and returns the decoded length. More than len(dst)
// bytes are an error.
func Decode(dst, src []byte) (int, error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.Reader = bitstream.Reader{Src: src}
	n, err := d.streams(dst)
	d.Src = nil
	return n, err
}

// streams decodes streams until the end of src.
func (d *decoder) streams(dst []byte) (int, error) {
	n := 0
	for more := true; more; more = d.Offset() < len(d.Src) {
		d.before = n
		size, err := d.stream(dst[n:])
		if err != nil {
			return n, err
		}
		n += size
	}
	return n, nil
}

// stream decodes one stream, which starts at a byte boundary.
func (d *decoder) stream(dst []byte) (int, error) {
	level, err := d.header()
	if err != nil {
		return 0, err
	}
	n := 0
	var total uint32
	for {
		at, bit := d.Offset(), d.Bit()
		magic, sum := d.Take(24)<<24|d.Take(24), uint32(d.Take(32))
		if d.Overrun() {
			return n, d.truncated()
		}
		if magic == endMagic {
			if sum != total {
				return n, corrupt.Errorf("bzip2: the stream that ends at byte %d has checksum %08x, must be %08x", d.Offset(), total, sum)
			}
			d.Align()
			return n, nil
		}
		if magic != blockMagic {
			return n, corrupt.Errorf("bzip2: neither a block nor the end of the stream at byte %d: %012x", at, magic)
		}
		size, err := d.block(dst[n:], level*levelSize)
		if err != nil {
			return n, err
		}
		if got := checksum(dst[n : n+size]); got != sum {
			return n, corrupt.Errorf("bzip2: the block at byte %d has checksum %08x, must be %08x", at, got, sum)
		}
		if d.onBlock != nil {
			d.onBlock(d.before+n, size, bit)
		}
		n += size
		total = (total<<1 | total>>31) ^ sum
	}
}

// header reads the header of a stream, and returns its level.
func (d *decoder) header() (level int, err error) {
	start := d.Offset()
	if magic := d.Take(24); magic != 'B'<<16|'Z'<<8|'h' {
		return 0, corrupt.Errorf("bzip2: no stream at byte %d: %06x, must be 425a68 (\"BZh\")", start, magic)
	}
	level = int(d.Take(8)) - '0'
	if level < 1 || level > 9 {
		return 0, corrupt.Errorf("bzip2: level %q at byte %d, must be 1 to 9", rune(level+'0'), start+3)
	}
	return level, nil
}

// truncated returns the error for a stream that ends too early.
func (d *decoder) truncated() error {
	return corrupt.Errorf("bzip2: truncated at byte %d", len(d.Src))
}
