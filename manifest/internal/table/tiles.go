package table

import (
	"context"
	"fmt"
	"iter"
	"math"

	"varve/manifest"
	"varve/readers/parquet"
)

// ScanTiles yields the tiles of a segment in order, with its shift applied. The caller may keep them.
// If Shift is nil, the number of dimensions is the table's.
func (r *Reader) ScanTiles(ctx context.Context, s manifest.Segment) iter.Seq2[manifest.Tile, error] {
	return func(yield func(manifest.Tile, error) bool) {
		fail := func(err error) { yield(manifest.Tile{}, err) }
		t, err := r.byName(ctx, manifest.Tiles, s.Table)
		if err == nil && (s.Row < 0 || s.Rows < 0 || s.Rows > t.rows || s.Row > t.rows-s.Rows) {
			err = t.damaged(fmt.Errorf("a segment has %d rows from row %d on, but the table has %d", s.Rows, s.Row, t.rows))
		}
		if err != nil {
			fail(err)
			return
		}
		var failed error
		err = t.pages(s.Row, s.Row+s.Rows, func(p tablePage) bool {
			if failed = ctx.Err(); failed != nil {
				return false
			}
			tiles, err := t.tiles(p, s.Shift)
			if err != nil {
				failed = err
				return false
			}
			from, to := max(s.Row-p.first, 0), min(s.Row+s.Rows-p.first, p.rows)
			for i, tile := range tiles[from:to] {
				if err := checkTile(&tile); err != nil {
					failed = t.damaged(fmt.Errorf("tile %d: %w", p.first+from+int64(i), err))
					return false
				}
				if !yield(tile, nil) {
					return false
				}
			}
			return true
		})
		if failed == nil {
			failed = err
		}
		if failed != nil {
			fail(failed)
		}
	}
}

// byName returns an open table by its name.
func (r *Reader) byName(ctx context.Context, kind manifest.TableKind, name string) (*section, error) {
	if k := r.kinds[kind]; k != nil {
		for _, t := range k.tables {
			if t.table.Name == name {
				return r.section(ctx, t)
			}
		}
	}
	return nil, &manifest.DamageError{Name: name, Damage: manifest.FileMissing, Detail: "the snapshot uses this table of kind " + string(kind) + ", but does not list it"}
}

// tiles reads a page of tiles.
func (s *section) tiles(p tablePage, shift []int64) ([]manifest.Tile, error) {
	dims := (len(s.columns) - originColumn) / columnsOfDim
	if shift != nil && len(shift) != dims {
		return nil, s.damaged(fmt.Errorf("its tiles have %d dimensions, but a segment has %d", dims, len(shift)))
	}
	columns := make([]parquet.Values, len(s.columns))
	for i := range columns {
		if err := s.read(p, i, &columns[i]); err != nil {
			return nil, err
		}
	}
	tiles := make([]manifest.Tile, p.rows)
	// One allocation for all tiles of the page.
	room := make([]int64, 3*dims*len(tiles))
	for i := range tiles {
		t := &tiles[i]
		// Clip to values that checkTile rejects, so that the conversion cannot wrap around.
		t.File = int(min(max(columns[fileColumn].Ints[i], -1), math.MaxInt32))
		t.Origin, t.Start, t.Shape, room = room[:dims:dims], room[dims:2*dims:2*dims], room[2*dims:3*dims:3*dims], room[3*dims:]
		for d := range dims {
			t.Origin[d], t.Start[d], t.Shape[d] = columns[dimColumn(originColumn, d)].Ints[i], columns[dimColumn(startColumn, d)].Ints[i], columns[dimColumn(shapeColumn, d)].Ints[i]
			if shift != nil {
				t.Origin[d] = shifted(t.Origin[d], shift[d])
			}
		}
	}
	return tiles, nil
}

// shifted returns an origin after a shift, or -1 if that is out of range.
func shifted(origin, shift int64) int64 {
	if to := origin + shift; (to < origin) == (shift < 0) {
		return to
	}
	return -1
}

// checkTile returns an error if a tile's source or position is out of range.
func checkTile(t *manifest.Tile) error {
	if t.File < 0 || t.File == math.MaxInt32 {
		return fmt.Errorf("source %d is out of range", t.File)
	}
	for d := range t.Origin {
		if t.Origin[d] < 0 || t.Start[d] < 0 || t.Shape[d] < 0 || t.Origin[d] > math.MaxInt64-t.Shape[d] || t.Start[d] > math.MaxInt64-t.Shape[d] {
			return fmt.Errorf("length %d, start %d or origin %d is out of range", t.Shape[d], t.Start[d], t.Origin[d])
		}
	}
	return nil
}

// Placement returns a placement with all its tiles.
func (r *Reader) Placement(ctx context.Context, p manifest.PlacementTable) (*manifest.Placement, error) {
	out := &manifest.Placement{ID: p.ID, Dims: p.Dims}
	for _, s := range p.Segments {
		for tile, err := range r.ScanTiles(ctx, s) {
			if err != nil {
				return nil, err
			}
			if len(tile.Origin) != len(p.Dims) {
				return nil, &manifest.DamageError{Name: s.Table, Damage: manifest.FileCorrupt,
					Detail: fmt.Sprintf("its tiles have %d dimensions, but placement %s has %d", len(tile.Origin), p.ID, len(p.Dims))}
			}
			out.Tiles = append(out.Tiles, tile)
		}
	}
	return out, nil
}
