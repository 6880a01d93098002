// Package zstd decodes Zstandard frames to buffers of known size. Use Decode.
//
// The size of a chunk is known before it is decoded. So the output buffer is also the window, and matches are copied
// directly to their place. A chunk is any number of frames (RFC 8878, section 3). Numbers are bytes, unless marked
// as bits:
//
//	frame      | magic fd2fb528 4 | descriptor 1 | window 0–1 | dictionary 0–4 | size 0–8 |
//	           | blocks | low half of XXH64 4, if bit 2 of the descriptor is set          |
//	skippable  | magic 184d2a5x 4 | size 4 | any bytes                                    |
//
//	block      | last 1 bit | type 2 bits | size 21 bits |
//	  raw      | size bytes                              |
//	  RLE      | one byte, repeated size times           |
//	  compressed
//	    literals   | type 2 bits | sizes | Huffman code | 1 or 4 streams |
//	    sequences  | count 1–3 | modes 1 | FSE tables | a stream         |
//
// Streams are read from their last bit to their first. A sequence is a number of literals to copy, and the length and
// the offset of a match that follows them.
//
// Where the RFC leaves a choice, this package rejects the same frames as libzstd. Nothing is written past len(dst).
// Bytes of dst after the returned length are undefined, as is all of dst after an error. Dictionaries are not
// supported.
//
// For example, "hi" in a raw block is
//
//	28 b5 2f fd │ 20 │ 02 │ 11 00 00 │ 68 69
//	magic         one segment, its size in 1 byte; block: last, raw, 2 bytes
package zstd

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"varve/codec/internal/corrupt"
)

const (
	frameMagic    = 0xfd2fb528
	skipMagic     = 0x184d2a50 // to 0x184d2a5f
	maxBlock      = 128 << 10
	leastWindow   = 1 << 10
	maxWindowLog  = 31 // as in libzstd
	checksumBytes = 4
)

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode decodes all frames in src to the beginning of dst and returns the decoded length. More than len(dst) bytes are
// an error.
func Decode(dst, src []byte) (n int, err error) { return decode(dst, src, nil) }

// decode is Decode. It calls onFrame after each frame with the number of decoded bytes before it, its decoded size and
// its position in src.
func decode(dst, src []byte, onFrame func(out, size, at int)) (n int, err error) {
	if len(src) == 0 {
		return 0, corrupt.Errorf("zstd: the chunk is empty, must have at least one frame")
	}
	d := decoders.Get().(*decoder)
	d.begin(dst, src)
	for d.ip < len(src) && err == nil {
		out, at := d.op, d.ip
		if err = d.frame(); err == nil && onFrame != nil {
			onFrame(out, d.op-out, at)
		}
	}
	n = d.op
	d.release()
	if err != nil {
		return 0, err
	}
	return n, nil
}

// begin prepares for decoding src to dst.
func (d *decoder) begin(dst, src []byte) {
	d.dst, d.src = dst, src[:len(src):len(src)] // padded looks at the capacity of literals, which are part of src
	d.op, d.ip = 0, 0
}

// release returns the decoder to its pool, without references to buffers.
func (d *decoder) release() {
	d.dst, d.src, d.literals = nil, nil, nil
	d.sequence, d.streams = sequencer{}, streams{}
	decoders.Put(d)
}

// A decoder is the state of one call, and reusable memory.
type decoder struct {
	dst, src []byte
	op, ip   int // index of the next byte of dst, of src
	start    int // start of the frame in dst
	blockMax int // maximum number of decoded bytes of a block
	recent   [3]int

	isPart bool // only the first need bytes are wanted
	need   int

	literals []byte // literals of the block; literalRoom more bytes may be read
	scratch  [maxBlock + literalRoom]byte

	huff      huffTable
	hasHuff   bool // a block of the frame had a Huffman code, which is in huff
	own       [kinds]fseTable
	current   [kinds]*fseTable // tables of the last block; nil if no block of the frame had one
	counts    [256]int16
	weights   [256]uint8
	ofWeights fseTable
	sequence  sequencer
	streams   streams
}

// header holds the fields of a frame's header.
type header struct {
	size        uint64 // decoded size of the frame, if hasSize
	window      uint64
	hasSize     bool
	hasChecksum bool
}

// frame decodes one frame, or skips a skippable one.
func (d *decoder) frame() error {
	if len(d.src)-d.ip < 8 {
		return d.truncated("a frame's header")
	}
	magic := binary.LittleEndian.Uint32(d.src[d.ip:])
	if magic&^15 == skipMagic {
		size := int64(binary.LittleEndian.Uint32(d.src[d.ip+4:]))
		if size > int64(len(d.src)-d.ip-8) {
			return d.truncated("a skippable frame")
		}
		d.ip += 8 + int(size)
		return nil
	}
	if magic != frameMagic {
		return corrupt.Errorf("zstd: no frame at offset %d: magic %08x, must be %08x", d.ip, magic, frameMagic)
	}
	h, err := d.header()
	if err != nil {
		return err
	}
	return d.body(h)
}

// header reads a frame's header after its magic number (RFC 8878, section 3.1.1.1).
func (d *decoder) header() (h header, err error) {
	descriptor := d.src[d.ip+4]
	d.ip += 5
	if descriptor&8 != 0 {
		return h, corrupt.Errorf("zstd: frame descriptor %02x at offset %d, its reserved bit 3 must be 0", descriptor, d.ip-1)
	}
	isSingle := descriptor&0x20 != 0 // a single segment: the window is the whole frame
	h.hasChecksum = descriptor&4 != 0
	if !isSingle {
		b, err := d.number(1)
		if err != nil {
			return h, err
		}
		if b>>3+10 > maxWindowLog {
			return h, fmt.Errorf("zstd: frame with a window of 2^%d bytes, at most 2^%d are supported: %w", b>>3+10, maxWindowLog, errors.ErrUnsupported)
		}
		h.window = 1 << (10 + b>>3)
		h.window += h.window / 8 * (b & 7)
	}
	id, err := d.number([]int{0, 1, 2, 4}[descriptor&3])
	if err != nil {
		return h, err
	}
	if id != 0 {
		return h, fmt.Errorf("zstd: frame needs dictionary %d: %w", id, errors.ErrUnsupported)
	}
	switch {
	case descriptor>>6 > 0:
		h.size, err = d.number(1 << (descriptor >> 6))
		if descriptor>>6 == 1 {
			h.size += 256
		}
		h.hasSize = true
	case isSingle:
		h.size, err = d.number(1)
		h.hasSize = true
	}
	if isSingle {
		h.window = h.size
	}
	return h, err
}

// number reads a little-endian number of size bytes.
func (d *decoder) number(size int) (v uint64, err error) {
	if len(d.src)-d.ip < size {
		return 0, d.truncated("a frame's header")
	}
	for i := range size {
		v |= uint64(d.src[d.ip+i]) << (8 * i)
	}
	d.ip += size
	return v, nil
}

// body decodes the blocks of a frame, and checks its size and its checksum if the header has them.
func (d *decoder) body(h header) error {
	if h.hasSize && h.size > uint64(len(d.dst)-d.op) && !d.isPart {
		return corrupt.Errorf("zstd: frame of %d bytes, only %d are expected", h.size, len(d.dst)-d.op)
	}
	d.start = d.op
	d.recent = [3]int{1, 4, 8} // the initial offsets of the RFC
	d.hasHuff, d.current = false, [kinds]*fseTable{}
	d.blockMax = int(min(max(h.window, leastWindow), maxBlock))
	for last := false; !last; {
		var err error
		if last, err = d.block(); err != nil {
			return err
		}
		if d.isPart && d.op >= d.need {
			return nil
		}
	}
	got := d.dst[d.start:d.op]
	if h.hasSize && uint64(len(got)) != h.size {
		return corrupt.Errorf("zstd: the frame decodes to %d bytes, but its header has %d", len(got), h.size)
	}
	if !h.hasChecksum {
		return nil
	}
	want, err := d.number(checksumBytes)
	if err != nil {
		return err
	}
	if sum := uint32(xxh64(got)); sum != uint32(want) {
		return corrupt.Errorf("zstd: checksum at offset %d is %08x, but the decoded bytes have %08x", d.ip-checksumBytes, want, sum)
	}
	return nil
}

// truncated returns the error for input that ends within a part of the format.
func (d *decoder) truncated(part string) error {
	return corrupt.Errorf("zstd: truncated at offset %d, in %s", len(d.src), part)
}

// overflow returns the error for a block that does not fit in dst.
func (d *decoder) overflow() error {
	return corrupt.Errorf("zstd: more than the expected %d bytes, noticed at offset %d", len(d.dst), d.ip)
}
