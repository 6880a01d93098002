package fits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/shuffle"
)

// decoder returns the function that decodes the bytes of a tile to big-endian int32.
func (q *Quantized) decoder() (decode func(dst, src []byte) (int, error), err error) {
	switch q.Coder {
	case "RICE_1":
		p := Rice{Bytes: q.Bytes, Block: q.Block, Size: 4}
		return p.Decode, p.Check()
	case "PLIO_1":
		return PLIO{Size: 4}.Decode, nil
	case "HCOMPRESS_1":
		return HCompress{Size: 4}.Decode, nil
	case "GZIP_1", "GZIP_2", "NOCOMPRESS":
		return q.unpack, nil
	}
	return nil, fmt.Errorf("coder %q: %w", q.Coder, errors.ErrUnsupported)
}

// unpack decodes gzip-compressed or plain integers to big-endian int32. The integers may have
// 1, 2 or 4 bytes; their size follows from the number of bytes.
func (q *Quantized) unpack(dst, src []byte) (int, error) {
	stored, n := src, len(dst)/4
	if q.Coder != "NOCOMPRESS" {
		stored = make([]byte, len(dst))
		got, err := q.Inflate(stored, src)
		if err != nil {
			return 0, err
		}
		stored = stored[:got]
	}
	// CFITSIO writes the smallest integers that hold all values of the tile, and nothing in the
	// file says which.
	size := 4
	for ; size > 1 && len(stored) != size*n; size /= 2 {
	}
	if len(stored) != size*n {
		return 0, corrupt.Errorf("%d bytes for %d integers, must be 1, 2 or 4 bytes each", len(stored), n)
	}
	if q.Coder == "GZIP_2" {
		shuffled := stored
		stored = make([]byte, len(shuffled))
		shuffle.Unshuffle(stored, shuffled, size)
	}
	for i := range n {
		v := uint32(0)
		switch size {
		case 1:
			v = uint32(stored[i]) // integers of one byte are unsigned in FITS
		case 2:
			v = uint32(int16(binary.BigEndian.Uint16(stored[2*i:])))
		case 4:
			v = binary.BigEndian.Uint32(stored[4*i:])
		}
		binary.BigEndian.PutUint32(dst[4*i:], v)
	}
	return len(dst), nil
}

// DecodeTile fills dst with the little-endian floats of a tile. stored are the bytes of the tile,
// size is 4 or 8, the bytes of a float.
func (q *Quantized) DecodeTile(dst []byte, t *Tile, stored []byte, size int) error {
	var err error
	switch t.column {
	case &q.Data:
		err = q.restore(dst, t, stored, size)
	case q.Gzip:
		var n int
		if n, err = q.Inflate(dst, stored); err == nil {
			err = swapFloats(dst, n, size)
		}
	default:
		// A count above len(dst) makes swapFloats report bytes that did not fit.
		err = swapFloats(dst, copy(dst, stored)+max(len(stored)-len(dst), 0), size)
	}
	if err != nil {
		return fmt.Errorf("tile %d: %w", t.number+1, err)
	}
	return nil
}

// swapFloats converts floats that were not quantized from big-endian to little-endian, in place.
// n is the number of bytes that the tile decoded to.
func swapFloats(floats []byte, n, size int) error {
	if n != len(floats) {
		return corrupt.Errorf("decoded size %d, %d bytes are expected for the floats", n, len(floats))
	}
	for i := 0; i < len(floats); i += size {
		swap(floats[i : i+size])
	}
	return nil
}

func swap(b []byte) {
	if len(b) == 4 {
		binary.LittleEndian.PutUint32(b, binary.BigEndian.Uint32(b))
		return
	}
	binary.LittleEndian.PutUint64(b, binary.BigEndian.Uint64(b))
}

// restore decodes the integers of a tile and fills floats with the values they represent.
func (q *Quantized) restore(floats []byte, t *Tile, stored []byte, size int) error {
	// The integers are decoded to the end of floats. Each is read before a float overwrites it.
	integers := floats[len(floats)-len(floats)/size*4:]
	decode, err := q.decoder()
	if err != nil {
		return err
	}
	n, err := decode(integers, stored)
	if err != nil {
		return err
	}
	if n != len(integers) {
		return corrupt.Errorf("decoded size %d, %d bytes are expected for the integers", n, len(integers))
	}
	scale, zero, null := q.Unit.of(t.row), q.Zero.of(t.row), math.NaN()
	if !q.Null.isNone() {
		null = q.Null.of(t.row)
	}
	isDithered := q.Method != noDither
	var random dither
	if isDithered {
		random = newDither(t.number + max(q.Seed, 1) - 1)
	}
	for i := range len(integers) / 4 {
		v := float64(int32(binary.BigEndian.Uint32(integers[4*i:])))
		f := v
		if isDithered {
			f = v - random.take() + 0.5
		}
		f = float64(f*scale) + zero // the conversion prevents a fused multiply-add, which rounds differently
		switch {
		case v == null:
			f = math.Float64frombits(quietNaN)
		case v == storedZero && q.Method == ditherExactZero:
			f = 0
		}
		if size == 4 {
			binary.LittleEndian.PutUint32(floats[4*i:], math.Float32bits(float32(f)))
		} else {
			binary.LittleEndian.PutUint64(floats[8*i:], math.Float64bits(f))
		}
	}
	return nil
}
