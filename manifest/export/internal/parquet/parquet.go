// Package parquet writes flat tables as Parquet files that also readers with few features read: fastparquet, GDAL and
// readers of kerchunk references.
//
//	"PAR1"
//	row group, column after column:
//	  [dictionary page]   PageHeader, then the distinct values, PLAIN
//	  data page …         PageHeader, then
//	                        levels  4 bytes of length, RLE: which values are not null
//	                        values  PLAIN, or 1 byte of width and RLE_DICTIONARY indexes
//	…
//	FileMetaData          schema, row groups, and the offsets of column chunks
//	its length, 4 bytes LE
//	"PAR1"
//
// Headers and FileMetaData are Thrift in the compact protocol. Pages are of version 1 and
// compressed with ZSTD. A column chunk has a dictionary for all of its values or for none:
// fastparquet loses rows of a chunk that changes over. Statistics hold the number of nulls
// and nothing else, and there is no metadata of pandas or Arrow.
//
// The specification is parquet-format 2.12 (parquet.thrift, Encodings.md).
package parquet

import (
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// Kind is the type of a column's values.
type Kind uint8

// The kinds of columns.
const (
	Int64  Kind = iota
	Int64s      // a list of them, LIST in Parquet
	Bytes
	Text  // Bytes that are UTF-8
	Texts // a list of them
)

// isList reports whether a column holds lists.
func (k Kind) isList() bool { return k == Int64s || k == Texts }

// Column is one column of a table. A column of lists has no nulls.
type Column struct {
	Name     string
	Kind     Kind
	Optional bool
}

// Data are the values of a column in one row group.
type Data struct {
	// Ints are the values of Int64 and Int64s, without places for nulls.
	Ints []int64
	// Lengths, with Int64s and Texts, say how many of Ints or Index each row takes.
	Lengths []int32
	// The value of row i of Bytes and Text is Values[Index[i]], or null where Index[i] is
	// -1. If Index is nil, all rows are null. With an optional Int64, Index only says
	// which rows are null.
	Values [][]byte
	Index  []int32
}

// Writer writes one file after another, all with the same columns. It uses its buffers again for the next file.
type Writer struct {
	columns []Column
	zstd    *zstd.Encoder

	out    io.Writer
	offset int64
	groups []group
	err    error

	page, packed, head []byte
	levels, indexes    []uint32
}

// group is a row group as the footer has it.
type group struct {
	rows   int64
	bytes  int64 // not compressed
	chunks []chunk
}

// chunk is a column of a row group as the footer has it.
type chunk struct {
	start, data     int64 // offsets of the first page, and of the first that is no dictionary
	plain, packed   int64 // sizes with headers
	values, nulls   int64
	dictionary, any bool // the chunk has such pages
}

var magic = []byte("PAR1")

// NewWriter returns a writer of tables with these columns. Reset begins a file.
func NewWriter(columns []Column) (*Writer, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	return &Writer{columns: columns, zstd: z, err: errors.New("parquet: no file begun")}, nil
}

// Reset begins a file.
func (w *Writer) Reset(out io.Writer) {
	w.out, w.offset, w.groups, w.err = out, 0, w.groups[:0], nil
	w.write(magic)
}

// write appends to the file, up to the first error.
func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.out.Write(b)
	w.offset += int64(n)
	w.err = err
}

// Group writes a row group: the values of each column, in their order.
func (w *Writer) Group(rows int, data ...Data) error {
	if len(data) != len(w.columns) {
		return fmt.Errorf("parquet: data of %d columns, there are %d", len(data), len(w.columns))
	}
	g := group{rows: int64(rows)}
	for i := range data {
		if err := w.columns[i].check(rows, &data[i]); err != nil {
			return err
		}
		c := w.column(w.columns[i], rows, &data[i])
		g.bytes += c.plain
		g.chunks = append(g.chunks, c)
	}
	w.groups = append(w.groups, g)
	return w.err
}

// check returns an error if data does not have the kind of its column or the right length.
func (c Column) check(rows int, d *Data) error {
	ok := true
	switch c.Kind {
	case Int64:
		ok = c.Optional && len(d.Index) == rows && len(d.Ints) == present(d.Index) || !c.Optional && len(d.Ints) == rows
	case Int64s, Texts:
		ok = len(d.Lengths) == rows && sum(d.Lengths) == len(d.Ints)+len(d.Index)
	default:
		ok = len(d.Index) == rows || d.Index == nil && c.Optional
	}
	if !ok {
		return fmt.Errorf("parquet: column %s does not have %d rows", c.Name, rows)
	}
	return nil
}

func sum(lengths []int32) (n int) {
	for _, length := range lengths {
		n += int(length)
	}
	return n
}

// present counts the rows that are not null.
func present(index []int32) (n int) {
	for _, i := range index {
		if i >= 0 {
			n++
		}
	}
	return n
}

// Close writes the footer. It does not close the underlying writer.
func (w *Writer) Close() error {
	footer := w.footer()
	w.write(footer)
	w.write([]byte{byte(len(footer)), byte(len(footer) >> 8), byte(len(footer) >> 16), byte(len(footer) >> 24)})
	w.write(magic)
	return w.err
}
