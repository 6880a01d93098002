// Package parq reads the Parquet files of kerchunk: rows of a path, an offset, a size and raw
// bytes.
//
//	"PAR1" │ column: page head, page, page head, page … │ column … │ footer  length(4) "PAR1"
//
// It supports what kerchunk's two writers (fastparquet and pyarrow) produce: flat schemas; INT32,
// INT64 and BYTE_ARRAY, plain or with a dictionary; pages of both versions; no compression, Snappy,
// gzip, zstd or LZ4. In return it uses memory for only one page a column, even if a file claims more.
// The footer and the page headers are specified in parquet-format's parquet.thrift.
package parq

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"varve/readers"
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

// Rows yields the rows of a file in order. Missing columns are null.
func Rows(ctx context.Context, src *source.Source) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		m, err := readMetadata(ctx, src)
		if err != nil {
			yield(nil, err)
			return
		}
		left := maxRows + 4096*src.Size()
		for i := range m.groups {
			// Run lengths can describe any number of rows in a few bytes.
			if left -= max(m.groups[i].rows, 0); left < 0 {
				yield(nil, fmt.Errorf("%d rows in a file of %d bytes: %w", m.groups[i].rows, src.Size(), errors.ErrUnsupported))
				return
			}
			if err := m.rows(ctx, src, &m.groups[i], yield); err != nil {
				if !errors.Is(err, errStopped) {
					yield(nil, err)
				}
				return
			}
		}
	}
}

var errStopped = errors.New("stopped")

// columnNames lists the columns to read.
var columnNames = [...]string{"path", "offset", "size", "raw"}

// rows yields the rows of a row group.
func (m *metadata) rows(ctx context.Context, src *source.Source, g *group, yield func(*Row, error) bool) error {
	var columns [len(columnNames)]*column
	for i, name := range columnNames {
		var err error
		if columns[i], err = m.column(ctx, src, g, name); err != nil {
			return fmt.Errorf("column %q: %w", name, err)
		}
	}
	var row Row
	for n := range g.rows {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var values [len(columnNames)]value
		for i, c := range columns {
			values[i].null = true
			if c == nil {
				continue
			}
			var err error
			if values[i], err = c.next(); err != nil {
				return fmt.Errorf("column %q: %w", columnNames[i], err)
			}
		}
		if err := row.set(&values); err != nil {
			return fmt.Errorf("row %d: %w", n, err)
		}
		if !yield(&row, nil) {
			return errStopped
		}
	}
	return nil
}

func (r *Row) set(values *[len(columnNames)]value) error {
	path, offset, size, raw := &values[0], &values[1], &values[2], &values[3]
	r.HasPath, r.Raw = !path.null, nil
	if !raw.null {
		r.Raw = append([]byte{}, raw.bytes...)
	}
	// Consecutive rows often have the same path: do not allocate it again.
	if r.HasPath && string(path.bytes) != r.Path {
		r.Path = string(path.bytes)
	}
	if r.HasPath && r.Raw == nil && (offset.null || size.null) {
		return readers.Corruptf("path has no offset or no size")
	}
	r.Offset, r.Size = offset.number, size.number
	return nil
}

// column returns a column of a row group. It returns nil if there is none with that name, or if all
// its values are null and it has no type.
func (m *metadata) column(ctx context.Context, src *source.Source, g *group, name string) (*column, error) {
	for i := range g.chunks {
		c := &g.chunks[i]
		if c.name != name {
			continue
		}
		e, err := m.leaf(name)
		if err != nil {
			return nil, err
		}
		if text := name == "path" || name == "raw"; text != (c.kind == byteArrayColumn) {
			// pyarrow gives a column without values the type INT32.
			if e.repetition == 1 && c.kind == int32Column {
				return m.nulls(ctx, src, *c)
			}
			return nil, fmt.Errorf("values of type %v: %w", c.kind, errors.ErrUnsupported)
		}
		return newColumn(ctx, src, *c, e.repetition == 1)
	}
	return nil, nil
}

// nulls returns nil for a column that is all null, which pyarrow writes as INT32.
func (m *metadata) nulls(ctx context.Context, src *source.Source, c chunk) (*column, error) {
	column, err := newColumn(ctx, src, c, true)
	if err != nil {
		return nil, err
	}
	for range min(c.values, maxRows) {
		v, err := column.next()
		if err == nil && !v.null {
			err = fmt.Errorf("values of type %v: %w", c.kind, errors.ErrUnsupported)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// leaf returns the schema element of a column directly below the root.
func (m *metadata) leaf(name string) (element, error) {
	for _, e := range m.schema[min(1, len(m.schema)):] {
		if e.name == name && e.children == 0 && e.repetition < 2 {
			return e, nil
		}
	}
	return element{}, fmt.Errorf("not a plain column of the schema: %w", errors.ErrUnsupported)
}
