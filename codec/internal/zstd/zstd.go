// Package zstd decodes Zstandard frames into buffers whose size is known.
//
// A chunk of an array announces how many elements it holds, so that the output is the
// window: all that a match may refer to is in it, and every copy goes straight to its place.
// A stored chunk is any number of frames (RFC 8878, section 3):
//
//	frame      | magic fd2fb528 4 | descriptor 1 | window 0–1 | dictionary 0–4 | size 0–8 |
//	           | blocks | XXH64, low half 4, if the descriptor says so                    |
//	skippable  | magic 184d2a5x 4 | size 4 | anything                                     |
//
//	block      | last 1 bit | type 2 bits | size 21 bits |
//	  raw      | size bytes                              |
//	  RLE      | one byte, meant size times              |
//	  compressed
//	    literals   | type 2 bits | sizes | Huffman code | 1 or 4 streams |
//	    sequences  | count 1–3 | modes 1 | FSE tables | a stream         |
//
// Streams are read from their last bit to their first. A sequence says how many literals are
// copied, and how long and how far back a match behind them is.
//
// Where the RFC leaves something open, what libzstd refuses is refused. Nothing is ever
// written behind len(dst). Bytes of dst behind the returned n are undefined after a call, and
// so is all of dst after an error. Dictionaries are not supported.
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
	skipMagic     = 0x184d2a50 // and the 15 numbers behind it
	maxBlock      = 128 << 10
	leastWindow   = 1 << 10
	maxWindowLog  = 31 // as in libzstd
	checksumBytes = 4
)

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Decode fills dst from the start with what the frames of src hold, and returns how much that
// is. It is an error if it were more than len(dst).
func Decode(dst, src []byte) (n int, err error) {
	if len(src) == 0 {
		return 0, corrupt.Errorf("zstd: no frame in 0 bytes")
	}
	d := decoders.Get().(*decoder)
	d.dst, d.src = dst, src[:len(src):len(src)] // nobody looks behind it
	d.op, d.ip = 0, 0
	for d.ip < len(src) && err == nil {
		err = d.frame()
	}
	n = d.op
	d.dst, d.src, d.literals = nil, nil, nil
	d.sequence, d.streams = sequencer{}, streams{}
	decoders.Put(d)
	if err != nil {
		return 0, err
	}
	return n, nil
}

// A decoder is the state of one call. What is kept from block to block of a frame is valid
// where its flag says so.
type decoder struct {
	dst, src []byte
	op, ip   int
	start    int // of the frame in dst
	blockMax int // how much a block may decode to
	recent   [3]int

	literals []byte // of the block; literalRoom more bytes may be read behind them
	scratch  [maxBlock + literalRoom]byte

	huff      huffTable
	hasHuff   bool
	own       [kinds]fseTable
	current   [kinds]*fseTable // nil until a block of the frame had one
	counts    [256]int16
	weights   [256]uint8
	ofWeights fseTable
	sequence  sequencer
	streams   streams
}

// header is what stands before the blocks of a frame.
type header struct {
	size     uint64 // of the decoded frame, if sized
	window   uint64
	sized    bool
	checksum bool
}

// frame decodes one frame, or steps over a skippable one.
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
		return corrupt.Errorf("zstd: no frame at offset %d: it begins with %08x", d.ip, magic)
	}
	h, err := d.header()
	if err != nil {
		return err
	}
	return d.body(h)
}

// header reads what is behind a frame's magic number (section 3.1.1.1).
func (d *decoder) header() (h header, err error) {
	descriptor := d.src[d.ip+4]
	d.ip += 5
	if descriptor&8 != 0 {
		return h, corrupt.Errorf("zstd: reserved bit of the frame's descriptor at offset %d is set", d.ip-1)
	}
	single := descriptor&0x20 != 0
	h.checksum = descriptor&4 != 0
	if !single {
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
		h.sized = true
	case single:
		h.size, err = d.number(1)
		h.sized = true
	}
	if single {
		h.window = h.size
	}
	return h, err
}

// number reads a field of so many bytes of a frame's header.
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

// body decodes the blocks of a frame, and checks what is known of their bytes.
func (d *decoder) body(h header) error {
	if h.sized && h.size > uint64(len(d.dst)-d.op) {
		return corrupt.Errorf("zstd: frame of %d bytes, there is room for %d", h.size, len(d.dst)-d.op)
	}
	d.start = d.op
	d.recent = [3]int{1, 4, 8}
	d.hasHuff, d.current = false, [kinds]*fseTable{}
	d.blockMax = int(min(max(h.window, leastWindow), maxBlock))
	for last := false; !last; {
		var err error
		if last, err = d.block(); err != nil {
			return err
		}
	}
	got := d.dst[d.start:d.op]
	if h.sized && uint64(len(got)) != h.size {
		return corrupt.Errorf("zstd: frame decodes to %d bytes, its header says %d", len(got), h.size)
	}
	if !h.checksum {
		return nil
	}
	want, err := d.number(checksumBytes)
	if err != nil {
		return err
	}
	if sum := uint32(xxh64(got)); sum != uint32(want) {
		return corrupt.Errorf("zstd: checksum at offset %d is %08x, that of the bytes is %08x", d.ip-checksumBytes, want, sum)
	}
	return nil
}

func (d *decoder) truncated(what string) error {
	return corrupt.Errorf("zstd: input ends at offset %d within %s", len(d.src), what)
}

func (d *decoder) overflow() error {
	return corrupt.Errorf("zstd: more than the expected %d bytes, seen at offset %d", len(d.dst), d.ip)
}
