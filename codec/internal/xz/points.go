package xz

import (
	"varve/codec/internal/access"
	"varve/codec/internal/corrupt"
)

// Points decodes as Decode does, and returns points at the start of blocks. Spans have as many blocks of one stream as
// fit in every bytes. The window of a point is the kind of the stream's checksums, one byte.
func Points(dst, src []byte, every int) (n int, points []access.Point, err error) {
	d := borrow(src)
	defer d.release()
	var splitter access.Splitter
	stream := -1
	d.onBlock = func(out, size, at int, c check) {
		// A span does not contain the end of a stream: Resume reads blocks only.
		if d.before != stream {
			stream, splitter = d.before, access.Splitter{Every: every}
		}
		if splitter.Splits(out, size) {
			points = append(points, access.Point{Out: out, Bit: 8 * at, Window: []byte{byte(c)}})
		}
	}
	n, err = d.streams(dst)
	if err == nil && points == nil {
		points = []access.Point{{}} // streams without blocks
	}
	return n, points, err
}

// Resume fills dst with the decoded bytes from a point on. src begins at the point. The last block is decoded to the end
// of dst only, so its checksum is not verified then.
func Resume(dst, window, src []byte) error {
	if len(window) != 1 {
		return corrupt.Errorf("xz: the window of a span has %d bytes, must have 1", len(window))
	}
	c, err := checkOf(0, window[0])
	if err != nil {
		return corrupt.Errorf("xz: the window of a span: %w", err)
	}
	d := borrow(src)
	defer d.release()
	d.isPart = true
	for len(dst) > 0 {
		n, err := d.block(dst, c)
		if err != nil {
			return err
		}
		dst = dst[n:]
	}
	return nil
}
