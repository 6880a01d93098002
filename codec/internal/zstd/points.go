package zstd

import (
	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// Points decodes as Decode does, and returns points at the start of frames. Spans have as many frames as fit in every
// bytes. A frame needs nothing from before it, so there are no windows.
//
// There are no points within frames. A block may refer to any byte of the frame before it, to offsets of sequences, and to
// entropy codes of earlier blocks.
func Points(dst, src []byte, every int) (n int, points []access.Point, err error) {
	splitter := access.Splitter{Every: every}
	n, err = decode(dst, src, func(out, size, at int) {
		if splitter.Splits(out, size) {
			points = append(points, access.Point{Out: out, Bit: 8 * at})
		}
	})
	return n, points, err
}

// ResumeSize returns the size of the buffer that Resume needs for size bytes.
func ResumeSize(size int) int { return size + maxBlock }

// Resume decodes size bytes from a point on, and returns them as a part of room, which has ResumeSize(size) bytes. src
// begins at the point. The last frame is decoded up to the block with the last wanted byte, so its checksum may not be
// verified.
func Resume(room []byte, size int, src []byte) ([]byte, error) {
	d := decoders.Get().(*decoder)
	d.begin(room, src)
	d.isPart, d.need = true, size
	var err error
	for d.op < size && err == nil {
		if d.ip >= len(src) {
			err = corrupt.Errorf("zstd: a span has only %d of %d bytes", d.op, size)
			break
		}
		err = d.frame()
	}
	d.isPart = false
	d.release()
	return room[:size], err
}
