package fits

import "varve/codec/internal/corrupt"

// Tile is a tile of an image, and the position of its bytes in the table.
type Tile struct {
	Origin, Shape []int64 // in the image
	At, Length    int64   // offset and number of its bytes in the table
	number        int64   // index of the tile, from 0
	row           []byte
	column        *Heap // the column whose descriptor is used
}

// RowBytes returns the number of bytes at the beginning of the table that Find needs.
func (q *Quantized) RowBytes() int64 { return q.Rows * q.Row }

// Find returns the tiles that overlap the box at origin with the given shape, in C order. rows are
// the first RowBytes bytes of the table, table is the table's length in bytes, image is the shape of
// the image.
func (q *Quantized) Find(rows []byte, table int64, image, origin, shape []int64) ([]Tile, error) {
	if len(q.Tile) != len(image) {
		return nil, corrupt.Errorf("tiles of shape %v do not have the dimensions of the image, whose shape is %v", q.Tile, image)
	}
	if table < q.Heap || int64(len(rows)) < q.RowBytes() {
		return nil, corrupt.Errorf("the table has %d bytes, but its heap begins at %d", table, q.Heap)
	}
	all := int64(1)
	first, last := make([]int64, len(image)), make([]int64, len(image))
	for k, length := range image {
		if shape[k] < 1 { // an empty box overlaps no tile
			return nil, nil
		}
		all *= (length-1)/q.Tile[k] + 1
		first[k], last[k] = origin[k]/q.Tile[k], (origin[k]+shape[k]-1)/q.Tile[k]
	}
	if all > q.Rows {
		return nil, corrupt.Errorf("the table has %d tiles of shape %v, but an image of shape %v has %d", q.Rows, q.Tile, image, all)
	}
	var list []Tile
	coords := append([]int64(nil), first...)
	for {
		t := q.tile(rows, coords, image)
		if err := q.locate(&t, table); err != nil {
			return nil, err
		}
		list = append(list, t)
		k := len(coords) - 1
		for ; k >= 0; k-- {
			if coords[k]++; coords[k] <= last[k] {
				break
			}
			coords[k] = first[k]
		}
		if k < 0 {
			return list, nil
		}
	}
}

// tile returns the tile at the coordinates coords in the grid of tiles. Tiles at the border end with
// the image.
func (q *Quantized) tile(rows []byte, coords, image []int64) Tile {
	t := Tile{Origin: make([]int64, len(coords)), Shape: make([]int64, len(coords))}
	for k, c := range coords {
		t.number = t.number*((image[k]-1)/q.Tile[k]+1) + c
		t.Origin[k] = c * q.Tile[k]
		t.Shape[k] = min(q.Tile[k], image[k]-t.Origin[k])
	}
	t.row = rows[t.number*q.Row:][:q.Row]
	return t
}

// locate sets the position of a tile's bytes.
func (q *Quantized) locate(t *Tile, table int64) error {
	// A tile that could not be compressed has an empty descriptor in the first column, and its
	// bytes in another.
	for _, h := range []*Heap{&q.Data, q.Gzip, q.Raw} {
		if h == nil {
			continue
		}
		at, length, err := h.find(q, t.row, table)
		if err != nil {
			return corrupt.Errorf("tile %d: %w", t.number+1, err)
		}
		if length > 0 {
			t.At, t.Length, t.column = at, length, h
			return nil
		}
	}
	return corrupt.Errorf("tile %d: all its descriptors are empty", t.number+1)
}

// Count returns the number of pixels of a tile.
func (t *Tile) Count() int64 {
	n := int64(1)
	for _, length := range t.Shape {
		n *= length
	}
	return n
}
