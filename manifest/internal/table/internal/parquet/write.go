package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"varve/readers/thrift"
)

// Pair is an entry of a file's key-value metadata.
type Pair struct{ Key, Value string }

// Writer writes a file. The output depends only on the arguments.
type Writer struct {
	w       io.Writer
	at      int64
	columns []Column
	meta    []Pair
	groups  []writtenGroup
	rows    int64
	enc     encoder
	err     error // the first error; nothing is written after it
}

type writtenGroup struct {
	rows   int64
	chunks []writtenChunk
}

// writtenChunk is a column of a row group that was written.
type writtenChunk struct {
	encoding   int32
	values     int64
	nulls      int64
	dictionary int64 // offset of the dictionary; 0 if there is none
	data       int64 // offset of the first data page
	plain      int64 // bytes of its pages before compression
	stored     int64
	low, high  []byte // least and greatest value, if known
	pages      []pageLocation

	index     int64
	indexSize int32
}

type pageLocation struct {
	offset int64
	size   int32 // includes the header
	row    int64 // first row, within the row group
}

var errClosed = errors.New("the table is closed")

// NewWriter starts a file.
func NewWriter(w io.Writer, columns []Column, meta ...Pair) *Writer {
	return &Writer{w: w, columns: columns, meta: meta}
}

// Rows returns the number of rows so far.
func (w *Writer) Rows() int64 { return w.rows }

// RowGroup writes a row group. starts are the first rows of pages. A column whose Values are zero is
// all null. The slices may be reused afterwards.
func (w *Writer) RowGroup(rows int, starts []int, values []Values) error {
	if w.err != nil {
		return w.err
	}
	if rows == 0 {
		return nil
	}
	if len(w.groups) == 0 {
		w.write([]byte(magic))
	}
	g := writtenGroup{rows: int64(rows), chunks: make([]writtenChunk, len(values))}
	for i := range values {
		c := w.enc.encode(w.columns[i], rows, starts, &values[i])
		c.shift(w.at)
		w.write(w.enc.out)
		g.chunks[i] = c
	}
	w.groups = append(w.groups, g)
	w.rows += int64(rows)
	return w.err
}

// shift changes offsets from relative to the chunk to relative to the file.
func (c *writtenChunk) shift(at int64) {
	if c.encoding == dictionaryEncoding {
		c.dictionary = at
	}
	c.data += at
	for i := range c.pages {
		c.pages[i].offset += at
	}
}

func (w *Writer) write(b []byte) {
	if w.err != nil {
		return
	}
	n, err := w.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.at += int64(n)
	w.err = err
}

// Close writes the offset indexes and the footer. It does not close the io.Writer.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if len(w.groups) == 0 {
		w.write([]byte(magic))
	}
	for i := range w.groups {
		for j := range w.groups[i].chunks {
			w.writeIndex(&w.groups[i].chunks[j])
		}
	}
	footer := w.footer()
	// Other readers take the size for a signed 32-bit integer.
	if len(footer) > 1<<30 {
		return fmt.Errorf("a footer of %d bytes is %w", len(footer), errors.ErrUnsupported)
	}
	w.write(binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(footer)))
	w.write(footer)
	w.write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))), magic...))
	err := w.err
	if err == nil {
		w.err = errClosed
	}
	return err
}

func (w *Writer) writeIndex(c *writtenChunk) {
	var t thrift.Writer
	t.Begin()
	t.List(1, thrift.Struct, len(c.pages))
	for _, p := range c.pages {
		t.Begin()
		t.I64(1, p.offset)
		t.I32(2, p.size)
		t.I64(3, p.row)
		t.End()
	}
	t.End()
	// The locations are not needed any more; there may be millions.
	c.index, c.indexSize, c.pages = w.at, int32(len(t.Out)), nil
	w.write(t.Out)
}

// footer returns the encoded FileMetaData.
func (w *Writer) footer() []byte {
	var t thrift.Writer
	t.Begin()
	t.I32(1, 1)
	w.schema(&t)
	t.I64(3, w.rows)
	t.List(4, thrift.Struct, len(w.groups))
	for i := range w.groups {
		w.group(&t, &w.groups[i])
	}
	t.List(5, thrift.Struct, len(w.meta))
	for _, p := range w.meta {
		t.Begin()
		t.Text(1, p.Key)
		t.Text(2, p.Value)
		t.End()
	}
	t.Text(6, "varve")
	t.List(7, thrift.Struct, len(w.columns))
	for range w.columns {
		t.Begin()
		t.Empty(1) // TypeDefinedOrder: statistics use the order of the type
		t.End()
	}
	t.End()
	return t.Out
}

func (w *Writer) schema(t *thrift.Writer) {
	t.List(2, thrift.Struct, len(w.columns)+1)
	t.Begin()
	t.Text(4, "schema")
	t.I32(5, int32(len(w.columns)))
	t.End()
	for _, c := range w.columns {
		t.Begin()
		t.I32(1, c.physical())
		optional := int32(0)
		if c.Optional {
			optional = 1
		}
		t.I32(3, optional)
		t.Text(4, c.Name)
		c.annotate(t)
		t.End()
	}
}

func (c Column) physical() int32 {
	if c.Type == Int {
		return int64Type
	}
	return byteArrayType
}

// annotate writes the meaning of bytes: a ConvertedType and a LogicalType.
func (c Column) annotate(t *thrift.Writer) {
	converted, logical := int32(0), int16(1) // UTF8, STRING
	switch c.Type {
	case JSON:
		converted, logical = 19, 12
	case Int, Bytes:
		return
	}
	t.I32(6, converted)
	t.Struct(10)
	t.Empty(logical)
	t.End()
}

func (w *Writer) group(t *thrift.Writer, g *writtenGroup) {
	plain, stored := int64(0), int64(0)
	t.Begin()
	t.List(1, thrift.Struct, len(g.chunks))
	for i := range g.chunks {
		c := &g.chunks[i]
		plain, stored = plain+c.plain, stored+c.stored
		t.Begin()
		t.I64(2, c.start())
		t.Struct(3)
		w.chunk(t, w.columns[i], c)
		t.End()
		t.I64(4, c.index)
		t.I32(5, c.indexSize)
		t.End()
	}
	t.I64(2, plain)
	t.I64(3, g.rows)
	t.I64(5, g.chunks[0].start())
	t.I64(6, stored)
	t.End()
}

// start returns the offset of the first page.
func (c *writtenChunk) start() int64 {
	if c.dictionary > 0 {
		return c.dictionary
	}
	return c.data
}

// chunk writes a ColumnMetaData.
func (w *Writer) chunk(t *thrift.Writer, column Column, c *writtenChunk) {
	t.I32(1, column.physical())
	encodings := []int32{c.encoding, rleEncoding}
	if c.dictionary > 0 {
		encodings = append(encodings, plainEncoding)
	}
	t.List(2, thrift.I32, len(encodings))
	for _, e := range encodings {
		t.Varint(int64(e))
	}
	t.List(3, thrift.Binary, 1)
	t.Bare(column.Name)
	t.I32(4, zstdCodec)
	t.I64(5, c.values)
	t.I64(6, c.plain)
	t.I64(7, c.stored)
	t.I64(9, c.data)
	if c.dictionary > 0 {
		t.I64(11, c.dictionary)
	}
	t.Struct(12)
	t.I64(3, c.nulls)
	if c.low != nil {
		t.Text(5, string(c.high))
		t.Text(6, string(c.low))
		t.True(7)
		t.True(8)
	}
	t.End()
}
