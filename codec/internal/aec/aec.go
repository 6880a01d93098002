// Package aec decodes the adaptive entropy coding of CCSDS 121.0-B-3: in the variant of szip, which
// is HDF5's filter 4 (see DecodeSized) and the imagecodecs_szip codec (see Decode), and unchanged, as
// in GRIB.
//
//	HDF5 chunk   size:u32 little-endian, then the coded scanlines
//	scanline     ceil(PixelsPerScanline / PixelsPerBlock) blocks, coded independently of other scanlines
//	block        option [reference] codes, starting at any bit
//
// The option has 3 bits for samples of up to 8 bits, 4 bits for up to 16 and 5 for up to 32:
//
//	option    then
//	0…0 0     zero blocks: one code, the number of blocks whose samples are all zero
//	0…0 1     second extension: each code gives two samples
//	k+1       split: a code for the high bits of each sample, then the k low bits of each
//	1…1       the samples, uncompressed
//
// A code is a fundamental sequence: the number n is written as n zeros and a one. With the
// preprocessor on, the first block of a scanline has a reference: the first sample,
// uncompressed. The other samples are coded as differences from the previous sample, mapped
// to non-negative numbers so that small differences of both signs are small numbers.
//
// Szip pads a scanline to whole blocks. It codes pixels of 32 and 64 bits as 8-bit samples:
// the first bytes of all pixels, then the second bytes, and so on.
//
// For example, the samples 0 1 0 2 0 0 1 0 of 8 bits, in a block of 8 without a preprocessor, are split with k = 0:
//
//	001 │ 1 01 1 001 1 1 01 1     the bytes 36 76
package aec

import (
	"encoding/binary"
	"fmt"
	"sync"

	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// The bits of Params.Options that affect decoding. Szip defines others (1 allows k = 13, 2 is
// for a chip, 4 and 128 are always set), which its successor libaec ignores.
const (
	OptionMSB       = 16 // pixels are big-endian
	OptionNeighbour = 32 // the preprocessor is on
)

const (
	maxBlock    = 64
	maxScanline = 1 << 16 // libhdf5 writes up to 128 blocks of up to 32
)

// Params are the four parameters of HDF5's filter.
type Params struct {
	Options           uint32
	PixelsPerBlock    int
	BitsPerPixel      int
	PixelsPerScanline int
}

// Check returns an error if a parameter is out of range.
func (p Params) Check() error {
	switch {
	case p.PixelsPerBlock < 2 || p.PixelsPerBlock > maxBlock || p.PixelsPerBlock%2 != 0:
		return corrupt.Errorf("szip: %d pixels per block, must be even and 2 to %d", p.PixelsPerBlock, maxBlock)
	case p.BitsPerPixel < 1 || p.BitsPerPixel > 32 && p.BitsPerPixel != 64:
		return corrupt.Errorf("szip: %d bits per pixel, must be 1 to 32 or 64", p.BitsPerPixel)
	case p.PixelsPerScanline < 1 || p.PixelsPerScanline > maxScanline:
		return corrupt.Errorf("szip: %d pixels per scanline, must be 1 to %d", p.PixelsPerScanline, maxScanline)
	}
	return nil
}

// DecodeSized decodes an HDF5 chunk, which begins with its decoded size, to the beginning of
// dst and returns that size. A size above len(dst) is an error.
func DecodeSized(dst, src []byte, p Params) (int, error) {
	if len(src) < 4 {
		return 0, corrupt.Errorf("szip: truncated at byte %d, in the decoded size (4 bytes)", len(src))
	}
	size := uint64(binary.LittleEndian.Uint32(src))
	if size > uint64(len(dst)) {
		return 0, corrupt.Errorf("szip: decoded size %d at byte 0, at most %d bytes are expected", size, len(dst))
	}
	if err := Decode(dst[:size], src[4:], p); err != nil {
		return 0, fmt.Errorf("after the decoded size (4 bytes): %w", err)
	}
	return int(size), nil
}

// Decode fills dst with the pixels coded in src. The stream does not hold their number, so
// Decode ignores the bytes of src that it does not need.
func Decode(dst, src []byte, p Params) error {
	if err := p.Check(); err != nil {
		return err
	}
	out, err := newOutput(dst, p)
	if err != nil {
		return err
	}
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	defer d.release()
	return d.fill(out, src, p)
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decoder decodes scanlines. It is reused, for its line buffer.
type decoder struct {
	bitstream.Reader
	block        int      // samples per block
	bits         uint     // bits per sample
	id           uint     // bits per option
	hasNeighbour bool     // the preprocessor is on
	isSigned     bool     // samples are in two's complement, which szip does not have
	blocks       int      // blocks per scanline
	line         []uint32 // the current scanline, padded to whole blocks
}

// start prepares the decoder for a stream of samples of the given number of bits.
func (d *decoder) start(src []byte, p Params, bits uint) {
	d.Reader = bitstream.Reader{Src: src}
	d.block, d.bits = p.PixelsPerBlock, bits
	d.hasNeighbour, d.isSigned = p.Options&OptionNeighbour != 0, false
	switch {
	case bits > 16:
		d.id = 5
	case bits > 8:
		d.id = 4
	default:
		d.id = 3
	}
	d.blocks = (p.PixelsPerScanline + d.block - 1) / d.block
	if need := d.blocks * d.block; cap(d.line) < need {
		d.line = make([]uint32, need)
	} else {
		d.line = d.line[:need]
	}
}

// fill decodes scanlines until the output is full.
func (d *decoder) fill(out output, src []byte, p Params) error {
	d.start(src, p, out.bits)
	for left := out.samples; left > 0; {
		n := min(left, p.PixelsPerScanline)
		line, err := d.scanline(n)
		if err != nil {
			return err
		}
		out.put(line)
		left -= n
	}
	return nil
}

// release drops the reference to the input, so that a pooled decoder does not keep it in memory.
func (d *decoder) release() { d.Src = nil }

// scanline decodes the blocks that hold the first n samples of the next scanline, and returns
// these samples. They are valid until the next call.
func (d *decoder) scanline(n int) ([]uint32, error) {
	blocks := (n + d.block - 1) / d.block
	for b := 0; b < blocks; {
		done, err := d.nextBlock(b)
		if err != nil {
			return nil, err
		}
		b += done
	}
	line := d.line[:n]
	switch {
	case d.hasNeighbour && d.isSigned:
		restoreSigned(line, d.bits)
	case d.hasNeighbour:
		restore(line, 1<<d.bits-1)
	}
	return line, nil
}

// restore undoes the preprocessor in place. line holds the reference sample, then the mapped
// differences; top is the greatest sample. With m the distance from the previous sample to the
// nearer end of 0…top, the mapped values 0…2m alternate in sign: 0, -1, 1, -2, 2, …. Greater
// values can have one sign only, away from that end.
func restore(line []uint32, top uint32) {
	last := line[0]
	half := top/2 + 1
	for i, folded := range line[1:] {
		// mirror^last is m: last itself, or top-last in the upper half.
		mirror := uint32(0)
		if last&half != 0 {
			mirror = top
		}
		if folded>>1+folded&1 <= mirror^last {
			last += folded>>1 ^ -(folded & 1)
		} else {
			last = mirror ^ folded
		}
		line[i+1] = last
	}
}
