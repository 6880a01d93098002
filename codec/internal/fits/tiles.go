package fits

import "varve/codec/internal/corrupt"

// Tile is a tile of an image, and where in the table its bytes are.
type Tile struct {
	Origin, Shape []int64 // of the image
	At, Length    int64   // of the bytes
	number        int64   // from 0
	row           []byte
	column        *Heap // that has the bytes
}

// RowBytes is how many bytes of a table have to be at hand to find tiles.
func (q *Quantized) RowBytes() int64 { return q.Rows * q.Row }

// Find returns the tiles that a box meets of an image of a shape, from the rows of a table of so
// many bytes.
func (q *Quantized) Find(rows []byte, table int64, image, origin, shape []int64) ([]Tile, error) {
	if len(q.Tile) != len(image) {
		return nil, corrupt.Errorf("tiles of shape %v, of an image of shape %v", q.Tile, image)
	}
	if table < q.Heap || int64(len(rows)) < q.RowBytes() {
		return nil, corrupt.Errorf("%d bytes of a table whose heap begins at %d", table, q.Heap)
	}
	all := int64(1)
	first, last := make([]int64, len(image)), make([]int64, len(image))
	for k, length := range image {
		if shape[k] < 1 {
			return nil, nil
		}
		all *= (length-1)/q.Tile[k] + 1
		first[k], last[k] = origin[k]/q.Tile[k], (origin[k]+shape[k]-1)/q.Tile[k]
	}
	if all > q.Rows {
		return nil, corrupt.Errorf("%d tiles of shape %v, of %d that make an image of shape %v", q.Rows, q.Tile, all, image)
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

// tile is the tile at some coordinates. Those at the border end with the image.
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

// locate finds the bytes of a tile: in the column of the coder, else in another.
func (q *Quantized) locate(t *Tile, table int64) error {
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
	return corrupt.Errorf("tile %d: it has no bytes", t.number+1)
}

// Count is how many elements a tile has.
func (t *Tile) Count() int64 {
	n := int64(1)
	for _, length := range t.Shape {
		n *= length
	}
	return n
}
