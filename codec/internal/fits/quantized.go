package fits

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"varve/codec/internal/corrupt"
)

// Quantized describes an image of floats that are stored as integers, with a scale and a zero for
// each tile. It holds everything needed to read the table of tiles, rows and heap.
type Quantized struct {
	Rows   int64   `json:"rows"`             // NAXIS2
	Row    int64   `json:"row"`              // bytes per row: NAXIS1
	Heap   int64   `json:"heap"`             // offset of the heap from the first row: THEAP
	Tile   []int64 `json:"tile"`             // shape of a tile, the slowest axis first
	Coder  string  `json:"coder"`            // ZCMPTYPE
	Bytes  int     `json:"bytes,omitempty"`  // BYTEPIX of RICE_1
	Block  int     `json:"block,omitempty"`  // BLOCKSIZE of RICE_1
	Method string  `json:"method,omitempty"` // ZQUANTIZ, the method of dithering
	Seed   int64   `json:"seed,omitempty"`   // ZDITHER0

	Data Heap   `json:"data"`           // COMPRESSED_DATA
	Gzip *Heap  `json:"gzip,omitempty"` // GZIP_COMPRESSED_DATA: gzip of floats that were not quantized
	Raw  *Heap  `json:"raw,omitempty"`  // UNCOMPRESSED_DATA
	Unit Number `json:"scale"`          // ZSCALE
	Zero Number `json:"zero"`           // ZZERO
	Null Number `json:"blank,omitzero"` // ZBLANK, the integer that means NaN; the zero value means none

	// Inflate decodes gzip to dst and returns the decoded length.
	Inflate func(dst, src []byte) (int, error) `json:"-"`
}

// Heap is a column of descriptors. A descriptor is a number of elements and their offset in the heap.
type Heap struct {
	At   int64 `json:"at"`   // offset of the descriptor in a row
	Wide bool  `json:"wide"` // its two numbers have 8 bytes each (TFORM Q), not 4 (TFORM P)
	Size int64 `json:"size"` // bytes per element
}

// Number is a column of numbers, one for each tile, or one number for all tiles.
type Number struct {
	Kind string `json:"kind,omitempty"` // type of the column in TFORM: B, I, J, K, E or D; "" if All is used
	At   int64  `json:"at,omitempty"`   // offset in a row
	All  string `json:"all,omitempty"`  // the number for all tiles, as text, so that JSON does not round it
	all  float64
}

// numberSizes maps a type in TFORM to its bytes.
var numberSizes = map[string]int64{"B": 1, "I": 2, "J": 4, "K": 8, "E": 4, "D": 8}

// Check returns an error unless the description is consistent. It also prepares q for decoding.
func (q *Quantized) Check() error {
	switch {
	case q.Rows < 0 || q.Row < 1 || q.Heap < 0 || q.Rows > math.MaxInt64/q.Row || q.Heap < q.Rows*q.Row:
		return fmt.Errorf("heap offset %d, must be after %d rows of %d bytes", q.Heap, q.Rows, q.Row)
	case q.Seed < 0 || q.Seed > randoms:
		return fmt.Errorf("seed of dithering %d (ZDITHER0), must be 0 to %d", q.Seed, randoms)
	case q.Method != noDither && q.Method != dither1 && q.Method != ditherExactZero:
		return fmt.Errorf("dithering %q (ZQUANTIZ), must be %s, %s or %s", q.Method, noDither, dither1, ditherExactZero)
	}
	for _, n := range q.Tile {
		if n < 1 {
			return fmt.Errorf("tiles of shape %v, all lengths must be positive", q.Tile)
		}
	}
	for _, h := range []*Heap{&q.Data, q.Gzip, q.Raw} {
		if h != nil && (h.At < 0 || h.At > q.Row-h.width() || h.Size < 1 || h.Size > 16) {
			return fmt.Errorf("descriptor of %d-byte elements at offset %d, must be in a row of %d bytes", h.Size, h.At, q.Row)
		}
	}
	for _, n := range []*Number{&q.Unit, &q.Zero, &q.Null} {
		if err := n.check(q.Row); err != nil {
			return err
		}
	}
	if q.Unit.isNone() || q.Zero.isNone() {
		return fmt.Errorf("the scale (ZSCALE) or the zero (ZZERO) is missing")
	}
	_, err := q.decoder()
	return err
}

// isNone reports whether n is the zero value.
func (n *Number) isNone() bool { return n.Kind == "" && n.All == "" }

// check returns an error unless n is valid for rows of the given bytes. It parses n.All.
func (n *Number) check(row int64) error {
	if n.Kind == "" && n.All != "" {
		var err error
		n.all, err = strconv.ParseFloat(n.All, 64)
		return err
	}
	if size := numberSizes[n.Kind]; n.Kind != "" && (size == 0 || n.At < 0 || n.At > row-size) {
		return fmt.Errorf("number of type %q at offset %d, must be B, I, J, K, E or D in a row of %d bytes", n.Kind, n.At, row)
	}
	return nil
}

// of returns the number for the tile of a row.
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

// width returns the bytes of a descriptor.
func (h *Heap) width() int64 {
	if h.Wide {
		return 16
	}
	return 8
}

// find returns the position in the table and the length of the bytes that a row's descriptor names.
// table is the number of bytes of the whole table.
func (h *Heap) find(q *Quantized, row []byte, table int64) (at, length int64, err error) {
	b := row[h.At:]
	count, offset := int64(int32(binary.BigEndian.Uint32(b))), int64(int32(binary.BigEndian.Uint32(b[4:])))
	if h.Wide {
		count, offset = int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
	}
	room := table - q.Heap
	if count < 0 || offset < 0 || offset > room || count > (room-offset)/h.Size {
		return 0, 0, corrupt.Errorf("descriptor of %d elements of %d bytes at offset %d, but the heap has %d bytes", count, h.Size, offset, room)
	}
	return q.Heap + offset, count * h.Size, nil
}
