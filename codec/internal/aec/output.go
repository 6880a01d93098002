package aec

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

// output writes samples to the positions of their pixels.
type output struct {
	dst     []byte
	samples int  // number of samples that fill dst
	bits    uint // bits per sample
	size    int  // bytes per sample in dst
	isMSB   bool // samples are written big-endian

	// For pixels of 32 and 64 bits, whose samples are bytes: first byte 0 of all pixels, then
	// byte 1 of all pixels, and so on.
	width int // bytes per pixel, or 1 if samples are pixels
	at    int // index in dst of the next byte
}

// newOutput returns the output for dst. The length of dst must be a multiple of the pixel size.
func newOutput(dst []byte, p Params) (output, error) {
	o := output{dst: dst, bits: uint(p.BitsPerPixel), size: 1, width: 1, isMSB: p.Options&OptionMSB != 0}
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
		return output{}, corrupt.Errorf("szip: the chunk has %d bytes, not a multiple of the pixel size (%d bits)", len(dst), p.BitsPerPixel)
	}
	o.samples = len(dst) / o.size
	return o, nil
}

// put writes the next samples. The caller must not put more than o.samples in total.
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
	case o.size == 2 && o.isMSB:
		for i, v := range line {
			binary.BigEndian.PutUint16(dst[2*i:], uint16(v))
		}
	case o.size == 2:
		for i, v := range line {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(v))
		}
	case o.isMSB:
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

// putPlanes writes samples that are single bytes of pixels.
func (o *output) putPlanes(line []uint32) {
	for _, v := range line {
		o.dst[o.at] = byte(v)
		if o.at += o.width; o.at >= len(o.dst) {
			o.at -= len(o.dst) - 1 // past the last pixel: go to the next byte of the first pixel
		}
	}
}
