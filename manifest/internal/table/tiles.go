package table

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"varve/manifest"
	"varve/readers/parquet"
)

// ScanTiles yields the tiles of a segment in order, with its shift applied. A tile is valid until the next one: a
// placement can have a million, so they share their memory. If Shift is nil, the number of dimensions is the table's.
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
		scan := tileScan{section: t, shift: s.Shift}
		err = t.pages(s.Row, s.Row+s.Rows, func(p tablePage) bool {
			if failed = ctx.Err(); failed != nil {
				return false
			}
			if failed = scan.read(p); failed != nil {
				return false
			}
			from, to := max(s.Row-p.first, 0), min(s.Row+s.Rows-p.first, p.rows)
			for i := from; i < to; i++ {
				tile := scan.tile(int(i))
				if err := checkTile(&tile); err != nil {
					failed = t.damaged(fmt.Errorf("tile %d: %w", p.first+i, err))
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

// tileScan reads pages of tiles. It uses its memory again for each page and tile.
type tileScan struct {
	*section
	shift []int64

	columns []parquet.Values
	numbers []int64 // of the last tile
}

// read reads a page.
func (s *tileScan) read(p tablePage) error {
	dims := s.dims()
	if s.shift != nil && len(s.shift) != dims {
		return s.damaged(fmt.Errorf("its tiles have %d dimensions, but a segment has %d", dims, len(s.shift)))
	}
	if s.columns == nil {
		s.columns, s.numbers = make([]parquet.Values, len(s.section.columns)), make([]int64, 3*dims)
	}
	for i := range s.columns {
		if err := s.section.read(p, i, &s.columns[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *tileScan) dims() int { return (len(s.section.columns) - originColumn) / columnsOfDim }

// tile returns tile i of the page. It is valid until the next call.
func (s *tileScan) tile(i int) manifest.Tile {
	dims := s.dims()
	t := manifest.Tile{
		// Clip to values that checkTile rejects, so that the conversion cannot wrap around.
		File:   int(min(max(s.columns[fileColumn].Ints[i], -1), math.MaxInt32)),
		Origin: s.numbers[:dims:dims], Start: s.numbers[dims : 2*dims : 2*dims], Shape: s.numbers[2*dims:],
	}
	for d := range dims {
		t.Origin[d], t.Start[d], t.Shape[d] = s.columns[dimColumn(originColumn, d)].Ints[i], s.columns[dimColumn(startColumn, d)].Ints[i], s.columns[dimColumn(shapeColumn, d)].Ints[i]
		if s.shift != nil {
			t.Origin[d] = shifted(t.Origin[d], s.shift[d])
		}
	}
	return t
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
		if !t.IsValid(d) {
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
			tile.Origin, tile.Start, tile.Shape = slices.Clone(tile.Origin), slices.Clone(tile.Start), slices.Clone(tile.Shape)
			out.Tiles = append(out.Tiles, tile)
		}
	}
	return out, nil
}
