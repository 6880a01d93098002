// Package parq reads the Parquet files of kerchunk: rows of a path, an offset, a size and raw bytes.
//
//	column  type        null
//	path    BYTE_ARRAY  yes   name of the file
//	offset  INT64       no    of the first byte in the file
//	size    INT64       no    in bytes; offset and size 0: the whole file
//	raw     BYTE_ARRAY  yes   the bytes themselves
//
// It reads what kerchunk's two writers, fastparquet and pyarrow, produce. See package readers/parquet.
package parq

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve/readers"
	"varve/readers/parquet"
	"varve/readers/source"
)

// Row is one row. A Row that Rows yields is valid until the next.
type Row struct {
	Path    string
	HasPath bool // the path is not null
	Offset  int64
	Size    int64
	Raw     []byte // nil: null
}

// maxRows is the number of rows that a file may have without any bytes for them.
const maxRows = 1 << 20

// batchRows is the number of rows that are decoded at once.
const batchRows = 1 << 10

// The columns to read.
const (
	pathColumn = iota
	offsetColumn
	sizeColumn
	rawColumn
	columns
)

var columnNames = [columns]string{"path", "offset", "size", "raw"}

// Rows yields the rows of a file in order. Missing columns are null.
func Rows(ctx context.Context, src *source.Source) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		f, err := parquet.OpenForeign(&reader{ctx, src}, src.Size())
		if err != nil {
			yield(nil, err)
			return
		}
		left := maxRows + 4096*src.Size()
		for group, g := range f.Groups {
			// Run lengths can describe any number of rows in a few bytes.
			if left -= g.Rows; left < 0 {
				yield(nil, fmt.Errorf("%d rows in a file of %d bytes: %w", g.Rows, src.Size(), errors.ErrUnsupported))
				return
			}
			if more, err := rows(ctx, f, group, yield); err != nil || !more {
				if err != nil {
					yield(nil, err)
				}
				return
			}
		}
	}
}

// reader reads a source until a context ends.
type reader struct {
	ctx context.Context
	src *source.Source
}

func (r *reader) ReadAt(p []byte, at int64) (int, error) { return r.src.ReadAt(r.ctx, p, at) }

// rows yields the rows of a row group. It returns false if the caller wants no more.
func rows(ctx context.Context, f *parquet.File, group int, yield func(*Row, error) bool) (more bool, err error) {
	var scanners [columns]*parquet.Scanner
	for i, name := range columnNames {
		if scanners[i], err = scan(f, group, name, i == pathColumn || i == rawColumn); err != nil {
			return false, fmt.Errorf("column %q: %w", name, err)
		}
	}
	var row Row
	var batch [columns]parquet.Values
	for at := int64(0); at < f.Groups[group].Rows; at += batchRows {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		n := int(min(batchRows, f.Groups[group].Rows-at))
		for i, s := range scanners {
			if s == nil {
				batch[i] = nulls(n)
			} else if err := s.Read(&batch[i], n); err != nil {
				return false, fmt.Errorf("column %q: %w", columnNames[i], err)
			}
		}
		for i := range n {
			if err := row.set(&batch, i); err != nil {
				return false, fmt.Errorf("row %d: %w", at+int64(i), err)
			}
			if !yield(&row, nil) {
				return false, nil
			}
		}
	}
	return true, nil
}

func nulls(n int) parquet.Values {
	return parquet.Values{Ints: make([]int64, n), Bytes: make([][]byte, n), Present: make([]uint8, n)}
}

// set sets a row to row i of a batch.
func (r *Row) set(batch *[columns]parquet.Values, i int) error {
	path, offset, size, raw := &batch[pathColumn], &batch[offsetColumn], &batch[sizeColumn], &batch[rawColumn]
	r.HasPath, r.Raw = !path.Null(i), nil
	if !raw.Null(i) {
		r.Raw = append([]byte{}, raw.Bytes[i]...)
	}
	// Consecutive rows often have the same path: do not allocate it again.
	if r.HasPath && string(path.Bytes[i]) != r.Path {
		r.Path = string(path.Bytes[i])
	}
	if r.HasPath && r.Raw == nil && (offset.Null(i) || size.Null(i)) {
		return readers.Corruptf("path has no offset or no size")
	}
	r.Offset, r.Size = offset.Ints[i], size.Ints[i]
	return nil
}

// scan starts to read a column, of bytes or of integers. It returns nil if there is no column with that
// name, or if all its values are null and it has no type.
func scan(f *parquet.File, group int, name string, isBytes bool) (*parquet.Scanner, error) {
	i := slices.IndexFunc(f.Columns, func(c parquet.Column) bool { return c.Name == name })
	if i < 0 {
		return nil, nil
	}
	c := f.Columns[i]
	s, err := f.Scan(group, i)
	switch isInt := c.Type == parquet.Int || c.Type == parquet.Int32; {
	case err != nil:
		return nil, err
	case isInt == !isBytes:
		return s, nil
	// pyarrow gives a column without values the type INT32.
	case c.Optional && c.Type == parquet.Int32:
		return nil, checkNull(s, f.Groups[group].Rows)
	}
	return nil, fmt.Errorf("values of type %v: %w", c.Type, errors.ErrUnsupported)
}

// checkNull returns an error if a column has a value.
func checkNull(s *parquet.Scanner, rows int64) error {
	for at := int64(0); at < rows; at += batchRows {
		var v parquet.Values
		n := int(min(batchRows, rows-at))
		if err := s.Read(&v, n); err != nil {
			return err
		}
		if v.Present == nil || slices.Contains(v.Present, 1) {
			return fmt.Errorf("values where only nulls have type %v: %w", parquet.Int32, errors.ErrUnsupported)
		}
	}
	return nil
}
