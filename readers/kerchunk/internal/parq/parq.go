// Package parq reads the Parquet files of kerchunk: rows of a path, an offset, a size and
// raw bytes. It is the only importer of a Parquet library among the readers.
//
// The library trusts what a file says of the size of its parts, so that guard reads the
// heads of all pages before it does:
//
//	"PAR1" │ column: page head │ page │ page head │ page … │ column … │ footer │ length(4) "PAR1"
package parq

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/parquet-go/parquet-go"

	"varve/readers"
	"varve/readers/source"
)

// Row is one row. A row that Rows gives out is only valid until the next.
type Row struct {
	Path    string
	HasPath bool // the path is not null
	Offset  int64
	Size    int64
	Raw     []byte // nil: null
}

// columnNames are the columns that count, in the order of column.
var columnNames = []string{"path", "offset", "size", "raw"}

// batch is how many rows are read at a time.
const batch = 512

// Rows reads the rows of a file in order.
func Rows(ctx context.Context, src *source.Source) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		f, err := open(ctx, src)
		if err == nil {
			err = f.each(yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

var errStopped = errors.New("stopped")

// file is an open file.
type file struct {
	ctx     context.Context
	reader  *rangeReader
	parquet *parquet.File
	columns []int // which of columnNames each leaf of the schema is, or -1
}

// rangeReader is a source as the library reads it. It keeps the first error of the source,
// to tell it from what the library says of the bytes.
type rangeReader struct {
	ctx context.Context
	src *source.Source
	err error
}

func (r *rangeReader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > r.src.Size() {
		return 0, io.ErrUnexpectedEOF
	}
	n := int(min(int64(len(p)), r.src.Size()-off))
	if m, err := r.src.ReadAt(r.ctx, p[:n], off); err != nil {
		r.err = errors.Join(r.err, err)
		return m, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// call runs what the library does, and turns what it makes of bad bytes into an error.
func (r *rangeReader) call(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the file makes the Parquet library fail: %v", p)
		}
		switch {
		case r.err != nil:
			err = r.err
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errors.ErrUnsupported):
			err = readers.Corruptf("%w", err)
		}
	}()
	return do()
}

func open(ctx context.Context, src *source.Source) (*file, error) {
	f := &file{ctx: ctx, reader: &rangeReader{ctx: ctx, src: src}}
	if err := checkFooter(ctx, src); err != nil {
		return nil, err
	}
	err := f.reader.call(func() (err error) {
		f.parquet, err = parquet.OpenFile(f.reader, src.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := checkPages(ctx, src, f.parquet.Metadata()); err != nil {
		return nil, err
	}
	for _, path := range f.parquet.Schema().Columns() {
		i := -1
		if len(path) == 1 {
			i = slices.Index(columnNames, path[0])
		}
		f.columns = append(f.columns, i)
	}
	if len(f.columns) == 0 {
		return nil, readers.Corruptf("a Parquet file without columns")
	}
	return f, nil
}

// each yields every row.
func (f *file) each(yield func(*Row, error) bool) error {
	for _, group := range f.parquet.RowGroups() {
		if err := f.group(group, yield); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) group(group parquet.RowGroup, yield func(*Row, error) bool) (err error) {
	var rows parquet.Rows
	if err := f.reader.call(func() error { rows = group.Rows(); return nil }); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.reader.call(rows.Close)) }()
	buf := make([]parquet.Row, batch)
	var out Row
	for {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		n := 0
		err := f.reader.call(func() (err error) { n, err = rows.ReadRows(buf); return err })
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		for _, row := range buf[:n] {
			if err := f.row(&out, row); err != nil {
				return err
			}
			if !yield(&out, nil) {
				return errStopped
			}
		}
		if ended || n == 0 {
			return nil
		}
	}
}

// row reads the values of a row.
func (f *file) row(out *Row, values parquet.Row) error {
	last := out.Path
	*out = Row{}
	for _, v := range values {
		i := v.Column()
		if i < 0 || i >= len(f.columns) || f.columns[i] < 0 {
			continue
		}
		name := columnNames[f.columns[i]]
		if v.IsNull() {
			continue
		}
		switch name {
		case "path", "raw":
			if v.Kind() != parquet.ByteArray && v.Kind() != parquet.FixedLenByteArray {
				return readers.Corruptf("column %q is of %v; want bytes", name, v.Kind())
			}
			if name == "raw" {
				out.Raw = append([]byte{}, v.ByteArray()...)
			} else if out.HasPath, out.Path = true, last; string(v.ByteArray()) != last {
				out.Path = string(v.ByteArray())
			}
		default:
			if v.Kind() != parquet.Int64 && v.Kind() != parquet.Int32 {
				return fmt.Errorf("column %q is of %v; want 64-bit integers: %w", name, v.Kind(), errors.ErrUnsupported)
			}
			if name == "offset" {
				out.Offset = integer(v)
			} else {
				out.Size = integer(v)
			}
		}
	}
	return nil
}

func integer(v parquet.Value) int64 {
	if v.Kind() == parquet.Int32 {
		return int64(v.Int32())
	}
	return v.Int64()
}
