package table

import (
	"errors"
	"fmt"
	"io"

	"varve/manifest"
	"varve/manifest/table/internal/parquet"
)

// cut says when a page and a row group end: when either has as many rows, or as many bytes.
type cut struct {
	pageRows, pageBytes   int
	groupRows, groupBytes int
}

// cutOf returns how tables of a kind are cut. A page of refs is what one lookup decodes, and
// 48 KiB in the cache; pages of bytes are small so that one value costs little to read.
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

// maxValue is the most bytes that one value may have.
const maxValue = 1 << 29

// builder collects rows until they make a row group.
type builder struct {
	out     *parquet.Writer
	kind    manifest.TableKind
	columns []parquet.Column
	values  []parquet.Values
	place   []int // of the columns in the file
	part    bool  // the file is a part's
	width   int   // columns of the file
	cut     cut

	rows, bytes         int // of the row group
	pageRows, pageBytes int
	starts              []int
	total               int64
	arena               []byte
	err                 error // the first
}

func newBuilder(out *parquet.Writer, kind manifest.TableKind, columns []parquet.Column) *builder {
	b := &builder{out: out, kind: kind, columns: columns, cut: cutOf(kind)}
	b.values = make([]parquet.Values, len(columns))
	b.place = make([]int, len(columns))
	for i := range columns {
		b.place[i] = i
	}
	return b
}

// newTable starts the only table of a file.
func newTable(w io.Writer, kind manifest.TableKind, columns []parquet.Column) *builder {
	return newBuilder(parquet.NewWriter(w, columns, metaOf(kind)), kind, columns)
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

// text adds a text; one that is empty is null, where that is allowed.
func (b *builder) text(column int, s string) {
	if s == "" && b.columns[column].Optional {
		b.null(column)
		return
	}
	at := b.room(column, len(s))
	b.arena = append(b.arena, s...)
	b.add(column, b.arena[at:])
}

// blob adds bytes; none are null, where that is allowed.
func (b *builder) blob(column int, p []byte) {
	if len(p) == 0 && b.columns[column].Optional {
		b.null(column)
		return
	}
	at := b.room(column, len(p))
	b.arena = append(b.arena, p...)
	b.add(column, b.arena[at:])
}

// own adds bytes that nobody will change, and does not copy them.
func (b *builder) own(column int, p []byte) {
	b.bound(column, len(p))
	b.add(column, p)
}

func (b *builder) bound(column, n int) {
	if n > maxValue && b.err == nil {
		b.err = fmt.Errorf("table of %s, row %d: %s of %d bytes, more than %d: %w",
			b.kind, b.total, b.columns[column].Name, n, maxValue, errors.ErrUnsupported)
	}
}

const arenaBytes = 256 << 10

// room makes room in the arena. Values that are in an old one keep it alive.
func (b *builder) room(column, n int) int {
	b.bound(column, n)
	if n > cap(b.arena)-len(b.arena) {
		b.arena = make([]byte, 0, max(n, arenaBytes))
	}
	return len(b.arena)
}

func (b *builder) add(column int, value []byte) {
	v := &b.values[column]
	v.Bytes = append(v.Bytes, value[:len(value):len(value)])
	b.present(column, 1)
	b.pageBytes += len(value)
}

// endRow ends a row, all columns of which were added to.
func (b *builder) endRow() error {
	if b.pageRows == 0 {
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

// flush writes the rows that are there as a row group.
func (b *builder) flush() error {
	if b.err != nil || b.rows == 0 {
		return b.err
	}
	b.err = b.out.RowGroup(b.rows, b.starts, b.placed())
	for i := range b.values {
		v := &b.values[i]
		*v = parquet.Values{Ints: v.Ints[:0], Bytes: v.Bytes[:0], Present: v.Present[:0]}
	}
	b.rows, b.bytes, b.pageRows, b.pageBytes = 0, 0, 0, 0
	b.starts, b.arena = b.starts[:0], nil
	return b.err
}

// placed returns the values by the columns of the file.
func (b *builder) placed() []parquet.Values {
	if !b.part {
		return b.values
	}
	values := make([]parquet.Values, b.width)
	values[0] = parquet.Values{Bytes: [][]byte{[]byte(b.kind)}, Same: true}
	for i, v := range b.values {
		values[b.place[i]] = v
	}
	return values
}

// close writes the last row group and, unless the file is a part's, its footer.
func (b *builder) close() error {
	if err := b.flush(); err != nil || b.part {
		return err
	}
	return b.out.Close()
}
