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

// Decode decodes a table to the floats of an image of a shape, little-endian and of a size of 4 or 8
// bytes, with which dst is filled.
func (q *Quantized) Decode(dst, table []byte, shape []int64, size int) error {
	if len(q.Tile) != len(shape) {
		return corrupt.Errorf("tiles of shape %v, of an image of shape %v", q.Tile, shape)
	}
	if int64(len(table)) < q.Heap {
		return corrupt.Errorf("%d bytes of a table whose heap begins at %d", len(table), q.Heap)
	}
	t := tiles{Quantized: q, image: shape, size: size, at: make([]int64, len(shape)), shape: make([]int64, len(shape))}
	if n := t.count(); n > q.Rows {
		return corrupt.Errorf("%d tiles of shape %v, of %d that make an image of shape %v", q.Rows, q.Tile, n, shape)
	}
	var err error
	if t.decode, err = q.decoder(); err != nil {
		return err
	}
	for number := int64(0); len(dst) > 0; number++ {
		if err := t.tile(dst, table, number); err != nil {
			return fmt.Errorf("tile %d: %w", number+1, err)
		}
		if !t.advance() {
			break
		}
	}
	return nil
}

// tiles goes through the tiles of an image.
type tiles struct {
	*Quantized
	image    []int64
	size     int
	at       []int64 // where the tile begins
	shape    []int64
	decode   func(dst, src []byte) (int, error)
	integers []byte
	floats   []byte
}

// count is how many tiles the image has. Rows beyond are nobody's.
func (t *tiles) count() int64 {
	n := int64(1)
	for k, length := range t.image {
		n *= (length-1)/t.Tile[k] + 1 // of no length: one, which holds nothing
	}
	return n
}

// advance goes to the next tile, or returns false.
func (t *tiles) advance() bool {
	for k := len(t.at) - 1; k >= 0; k-- {
		if t.at[k] += t.Tile[k]; t.at[k] < t.image[k] {
			return true
		}
		t.at[k] = 0
	}
	return false
}

// tile decodes a tile, and copies it to its place.
func (t *tiles) tile(dst, table []byte, number int64) error {
	n := int64(1)
	for k := range t.at {
		t.shape[k] = min(t.Tile[k], t.image[k]-t.at[k])
		n *= t.shape[k]
	}
	if int64(cap(t.integers)) < 4*n {
		t.integers, t.floats = make([]byte, 4*n), make([]byte, n*int64(t.size))
	}
	t.integers, t.floats = t.integers[:4*n], t.floats[:n*int64(t.size)]
	row := table[number*t.Row:][:t.Row]
	stored, err := t.Data.bytes(t.Quantized, table, row)
	switch {
	case err != nil:
		return err
	case len(stored) == 0:
		err = t.plain(table, row)
	default:
		err = t.restore(stored, row, number)
	}
	if err == nil {
		t.place(dst)
	}
	return err
}

// plain reads the floats of a tile that was not quantized.
func (t *tiles) plain(table, row []byte) error {
	for _, h := range []*Heap{t.Gzip, t.Raw} {
		if h == nil {
			continue
		}
		stored, err := h.bytes(t.Quantized, table, row)
		if err != nil {
			return err
		}
		n := len(stored)
		if n == 0 {
			continue
		}
		if h == t.Gzip {
			n, err = t.Inflate(t.floats, stored)
		} else {
			copy(t.floats, stored)
		}
		if err == nil && n != len(t.floats) {
			err = corrupt.Errorf("%d bytes for floats that take %d", n, len(t.floats))
		}
		for i := 0; i < len(t.floats); i += t.size {
			swap(t.floats[i : i+t.size])
		}
		return err
	}
	return corrupt.Errorf("it has no bytes")
}

func swap(b []byte) {
	if len(b) == 4 {
		binary.LittleEndian.PutUint32(b, binary.BigEndian.Uint32(b))
		return
	}
	binary.LittleEndian.PutUint64(b, binary.BigEndian.Uint64(b))
}

// restore makes floats of the integers of a tile.
func (t *tiles) restore(stored, row []byte, number int64) error {
	n, err := t.decode(t.integers, stored)
	if err != nil {
		return err
	}
	if n != len(t.integers) {
		return corrupt.Errorf("%d bytes for integers that take %d", n, len(t.integers))
	}
	scale, zero, null := t.Unit.of(row), t.Zero.of(row), math.NaN()
	if !t.Null.isNone() {
		null = t.Null.of(row)
	}
	dithered := t.Method != noDither
	var random dither
	if dithered {
		random = newDither(number + max(t.Seed, 1) - 1)
	}
	for i := 0; i < len(t.integers)/4; i++ {
		v := float64(int32(binary.BigEndian.Uint32(t.integers[4*i:])))
		f := v
		if dithered {
			f = v - random.take() + 0.5
		}
		f = float64(f*scale) + zero // not in one step, which would round otherwise
		switch {
		case v == null:
			f = math.Float64frombits(quietNaN)
		case v == storedZero && t.Method == keepingZero:
			f = 0
		}
		if t.size == 4 {
			binary.LittleEndian.PutUint32(t.floats[4*i:], math.Float32bits(float32(f)))
		} else {
			binary.LittleEndian.PutUint64(t.floats[8*i:], math.Float64bits(f))
		}
	}
	return nil
}

// place copies a tile to its place in the image, row by row.
func (t *tiles) place(dst []byte) {
	last := len(t.shape) - 1
	run := t.shape[last] * int64(t.size)
	in := make([]int64, len(t.shape)) // of the tile
	for from := int64(0); from < int64(len(t.floats)); from += run {
		to := int64(0)
		for k := range in {
			to = to*t.image[k] + t.at[k] + in[k]
		}
		copy(dst[to*int64(t.size):], t.floats[from:from+run])
		for k := last - 1; k >= 0; k-- {
			if in[k]++; in[k] < t.shape[k] {
				break
			}
			in[k] = 0
		}
	}
}
