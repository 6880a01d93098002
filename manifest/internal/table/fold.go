package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"varve/manifest"
	"varve/readers/parquet"
)

// Fold writes the rows of a kind, from the table that starts at row first on, as one table, and
// returns their number. Rows that are found by number keep it. Of rows that are found by ID,
// duplicates are removed. The result equals the table that writing all these rows at once would give.
func (r *Reader) Fold(ctx context.Context, kind manifest.TableKind, first int64, w io.Writer) (rows int64, err error) {
	k := r.kinds[kind]
	if k == nil || first < 0 || first > k.rows {
		return 0, fmt.Errorf("cannot fold rows of %s from row %d on: there are %d rows", kind, first, r.Rows(kind))
	}
	switch kind {
	case manifest.Refs:
		return r.foldRefs(ctx, first, w)
	case manifest.Sources:
		columns, err := r.sourceColumns(ctx, first)
		if err != nil {
			return 0, err
		}
		return r.foldRows(ctx, newTable(w, kind, columns), first)
	case manifest.Blobs:
		return r.foldRows(ctx, newTable(w, kind, inlineColumns), first)
	case manifest.FilePoints:
		return r.foldRows(ctx, newTable(w, kind, pointColumns), first)
	case manifest.Headers, manifest.Groups:
		return r.foldByID(ctx, newTable(w, kind, documentColumns), first)
	case manifest.ValueOf:
		return r.foldByID(ctx, newTable(w, kind, valueColumns), first)
	}
	return 0, fmt.Errorf("folding tables of %s is %w", kind, errors.ErrUnsupported)
}

func (r *Reader) foldRefs(ctx context.Context, first int64, w io.Writer) (int64, error) {
	newRefs := NewRefs
	isChecked, err := r.hasColumn(ctx, manifest.Refs, first, checksumColumn)
	if err != nil {
		return 0, err
	}
	if isChecked {
		newRefs = NewCheckedRefs
	}
	out := newRefs(w)
	for b, err := range r.ScanRefs(ctx, first, r.Rows(manifest.Refs)-first) {
		if err == nil {
			err = out.Append(&b.RefColumns)
		}
		if err != nil {
			return 0, err
		}
	}
	return out.Rows(), out.Close()
}

// sourceColumns returns the columns of the tables of sources from a row on.
func (r *Reader) sourceColumns(ctx context.Context, first int64) ([]parquet.Column, error) {
	hasScanned, err := r.hasColumn(ctx, manifest.Sources, first, scannedColumn)
	if hasScanned {
		return sourceColumns, err
	}
	return unmovedColumns, err
}

// hasColumn reports whether any table of a kind from a row on has a column that tables may lack.
func (r *Reader) hasColumn(ctx context.Context, kind manifest.TableKind, first int64, column int) (bool, error) {
	for _, t := range r.kinds[kind].tables {
		if t.table.First < first {
			continue
		}
		s, err := r.section(ctx, t)
		if err != nil {
			return false, err
		}
		if s.columns[column] >= 0 {
			return true, nil
		}
	}
	return false, nil
}

// foldRows writes rows in the order of their numbers.
func (r *Reader) foldRows(ctx context.Context, out *builder, first int64) (int64, error) {
	for s, err := range r.strips(ctx, out.kind, first, r.Rows(out.kind)-first) {
		if err != nil {
			return 0, err
		}
		for i := s.from; i < s.to; i++ {
			for column := range out.columns {
				out.value(column, &s.columns[column], i)
			}
			if err := out.endRow(); err != nil {
				return 0, err
			}
		}
	}
	return out.total, out.close()
}

// value adds a value from another table.
func (b *builder) value(column int, from *parquet.Values, i int) {
	switch {
	case from.Null(i):
		b.null(column)
	case b.columns[column].Type == parquet.Int:
		b.int(column, from.Ints[i])
	default:
		b.blob(column, from.Bytes[i])
	}
}

// foldByID merges tables that are sorted by ID.
func (r *Reader) foldByID(ctx context.Context, out *builder, first int64) (int64, error) {
	var heads []*idHead
	defer func() {
		for _, h := range heads {
			h.stop()
		}
	}()
	for _, t := range r.kinds[out.kind].tables {
		if t.table.First < first {
			continue
		}
		h := &idHead{}
		h.next, h.stop = iter.Pull2(r.keyedRows(ctx, out.kind, t.table.First, t.table.Rows))
		heads = append(heads, h)
		if err := h.step(); err != nil {
			return 0, err
		}
	}
	for last := ""; ; {
		least, err := leastOf(heads)
		if err != nil {
			return 0, err
		}
		if least == nil {
			return out.total, out.close()
		}
		// Sorted output is what lookups by ID rely on, so disorder must not be copied.
		if least.id <= last {
			return 0, least.of.damaged(fmt.Errorf("%s %q follows %q, but IDs have to increase", out.kind, least.id, last))
		}
		last = least.id
		out.text(idColumn, least.id)
		for column := range out.columns[1:] {
			out.blob(1+column, least.rest[column])
		}
		if err := out.endRow(); err != nil {
			return 0, err
		}
	}
}

// idHead is the next row of a table that is being merged.
type idHead struct {
	row  keyedRow
	more bool
	next func() (keyedRow, error, bool)
	stop func()
}

func (h *idHead) step() (err error) {
	h.row, err, h.more = h.next()
	return err
}

// leastOf returns the row with the smallest ID and advances all tables that have it. It returns nil at
// the end.
func leastOf(heads []*idHead) (*keyedRow, error) {
	var least *idHead
	for _, h := range heads {
		if h.more && (least == nil || h.row.id < least.row.id) {
			least = h
		}
	}
	if least == nil {
		return nil, nil
	}
	row := least.row
	for _, h := range heads {
		for h.more && h.row.id == row.id {
			if err := h.step(); err != nil {
				return nil, err
			}
		}
	}
	return &row, nil
}

// FoldTiles writes the tiles of segments as one table, with the segments' shifts applied. It returns
// their number.
func (r *Reader) FoldTiles(ctx context.Context, segments []manifest.Segment, dims int, w io.Writer) (int64, error) {
	out := NewTiles(w, dims)
	for _, s := range segments {
		for tile, err := range r.ScanTiles(ctx, s) {
			if err == nil {
				err = out.Append(tile)
			}
			if err != nil {
				return 0, err
			}
		}
	}
	return out.Rows(), out.Close()
}
