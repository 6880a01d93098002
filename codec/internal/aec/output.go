package aec

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// output puts samples where their pixels are.
type output struct {
	dst     []byte
	samples int  // in all
	bits    uint // of a sample
	size    int  // bytes of a sample
	msb     bool

	// Pixels of 32 and 64 bits come a byte at a time: all their first bytes, then all
	// their second ones.
	width int // bytes of a pixel, 1 when samples are pixels
	at    int // where the next byte goes
}

// newOutput returns the output for a buffer of whole pixels.
func newOutput(dst []byte, p Params) (output, error) {
	o := output{dst: dst, bits: uint(p.BitsPerPixel), size: 1, width: 1, msb: p.Options&OptionMSB != 0}
	whole := 1
	switch {
	case p.BitsPerPixel == 32 || p.BitsPerPixel == 64:
		o.bits, o.width = 8, p.BitsPerPixel/8
		whole = o.width
	case p.BitsPerPixel > 16:
		o.size, whole = 4, 4
	case p.BitsPerPixel > 8:
		o.size, whole = 2, 2
	}
	if len(dst)%whole != 0 {
		return output{}, corrupt.Errorf("szip: %d bytes are not whole pixels of %d bits", len(dst), p.BitsPerPixel)
	}
	o.samples = len(dst) / o.size
	return o, nil
}

// put appends samples. All together there are no more than o.samples.
func (o *output) put(line []uint32) {
	dst := o.dst[o.at:]
	switch {
	case o.width > 1:
		o.putPlanes(line)
		return
	case o.size == 1:
		for i, v := range line {
			dst[i] = byte(v)
		}
	case o.size == 2 && o.msb:
		for i, v := range line {
			binary.BigEndian.PutUint16(dst[2*i:], uint16(v))
		}
	case o.size == 2:
		for i, v := range line {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(v))
		}
	case o.msb:
		for i, v := range line {
			binary.BigEndian.PutUint32(dst[4*i:], v)
		}
	default:
		for i, v := range line {
			binary.LittleEndian.PutUint32(dst[4*i:], v)
		}
	}
	o.at += o.size * len(line)
}

// putPlanes puts one byte of a pixel after another.
func (o *output) putPlanes(line []uint32) {
	for _, v := range line {
		o.dst[o.at] = byte(v)
		if o.at += o.width; o.at >= len(o.dst) {
			o.at -= len(o.dst) - 1
		}
	}
}
