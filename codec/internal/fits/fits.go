// Package fits decodes the tiles of compressed FITS images (FITS Standard 4.0, section 10; CFITSIO).
//
// A compressed image is a binary table. Each row describes a tile. The bytes of the tile are in the
// heap after the rows, at the offset and with the length of a descriptor in the row:
//
//	├ row ┼ row ┼ … ┼ heap: tile ┼ tile ┼ … ┤
//	  └ count offset │ scale │ zero
//
// Integers are compressed with RICE_1, PLIO_1, HCOMPRESS_1 or gzip (not in this package). They are
// decoded to big-endian integers, the form of uncompressed FITS images. Floats are quantized to
// integers: float = integer × scale + zero, with the scale and the zero of the tile. They may be
// dithered: a random number of a sequence in the standard was added before rounding.
//
// For example, eight bytes of 5 are, with RICE_1 in one block, 05 │ 00: the first number, and the code for a block
// whose differences are all zero.
package fits

import (
	"encoding/binary"
	"math"

	"varve/codec/internal/corrupt"
)

// words writes big-endian integers of 1, 2 or 4 bytes. Integers of one byte are unsigned.
type words struct {
	dst   []byte
	size  int
	clips bool // integers out of range become the nearest limit, instead of an error
}

// count returns the number of integers that fit in dst.
func (w *words) count() int { return len(w.dst) / w.size }

// put writes integer i.
func (w *words) put(i int, v int64) error {
	least, most := w.limits()
	if v < least || v > most {
		if !w.clips {
			return corrupt.Errorf("pixel %d: value %d is out of range for an image of %d bits (%d to %d)", i, v, 8*w.size, least, most)
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

// limits returns the range of an integer of the size.
func (w *words) limits() (least, most int64) {
	switch w.size {
	case 1:
		return 0, math.MaxUint8
	case 2:
		return math.MinInt16, math.MaxInt16
	}
	return math.MinInt32, math.MaxInt32
}
