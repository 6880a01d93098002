// Package xz decodes chunks of numcodecs.lzma to a buffer of known size: .xz files (Decode), the older .lzma
// files (DecodeAlone), and raw LZMA streams (DecodeRaw).
//
// The buffer is also the dictionary, so memory does not depend on the dictionary size in a stream. An .xz
// file (specification: The .xz File Format 1.2.1) is:
//
//	file      streams, each followed by zero bytes, a multiple of 4
//	stream    FD '7zXZ' 00, flags:2, crc32:4, blocks, index, footer            §2.1
//	flags     00, check: 0 none, 1 CRC-32, 4 CRC-64, 10 SHA-256                §2.1.1.2
//	block     header, LZMA2 data, zeros to a multiple of 4, check of its text  §3
//	header    size/4-1:1, flags:1, [packed size], [text size], filters, zeros, crc32:4
//	filter    id, size of its properties, properties                           §5
//	index     00, count, packed and text size of each block, zeros, crc32:4    §4
//	footer    crc32:4, size of the index/4-1:4, flags:2, 'YZ'                  §2.1.2
//
// Numbers after colons are bytes, little-endian. Other integers have a variable length: 7 bits per byte, the
// lowest first, and the top bit is set if another byte follows. "packed" is compressed data, "text" decoded
// data. Supported filters are LZMA2, alone or after Delta.
//
// For example, "hi" is
//
//	fd 37 7a 58 5a 00 │ 00 01 │ 69 22 de 36                                  stream: magic, CRC-32, crc32 of the flags
//	02 00 │ 21 01 16 │ 00 00 00 │ 74 2f e5 a3                                block: 12 bytes, filter LZMA2, zeros, crc32
//	01 00 01 68 69 │ 00 │ 00 00 │ ac 2a 93 d8                                2 bytes as they are, end, zeros, their CRC-32
//	00 │ 01 │ 16 02 │ d0 61 10 d2                                            index: 1 block of 22 and 2 bytes, crc32
//	90 42 99 0d │ 01 00 00 00 │ 00 01 │ 59 5a                                footer: crc32, 8 bytes of index, flags
package xz

import (
	"bytes"
	"encoding/binary"
	"sync"

	"varve/codec/internal/corrupt"
)

const (
	headerMagic = "\xfd7zXZ\x00"
	footerMagic = "YZ"
	headerSize  = 12
	footerSize  = 12
)

// decoder reads a file. It is reused, for its memory.
type decoder struct {
	cursor
	blocks []record // blocks of the current stream
	chain  []Filter // filters of the current block to undo after LZMA2

	onBlock func(out, size, at int, c check) // called after each block, unless it is nil
	before  int                              // decoded bytes of the streams before this one
	lzma
}

// record holds the sizes of a block in an index.
type record struct{ packed, text uint64 }

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// borrow returns a decoder of src. The caller must release it.
func borrow(src []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.cursor = cursor{src: src}
	return d
}

// release returns the decoder to its pool, without references to buffers.
func (d *decoder) release() {
	d.src, d.data, d.out = nil, nil, nil
	d.isPart, d.onBlock, d.before = false, nil, 0
	decoders.Put(d)
}

// Decode decodes the .xz file src to dst and returns the decoded length. More than len(dst) bytes are an
// error.
func Decode(dst, src []byte) (int, error) {
	d := borrow(src)
	defer d.release()
	return d.streams(dst)
}

// streams decodes all streams, and the zeros after each, up to the end of src.
func (d *decoder) streams(dst []byte) (int, error) {
	n := 0
	for {
		d.before = n
		size, err := d.stream(dst[n:])
		if err != nil {
			return n, err
		}
		n += size
		start := d.next
		for d.next < len(d.src) && d.src[d.next] == 0 {
			d.next++
		}
		if (d.next-start)%4 != 0 {
			return n, corrupt.Errorf("xz: %d zeros after the stream that ends at byte %d, must be a multiple of 4", d.next-start, start)
		}
		if d.next == len(d.src) {
			return n, nil
		}
	}
}

// stream decodes one stream.
func (d *decoder) stream(dst []byte) (int, error) {
	head, err := d.take(headerSize)
	if err != nil {
		return 0, err
	}
	if string(head[:6]) != headerMagic {
		return 0, corrupt.Errorf("xz: no stream at byte %d: % x, must be % x", d.next-headerSize, head[:6], headerMagic)
	}
	if err := d.verify(head[6:8], head[8:]); err != nil {
		return 0, err
	}
	check, err := checkOf(head[6], head[7])
	if err != nil {
		return 0, err
	}
	d.blocks = d.blocks[:0]
	n := 0
	for {
		if d.next < len(d.src) && d.src[d.next] == 0 { // a block's header never begins with 0: the index
			return n, d.end(head[6:8])
		}
		at := d.next
		size, err := d.block(dst[n:], check)
		if err != nil {
			return n, err
		}
		if d.onBlock != nil {
			d.onBlock(d.before+n, size, at, check)
		}
		n += size
	}
}

// end reads the index and the footer. It returns an error unless the index matches the decoded blocks, and the
// footer matches the index and the header's flags.
func (d *decoder) end(flags []byte) error {
	start := d.next
	if err := d.index(); err != nil {
		return err
	}
	size := d.next - start
	foot, err := d.take(footerSize)
	if err != nil {
		return err
	}
	if string(foot[10:]) != footerMagic {
		return corrupt.Errorf("xz: the footer at byte %d ends with % x, must be % x", d.next-footerSize, foot[10:], footerMagic)
	}
	if err := d.verify(foot[4:10], foot[:4]); err != nil {
		return err
	}
	if got := 4 * (int64(binary.LittleEndian.Uint32(foot[4:])) + 1); got != int64(size) {
		return corrupt.Errorf("xz: the footer at byte %d gives %d bytes for the index, but it has %d", d.next-footerSize, got, size)
	}
	if !bytes.Equal(foot[8:10], flags) {
		return corrupt.Errorf("xz: the footer at byte %d has flags % x, but the header has % x", d.next-footerSize, foot[8:10], flags)
	}
	return nil
}

// index reads the index. It returns an error unless the index matches the decoded blocks.
func (d *decoder) index() error {
	start := d.next
	d.next++
	count, err := d.integer()
	if err != nil {
		return err
	}
	if count != uint64(len(d.blocks)) {
		return corrupt.Errorf("xz: the index at byte %d has %d blocks, but the stream has %d", start, count, len(d.blocks))
	}
	for i, b := range d.blocks {
		packed, err := d.integer()
		if err != nil {
			return err
		}
		text, err := d.integer()
		if err != nil {
			return err
		}
		if (record{packed, text}) != b {
			return corrupt.Errorf("xz: block %d has %d compressed and %d decoded bytes, but the index at byte %d has %d and %d",
				i, b.packed, b.text, start, packed, text)
		}
	}
	if err := d.padding(start); err != nil {
		return err
	}
	body := d.src[start:d.next]
	sum, err := d.take(4)
	if err != nil {
		return err
	}
	return d.verify(body, sum)
}
