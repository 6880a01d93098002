package bzip2

import (
	"varve/codec/internal/access"
	"varve/codec/internal/bitstream"
	"varve/codec/internal/corrupt"
)

// Points decodes as Decode does, and returns points at the start of blocks. Spans have as many blocks as fit in every
// bytes. A block needs nothing from before it, so there are no windows.
func Points(dst, src []byte, every int) (n int, points []access.Point, err error) {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.Reader = bitstream.Reader{Src: src}
	splitter := access.Splitter{Every: every}
	d.onBlock = func(out, size, bit int) {
		if splitter.Splits(out, size) {
			points = append(points, access.Point{Out: out, Bit: bit})
		}
	}
	n, err = d.streams(dst)
	d.Src, d.onBlock = nil, nil
	if err == nil && points == nil {
		points = []access.Point{{}} // streams without blocks
	}
	return n, points, err
}

// Resume fills dst with the decoded bytes from a point on. src begins with the byte that contains the point, and bit is
// the position of the point in it. A block is decoded to the end of dst only, so its checksum is not verified.
func Resume(dst, src []byte, bit int) error {
	d := decoders.Get().(*decoder)
	defer decoders.Put(d)
	d.Reader, d.isPart = bitstream.Reader{Src: src}, true
	if bit > 0 {
		d.Take(uint(bit))
	}
	err := d.resume(dst)
	d.Src, d.isPart = nil, false
	return err
}

// resume decodes blocks until dst is full.
func (d *decoder) resume(dst []byte) error {
	for len(dst) > 0 {
		at := d.Offset()
		magic := d.Take(24)<<24 | d.Take(24)
		d.Take(32) // the checksum
		if d.Overrun() {
			return d.truncated()
		}
		switch magic {
		case blockMagic:
			n, err := d.block(dst, 9*levelSize)
			if err != nil {
				return err
			}
			dst = dst[n:]
		case endMagic:
			d.Align()
			if _, err := d.header(); err != nil {
				return err
			}
		default:
			return corrupt.Errorf("bzip2: no block at byte %d of a span: %012x", at, magic)
		}
	}
	return nil
}
