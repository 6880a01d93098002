// Package fits decodes the tiles of compressed FITS images (FITS Standard 4.0, section 10; CFITSIO).
//
// A compressed image is a binary table. A row is a tile; its bytes are in the heap behind the rows,
// where a descriptor in the row says:
//
//	├ row ┼ row ┼ … ┼ heap: tile ┼ tile ┼ … ┤
//	  └ count offset │ scale │ zero
//
// Integers are compressed by RICE_1, PLIO_1 or HCOMPRESS_1 (and by gzip, which is not here). Floats
// are so many times the scale of their tile, plus a zero, and may have been dithered: a number of
// a sequence that everybody knows was added before they were rounded.
//
// What is decoded are big-endian integers, as FITS has them in plain images.
package fits

import (
	"encoding/binary"
	"math"

	"varve/codec/internal/corrupt"
)

// words writes integers of 1, 2 or 4 bytes, the first of which is unsigned.
type words struct {
	dst  []byte
	size int
	clip bool // what is out of range becomes the nearest that is not
}

// count is how many there is room for.
func (w *words) count() int { return len(w.dst) / w.size }

// put writes the i-th integer.
func (w *words) put(i int, v int64) error {
	least, most := w.limits()
	if v < least || v > most {
		if !w.clip {
			return corrupt.Errorf("number %d decodes to %d, which an image of %d bits cannot hold", i, v, 8*w.size)
		}
		v = min(max(v, least), most)
	}
	switch w.size {
	case 1:
		w.dst[i] = byte(v)
	case 2:
		binary.BigEndian.PutUint16(w.dst[2*i:], uint16(v))
	case 4:
		binary.BigEndian.PutUint32(w.dst[4*i:], uint32(v))
	}
	return nil
}

func (w *words) limits() (least, most int64) {
	switch w.size {
	case 1:
		return 0, math.MaxUint8
	case 2:
		return math.MinInt16, math.MaxInt16
	}
	return math.MinInt32, math.MaxInt32
}
