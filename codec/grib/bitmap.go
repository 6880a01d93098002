package grib

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"varve/codec/internal/corrupt"
)

// Missing is the value of a point without a value. Compare its bits: a NaN with other bits is not
// missing.
var Missing = math.Float64frombits(0x7ff8000000000000)

// The number of bytes before the bitmap in its section.
const (
	bitmapHeader1 = 6 // length 3, unused bits 1, number of a predefined bitmap 2
	bitmapHeader2 = 6 // length 4, number of the section 1, indicator 1
)

// The indicators of edition 2, code table 6.0. Indicators from 1 to 253 are predefined bitmaps.
const (
	bitmapHere     = 0
	bitmapPrevious = 254
	bitmapNone     = 255
)

// Bitmap1 returns the bitmap of a whole section 3 of edition 1. A predefined bitmap, which only its
// centre knows, is errors.ErrUnsupported.
func Bitmap1(section []byte) ([]byte, error) {
	if len(section) < bitmapHeader1 {
		return nil, corrupt.Errorf("section 3: %d bytes, at least %d are expected", len(section), bitmapHeader1)
	}
	if n := binary.BigEndian.Uint16(section[4:]); n != 0 {
		return nil, fmt.Errorf("section 3: predefined bitmap %d of the centre: %w", n, errors.ErrUnsupported)
	}
	return section[bitmapHeader1:], nil
}

// Bitmap2 returns the bitmap of a whole section 6 of edition 2, nil if every point has a value.
// previous is the last bitmap before it in the same message, nil if there is none.
func Bitmap2(section, previous []byte) ([]byte, error) {
	if len(section) < bitmapHeader2 {
		return nil, corrupt.Errorf("section 6: %d bytes, at least %d are expected", len(section), bitmapHeader2)
	}
	switch indicator := section[5]; indicator {
	case bitmapHere:
		return section[bitmapHeader2:], nil
	case bitmapPrevious:
		if previous == nil {
			return nil, corrupt.Errorf("section 6: refers to the bitmap of an earlier field, and there is none")
		}
		return previous, nil
	case bitmapNone:
		return nil, nil
	default:
		return nil, fmt.Errorf("section 6: predefined bitmap %d of the centre: %w", indicator, errors.ErrUnsupported)
	}
}

// bytesOf returns how many bytes n bits take.
func bytesOf(n int) int { return n/8 + (n%8+7)/8 }

// countBits returns how many of the first n bits are set.
func countBits(bitmap []byte, n int) int {
	count, whole := 0, n/8
	for ; len(bitmap) >= 8 && whole >= 8; whole -= 8 {
		count += bits.OnesCount64(binary.BigEndian.Uint64(bitmap))
		bitmap = bitmap[8:]
	}
	for _, b := range bitmap[:whole] {
		count += bits.OnesCount8(b)
	}
	if rest := n % 8; rest != 0 {
		count += bits.OnesCount8(bitmap[whole] >> (8 - rest))
	}
	return count
}

// countBitsFrom returns how many of n bits from bit at on are set.
func countBitsFrom(bitmap []byte, at, n int) int {
	count := 0
	for ; n > 0 && at&7 != 0; at, n = at+1, n-1 {
		count += int(bitmap[at>>3] >> (7 - at&7) & 1)
	}
	if n == 0 {
		return count
	}
	return count + countBits(bitmap[at>>3:], n)
}

// spread copies the next value to each point whose bit is set, and Missing to the others. values
// may be the end of dst.
func spread(dst, values []float64, bitmap []byte) {
	for len(dst) >= 8 && len(values) >= 8 {
		b := bitmap[0]
		bitmap = bitmap[1:]
		switch b {
		case 0xff:
			copy(dst[:8], values[:8])
			values = values[8:]
		case 0:
			setMissing(dst[:8])
		default:
			values = spreadSome(dst[:8], values, b)
		}
		dst = dst[8:]
	}
	for len(dst) > 0 {
		n := min(8, len(dst))
		values = spreadSome(dst[:n], values, bitmap[0])
		dst, bitmap = dst[n:], bitmap[1:]
	}
}

// spreadSome spreads values over up to 8 points, and returns the values that are left.
func spreadSome(dst, values []float64, b byte) []float64 {
	for i := range dst {
		if b&0x80 == 0 {
			dst[i] = Missing
		} else {
			dst[i], values = values[0], values[1:]
		}
		b <<= 1
	}
	return values
}

func setMissing(dst []float64) {
	for i := range dst {
		dst[i] = Missing
	}
}
