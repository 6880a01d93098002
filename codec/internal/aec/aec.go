// Package aec decodes the adaptive entropy coding of CCSDS 121.0-B-3: as szip wraps it,
// which is HDF5's filter 4 and the imagecodecs_szip codec, and as it is, which GRIB has.
//
// Samples are coded in blocks; blocks make scanlines, which are coded on their own. A
// block starts at any bit, with an option of 3 bits (samples of up to 8 bits), 4 (up to
// 16) or 5 (up to 32):
//
//	0…0 0     [reference] zero blocks     this block and maybe others: all zero
//	0…0 1     [reference] second extension: each code gives two samples
//	k+1       [reference] split: the high bits of all samples, then k low bits of each
//	1…1       samples as they are
//
// High bits and the second extension are fundamental sequences: as many zeros as the
// number, then a one. With the preprocessor on, a scanline starts with a sample as it
// is, the reference, and what is coded of the others is the distance from the sample
// before, folded so that small ones of both signs are small numbers.
//
// Szip pads a scanline to whole blocks, and codes pixels of 32 and 64 bits as 8-bit
// samples: all first bytes, then all second bytes, and so on. HDF5 puts the decoded size
// in front, u32 little-endian.
package aec

import (
	"encoding/binary"
	"fmt"
	"sync"

	"varve/codec/internal/corrupt"
)

// The bits of Params.Options that matter. Szip has more (1 allows k = 13, 2 is for a chip,
// 4 and 128 are set by all), but its successor libaec reads none of them.
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

// Check reports what is wrong with the parameters.
func (p Params) Check() error {
	switch {
	case p.PixelsPerBlock < 2 || p.PixelsPerBlock > maxBlock || p.PixelsPerBlock%2 != 0:
		return corrupt.Errorf("szip: %d pixels per block, which should be even and 2 to %d", p.PixelsPerBlock, maxBlock)
	case p.BitsPerPixel < 1 || p.BitsPerPixel > 32 && p.BitsPerPixel != 64:
		return corrupt.Errorf("szip: %d bits per pixel, which should be 1 to 32 or 64", p.BitsPerPixel)
	case p.PixelsPerScanline < 1 || p.PixelsPerScanline > maxScanline:
		return corrupt.Errorf("szip: %d pixels per scanline, which should be 1 to %d", p.PixelsPerScanline, maxScanline)
	}
	return nil
}

// DecodeSized decodes what has its decoded size in front, as HDF5 stores it, to the
// beginning of dst and returns that size.
func DecodeSized(dst, src []byte, p Params) (int, error) {
	if len(src) < 4 {
		return 0, corrupt.Errorf("szip: truncated at byte %d, in the size in front", len(src))
	}
	size := uint64(binary.LittleEndian.Uint32(src))
	if size > uint64(len(dst)) {
		return 0, corrupt.Errorf("szip: decodes to %d bytes, at most %d are expected", size, len(dst))
	}
	if err := Decode(dst[:size], src[4:], p); err != nil {
		return 0, fmt.Errorf("after the 4 bytes of size in front: %w", err)
	}
	return int(size), nil
}

// Decode fills dst with the pixels coded in src. Nothing of src tells how many those
// are; what it has more is left.
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

// decoder decodes scanlines.
type decoder struct {
	bitReader
	block     int  // samples in a block
	bits      uint // of a sample
	id        uint // bits of an option
	neighbour bool
	signed    bool     // samples are of two's complement, which szip does not have
	blocks    int      // in a scanline
	line      []uint32 // the scanline, whole blocks
}

func (d *decoder) start(src []byte, p Params, bits uint) {
	d.bitReader = bitReader{src: src}
	d.block, d.bits = p.PixelsPerBlock, bits
	d.neighbour, d.signed = p.Options&OptionNeighbour != 0, false
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

// release lets go of the input, before the decoder goes back to its pool.
func (d *decoder) release() { d.src = nil }

// scanline decodes the blocks that the next scanline's first n samples are in.
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
	case d.neighbour && d.signed:
		restoreSigned(line, d.bits)
	case d.neighbour:
		restore(line, 1<<d.bits-1)
	}
	return line, nil
}

// restore undoes the preprocessor: the line starts with a sample, then come folded
// distances. Up to the distance of the nearer end of the range they alternate in sign;
// farther ones can only have the other.
func restore(line []uint32, top uint32) {
	last := line[0]
	half := top/2 + 1
	for i, folded := range line[1:] {
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
