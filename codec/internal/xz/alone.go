package xz

import (
	"encoding/binary"

	"varve/codec/internal/corrupt"
)

const aloneHeader = 13

// DecodeAlone decodes the .lzma file src to dst and returns the decoded length. More than len(dst) bytes
// are an error.
//
//	byte 0   (pb*5 + lp)*9 + lc
//	     1   u32 little-endian   size of the dictionary
//	     5   u64 little-endian   size of the text, or all ones if a marker ends it
//	    13   LZMA data
func DecodeAlone(dst, src []byte) (int, error) {
	d := borrow(src)
	defer d.release()
	head, err := d.take(aloneHeader)
	if err != nil {
		return 0, err
	}
	if err := d.setPackedProperties(head[0]); err != nil {
		return 0, err
	}
	size := binary.LittleEndian.Uint64(head[5:])
	var n int
	if size == unknown {
		n, err = d.marked(dst)
	} else if size > uint64(len(dst)) {
		return 0, corrupt.Errorf("xz: decoded size %d at byte 5, at most %d bytes are expected", size, len(dst))
	} else {
		n, err = d.sized(dst[:size])
	}
	if err == nil && d.next != len(src) {
		err = corrupt.Errorf("xz: the stream ends at byte %d, but %d bytes follow", d.next, len(src)-d.next)
	}
	return n, err
}

// marked decodes LZMA data that ends with a marker.
func (d *decoder) marked(dst []byte) (int, error) {
	if err := d.startLZMA(dst); err != nil {
		return 0, err
	}
	atMarker, err := d.run(len(dst))
	if err == nil && !atMarker {
		err = d.marker()
	}
	if err != nil {
		return 0, err
	}
	return d.at, d.finish()
}

// sized decodes LZMA data that must fill dst. A marker may follow.
func (d *decoder) sized(dst []byte) (int, error) {
	if err := d.startLZMA(dst); err != nil {
		return 0, err
	}
	atMarker, err := d.run(len(dst))
	if err == nil && atMarker && d.at < len(dst) {
		err = corrupt.Errorf("xz: a marker ends the text after %d bytes, %d are expected", d.at, len(dst))
	}
	// Unread bits after the last byte can only be the marker.
	if d.normalize(); err == nil && !atMarker && !d.atEnd() {
		err = d.marker()
	}
	if err != nil {
		return 0, err
	}
	return d.at, d.finish()
}

// startLZMA prepares the decoder for LZMA data that fills the rest of src.
func (d *decoder) startLZMA(dst []byte) error {
	d.out, d.at, d.base = dst, 0, 0
	d.resetState()
	return d.startRange(d.src, d.next)
}

// finish checks the end of the data, and moves after it.
func (d *decoder) finish() error {
	d.normalize()
	if d.code != 0 || d.pos > len(d.data) {
		return d.damaged()
	}
	d.next = d.pos
	return nil
}
