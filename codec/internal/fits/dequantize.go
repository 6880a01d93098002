package fits

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"varve/codec/internal/corrupt"
	"varve/codec/internal/shuffle"
)

// decoder returns what makes big-endian integers of 4 bytes of a tile's bytes.
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

// unpack makes integers of 4 bytes of some that may have fewer, as how many bytes there are tells.
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
	size := 4
	for ; size > 1 && len(stored) != size*n; size /= 2 {
	}
	if len(stored) != size*n {
		return 0, corrupt.Errorf("%d bytes for %d integers", len(stored), n)
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
			v = uint32(stored[i])
		case 2:
			v = uint32(int16(binary.BigEndian.Uint16(stored[2*i:])))
		case 4:
			v = binary.BigEndian.Uint32(stored[4*i:])
		}
		binary.BigEndian.PutUint32(dst[4*i:], v)
	}
	return len(dst), nil
}

// DecodeTile decodes the bytes of a tile to floats of a size of 4 or 8 bytes, little-endian, with which dst
// is filled.
func (q *Quantized) DecodeTile(dst []byte, t *Tile, stored []byte, size int) error {
	var err error
	switch t.column {
	case &q.Data:
		err = q.restore(dst, t, stored, size)
	case q.Gzip:
		var n int
		if n, err = q.Inflate(dst, stored); err == nil {
			err = plain(dst, n, size)
		}
	default:
		err = plain(dst, copy(dst, stored)+max(len(stored)-len(dst), 0), size)
	}
	if err != nil {
		return fmt.Errorf("tile %d: %w", t.number+1, err)
	}
	return nil
}

// plain turns floats that were not quantized, of which there are so many bytes.
func plain(floats []byte, n, size int) error {
	if n != len(floats) {
		return corrupt.Errorf("%d bytes for floats that take %d", n, len(floats))
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

// restore makes floats of the integers of a tile.
func (q *Quantized) restore(floats []byte, t *Tile, stored []byte, size int) error {
	integers := floats[len(floats)-len(floats)/size*4:] // each of which is read before a float takes its place
	decode, err := q.decoder()
	if err != nil {
		return err
	}
	n, err := decode(integers, stored)
	if err != nil {
		return err
	}
	if n != len(integers) {
		return corrupt.Errorf("%d bytes for integers that take %d", n, len(integers))
	}
	scale, zero, null := q.Unit.of(t.row), q.Zero.of(t.row), math.NaN()
	if !q.Null.isNone() {
		null = q.Null.of(t.row)
	}
	dithered := q.Method != noDither
	var random dither
	if dithered {
		random = newDither(t.number + max(q.Seed, 1) - 1)
	}
	for i := range len(integers) / 4 {
		v := float64(int32(binary.BigEndian.Uint32(integers[4*i:])))
		f := v
		if dithered {
			f = v - random.take() + 0.5
		}
		f = float64(f*scale) + zero // not in one step, which would round otherwise
		switch {
		case v == null:
			f = math.Float64frombits(quietNaN)
		case v == storedZero && q.Method == keepingZero:
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
