// Package bzip2 decodes bzip2 streams into a buffer whose size is known.
//
// It exists beside compress/bzip2 because that one allocates 3.6 MB for every stream
// and cannot be reset, while a chunked array has a stream in each of its chunks.
//
//	stream   "BZh" level:'1'…'9' block… 17 72 45 38 50 90 crc:32, then zeros to the byte
//	block    31 41 59 26 53 59 crc:32 randomised:1 origin:24 used bytes, selectors, codes, symbols
//
// A block is not aligned: it starts at any bit. Its symbols are Huffman codes, in groups
// of 50 that each select one of 2 to 6 codes, for positions in a move-to-front list and
// for runs of its front; what they give is the last column of the sorted rotations of
// the block (Burrows and Wheeler), and "origin" is the row that the block itself is. In
// the text that comes of it four equal bytes are followed by how many more there are.
// Streams may follow one another. There is no specification but bzip2-1.0.8 itself.
package bzip2

import (
	"encoding/binary"
	"sync"

	"varve/codec/internal/corrupt"
)

const (
	blockMagic = 0x314159265359
	endMagic   = 0x177245385090
	levelSize  = 100_000 // symbols in a block, per level
)

// decoder is the state of a stream and the scratch of its blocks.
type decoder struct {
	bitReader
	column    []uint32 // the last column in the low 8 bits, links in the others
	selectors []uint8
	codes     [6]huffman
	front     [256]byte // the move-to-front list
	counts    [256]uint32
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode writes what the streams in src hold to dst and returns how many bytes that
// are. More than len(dst) is an error.
func Decode(dst, src []byte) (int, error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.bitReader = bitReader{src: src}
	n, err := d.streams(dst)
	d.src = nil
	return n, err
}

func (d *decoder) streams(dst []byte) (int, error) {
	n := 0
	for more := true; more; more = d.offset() < len(d.src) {
		size, err := d.stream(dst[n:])
		if err != nil {
			return n, err
		}
		n += size
	}
	return n, nil
}

// stream decodes one stream, which starts at a byte.
func (d *decoder) stream(dst []byte) (int, error) {
	start := d.offset()
	if magic := d.take(24); magic != 'B'<<16|'Z'<<8|'h' {
		return 0, corrupt.Errorf("bzip2: no stream at byte %d: %06x, which should be \"BZh\"", start, magic)
	}
	level := int(d.take(8)) - '0'
	if level < 1 || level > 9 {
		return 0, corrupt.Errorf("bzip2: level %q at byte %d, which should be 1 to 9", rune(level+'0'), start+3)
	}
	n := 0
	var total uint32
	for {
		at := d.offset()
		magic, sum := d.take(24)<<24|d.take(24), uint32(d.take(32))
		if d.overrun() {
			return n, d.truncated()
		}
		if magic == endMagic {
			if sum != total {
				return n, corrupt.Errorf("bzip2: checksum %08x of the stream that ends at byte %d, which should be %08x", total, d.offset(), sum)
			}
			d.align()
			return n, nil
		}
		if magic != blockMagic {
			return n, corrupt.Errorf("bzip2: neither block nor end at byte %d: %012x", at, magic)
		}
		size, err := d.block(dst[n:], level*levelSize)
		if err != nil {
			return n, err
		}
		if got := checksum(dst[n : n+size]); got != sum {
			return n, corrupt.Errorf("bzip2: checksum %08x of the block at byte %d, which should be %08x", got, at, sum)
		}
		n += size
		total = (total<<1 | total>>31) ^ sum
	}
}

// truncated is the error for a stream that goes on past its bytes.
func (d *decoder) truncated() error {
	return corrupt.Errorf("bzip2: truncated at byte %d", len(d.src))
}

// bitReader takes bits from the most significant down. Past the end it gives zeros,
// and overrun tells.
type bitReader struct {
	src  []byte
	next int    // the next byte to load
	acc  uint64 // loaded bits, from the top down
	n    uint   // how many
}

// refill loads bits until there are at least 56.
func (r *bitReader) refill() {
	if r.next+8 <= len(r.src) {
		r.acc |= binary.BigEndian.Uint64(r.src[r.next:]) >> r.n
		r.next += int(63-r.n) >> 3
		r.n |= 56
		return
	}
	for ; r.n <= 56; r.n += 8 {
		if r.next < len(r.src) {
			r.acc |= uint64(r.src[r.next]) << (56 - r.n)
		}
		r.next++
	}
}

// take returns the next n bits, 1 <= n <= 32.
func (r *bitReader) take(n uint) uint64 {
	if r.n < n {
		r.refill()
	}
	v := r.acc >> (64 - n)
	r.acc <<= n
	r.n -= n
	return v
}

// align skips to the next byte.
func (r *bitReader) align() {
	drop := r.n & 7
	r.acc <<= drop
	r.n -= drop
}

// offset is the byte that the next bit is in.
func (r *bitReader) offset() int { return (8*r.next - int(r.n)) / 8 }

// overrun reports whether bits were taken that are not there.
func (r *bitReader) overrun() bool { return 8*r.next-int(r.n) > 8*len(r.src) }
