package table

import (
	"errors"
	"fmt"
	"io"

	"varve/manifest"
	"varve/readers/parquet"
)

// cut limits pages and row groups: each ends when it has this many rows, or this many bytes.
type cut struct {
	pageRows, pageBytes   int
	groupRows, groupBytes int
}

// cutOf returns the limits for tables of a kind. One lookup decodes one page of refs, which takes 48
// KiB in the cache. Pages of bytes are small, so that reading one value is cheap.
func cutOf(kind manifest.TableKind) cut {
	switch kind {
	case manifest.Refs:
		return cut{refPageRows, 1 << 30, 1 << 18, 1 << 30}
	case manifest.Tiles, manifest.Patches:
		return cut{4096, 1 << 30, 1 << 16, 1 << 30}
	case manifest.Sources:
		return cut{256, 1 << 18, 1 << 14, 8 << 20}
	default:
		return cut{64, 64 << 10, 1 << 14, 8 << 20}
	}
}

// maxValue is the largest size of one value in bytes.
const maxValue = 1 << 29

// builder collects rows until they fill a row group.
type builder struct {
	out         *parquet.Writer
	kind        manifest.TableKind
	columns     []parquet.Column
	values      []parquet.Values
	fileColumns []int // indices of the columns in the file
	isPart      bool  // the file is a scan part
	width       int   // number of columns of the file
	cut         cut

	rows, bytes         int // of the row group
	pageRows, pageBytes int
	starts              []int
	total               int64
	arena               []byte
	err                 error // the first error
}

func newBuilder(out *parquet.Writer, kind manifest.TableKind, columns []parquet.Column) *builder {
	b := &builder{out: out, kind: kind, columns: columns, cut: cutOf(kind)}
	b.values = make([]parquet.Values, len(columns))
	b.fileColumns = make([]int, len(columns))
	for i := range columns {
		b.fileColumns[i] = i
	}
	return b
}

// newTable starts the only table of a file.
func newTable(w io.Writer, kind manifest.TableKind, columns []parquet.Column) *builder {
	return newBuilder(parquet.NewWriter(w, columns, parquet.Options{Meta: []parquet.Pair{metaOf(kind)}}), kind, columns)
}

func (b *builder) int(column int, n int64) {
	v := &b.values[column]
	v.Ints = append(v.Ints, n)
	b.present(column, 1)
}

func (b *builder) null(column int) {
	v := &b.values[column]
	if b.columns[column].Type == parquet.Int {
		v.Ints = append(v.Ints, 0)
	} else {
		v.Bytes = append(v.Bytes, nil)
	}
	b.present(column, 0)
}

func (b *builder) present(column int, one uint8) {
	if b.columns[column].Optional {
		v := &b.values[column]
		v.Present = append(v.Present, one)
	}
}

// text adds a text. An empty text is null in an optional column.
func (b *builder) text(column int, s string) {
	if s == "" && b.columns[column].Optional {
		b.null(column)
		return
	}
	at := b.room(column, len(s))
	b.arena = append(b.arena, s...)
	b.add(column, b.arena[at:])
}

// blob adds bytes. No bytes are null in an optional column.
func (b *builder) blob(column int, p []byte) {
	if len(p) == 0 && b.columns[column].Optional {
		b.null(column)
		return
	}
	at := b.room(column, len(p))
	b.arena = append(b.arena, p...)
	b.add(column, b.arena[at:])
}

// own adds bytes without copying them. They must not change afterwards.
func (b *builder) own(column int, p []byte) {
	b.bound(column, len(p))
	b.add(column, p)
}

func (b *builder) bound(column, n int) {
	if n > maxValue && b.err == nil {
		b.err = fmt.Errorf("table of %s, row %d: %s has %d bytes, and more than %d are %w",
			b.kind, b.total, b.columns[column].Name, n, maxValue, errors.ErrUnsupported)
	}
}

const arenaBytes = 256 << 10

// room ensures that the arena has room for n bytes. Earlier values keep former arenas alive.
func (b *builder) room(column, n int) int {
	b.bound(column, n)
	if n > cap(b.arena)-len(b.arena) {
		b.arena = make([]byte, 0, max(n, arenaBytes))
	}
	return len(b.arena)
}

func (b *builder) add(column int, value []byte) {
	v := &b.values[column]
	// The capacity is cut, so that appending to the value cannot change the one after it.
	v.Bytes = append(v.Bytes, value[:len(value):len(value)])
	b.present(column, 1)
	b.pageBytes += len(value)
}

// endRow ends a row. Every column must have got a value.
func (b *builder) endRow() error {
	if b.pageRows == 0 {
		// The first row of a page.
		b.starts = append(b.starts, b.rows)
	}
	b.rows++
	b.total++
	if b.pageRows++; b.pageRows >= b.cut.pageRows || b.pageBytes >= b.cut.pageBytes {
		b.bytes += b.pageBytes
		b.pageRows, b.pageBytes = 0, 0
	}
	if b.rows >= b.cut.groupRows || b.bytes+b.pageBytes >= b.cut.groupBytes {
		return b.flush()
	}
	return b.err
}

// flush writes the present rows as a row group.
func (b *builder) flush() error {
	if b.err != nil || b.rows == 0 {
		return b.err
	}
	b.err = b.out.RowGroup(b.rows, b.starts, b.inFile())
	for i := range b.values {
		v := &b.values[i]
		*v = parquet.Values{Ints: v.Ints[:0], Bytes: v.Bytes[:0], Present: v.Present[:0]}
	}
	b.rows, b.bytes, b.pageRows, b.pageBytes = 0, 0, 0, 0
	b.starts, b.arena = b.starts[:0], nil
	return b.err
}

// inFile returns the values by the columns of the file.
func (b *builder) inFile() []parquet.Values {
	if !b.isPart {
		return b.values
	}
	values := make([]parquet.Values, b.width)
	// All rows of a row group belong to one table, so the column costs nothing.
	values[tableColumn] = parquet.Values{Bytes: [][]byte{[]byte(b.kind)}, Same: true}
	for i, v := range b.values {
		values[b.fileColumns[i]] = v
	}
	return values
}

// close writes the last row group and, unless the file is a scan part, the footer.
func (b *builder) close() error {
	if err := b.flush(); err != nil || b.isPart {
		return err
	}
	return b.out.Close()
}
