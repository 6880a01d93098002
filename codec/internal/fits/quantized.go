package fits

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"varve/codec/internal/corrupt"
)

// Quantized is an image of floats that are stored as integers, with a scale and a zero for each
// tile: all that it takes to read the whole table of tiles, rows and heap.
type Quantized struct {
	Rows   int64   `json:"rows"`
	Row    int64   `json:"row"`  // bytes of a row
	Heap   int64   `json:"heap"` // where the heap begins, from the first row on
	Tile   []int64 `json:"tile"` // shape, the slowest axis first
	Coder  string  `json:"coder"`
	Bytes  int     `json:"bytes,omitempty"`  // RICE_1
	Block  int     `json:"block,omitempty"`  // RICE_1
	Method string  `json:"method,omitempty"` // of dithering
	Seed   int64   `json:"seed,omitempty"`   // ZDITHER0

	Data Heap   `json:"data"`           // COMPRESSED_DATA
	Gzip *Heap  `json:"gzip,omitempty"` // GZIP_COMPRESSED_DATA, of floats
	Raw  *Heap  `json:"raw,omitempty"`  // UNCOMPRESSED_DATA
	Unit Number `json:"scale"`
	Zero Number `json:"zero"`
	Null Number `json:"blank,omitzero"` // what stands for NaN; none if it is the zero value

	// Inflate is gzip.
	Inflate func(dst, src []byte) (int, error) `json:"-"`
}

// Heap is a column of descriptors: how many elements there are, and where in the heap.
type Heap struct {
	At   int64 `json:"at"`   // in a row
	Wide bool  `json:"wide"` // of two times 8 bytes, not 4
	Size int64 `json:"size"` // of an element
}

// Number is a column of numbers, or one number for all tiles.
type Number struct {
	Kind string `json:"kind,omitempty"` // the type of the column as TFORM names it: B, I, J, K, E or D
	At   int64  `json:"at,omitempty"`
	All  string `json:"all,omitempty"` // as text, so that it is what it is in the header
	all  float64
}

var numberSizes = map[string]int64{"B": 1, "I": 2, "J": 4, "K": 8, "E": 4, "D": 8}

// Check returns an error unless there is such a table.
func (q *Quantized) Check() error {
	switch {
	case q.Rows < 0 || q.Row < 1 || q.Heap < 0 || q.Rows > math.MaxInt64/q.Row || q.Heap < q.Rows*q.Row:
		return fmt.Errorf("%d rows of %d bytes before a heap at %d", q.Rows, q.Row, q.Heap)
	case q.Seed < 0 || q.Seed > randoms:
		return fmt.Errorf("dithering begins at %d, not from 0 to %d", q.Seed, randoms)
	case q.Method != noDither && q.Method != subtractive && q.Method != keepingZero:
		return fmt.Errorf("dithering %q is none of %s, %s, %s", q.Method, noDither, subtractive, keepingZero)
	}
	for _, n := range q.Tile {
		if n < 1 {
			return fmt.Errorf("tiles of shape %v", q.Tile)
		}
	}
	for _, h := range []*Heap{&q.Data, q.Gzip, q.Raw} {
		if h != nil && (h.At < 0 || h.At > q.Row-h.width() || h.Size < 1 || h.Size > 16) {
			return fmt.Errorf("a descriptor at %d of rows of %d bytes", h.At, q.Row)
		}
	}
	for _, n := range []*Number{&q.Unit, &q.Zero, &q.Null} {
		if err := n.check(q.Row); err != nil {
			return err
		}
	}
	if q.Unit.isNone() || q.Zero.isNone() {
		return fmt.Errorf("there is no scale, or no zero")
	}
	_, err := q.decoder()
	return err
}

func (n *Number) isNone() bool { return n.Kind == "" && n.All == "" }

func (n *Number) check(row int64) error {
	if n.Kind == "" && n.All != "" {
		var err error
		n.all, err = strconv.ParseFloat(n.All, 64)
		return err
	}
	if size := numberSizes[n.Kind]; n.Kind != "" && (size == 0 || n.At < 0 || n.At > row-size) {
		return fmt.Errorf("a number of type %q at %d of rows of %d bytes", n.Kind, n.At, row)
	}
	return nil
}

// of reads the number of a row.
func (n *Number) of(row []byte) float64 {
	if n.Kind == "" {
		return n.all
	}
	b := row[n.At:]
	switch n.Kind {
	case "B":
		return float64(b[0])
	case "I":
		return float64(int16(binary.BigEndian.Uint16(b)))
	case "J":
		return float64(int32(binary.BigEndian.Uint32(b)))
	case "K":
		return float64(int64(binary.BigEndian.Uint64(b)))
	case "E":
		return float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b))
}

func (h *Heap) width() int64 {
	if h.Wide {
		return 16
	}
	return 8
}

// find returns how many bytes a row's descriptor names, and where they begin in a table of so many.
func (h *Heap) find(q *Quantized, row []byte, table int64) (at, length int64, err error) {
	b := row[h.At:]
	count, offset := int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))
	if h.Wide {
		count, offset = int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
	}
	room := table - q.Heap
	if count < 0 || offset < 0 || offset > room || count > (room-offset)/h.Size {
		return 0, 0, corrupt.Errorf("%d elements of %d bytes at offset %d of a heap of %d", count, h.Size, offset, room)
	}
	return q.Heap + offset, count * h.Size, nil
}
