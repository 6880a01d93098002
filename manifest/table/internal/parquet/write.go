package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Pair is an entry of a file's key-value metadata.
type Pair struct{ Key, Value string }

// Writer writes a file. What it writes depends on its arguments alone.
type Writer struct {
	w       io.Writer
	at      int64
	columns []Column
	meta    []Pair
	groups  []writtenGroup
	rows    int64
	enc     encoder
	err     error // the first; nothing is written after one
}

type writtenGroup struct {
	rows   int64
	chunks []writtenChunk
}

// writtenChunk is a column of a row group.
type writtenChunk struct {
	encoding   int32
	values     int64
	nulls      int64
	dictionary int64 // its offset; 0: none
	data       int64 // offset of the first data page
	plain      int64 // bytes of its pages as if uncompressed
	stored     int64
	low, high  []byte // the least and the greatest value, if known
	pages      []pageLocation

	index     int64
	indexSize int32
}

type pageLocation struct {
	offset int64
	size   int32 // with its header
	row    int64 // the first, within the row group
}

var errClosed = errors.New("the table is closed")

// NewWriter starts a file.
func NewWriter(w io.Writer, columns []Column, meta ...Pair) *Writer {
	return &Writer{w: w, columns: columns, meta: meta}
}

// Rows is the number of rows so far.
func (w *Writer) Rows() int64 { return w.rows }

// RowGroup writes a row group. Starts are the first rows of pages; columns that are the zero
// Values are all null. What the slices hold may be reused.
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
		c.place(w.at)
		w.write(w.enc.out)
		g.chunks[i] = c
	}
	w.groups = append(w.groups, g)
	w.rows += int64(rows)
	return w.err
}

// place moves a chunk, whose offsets count from its own beginning, to where it is written.
func (c *writtenChunk) place(at int64) {
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
	if len(footer) > 1<<30 {
		return fmt.Errorf("a footer of %d bytes: %w", len(footer), errors.ErrUnsupported)
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
	var t thriftWriter
	t.begin()
	t.list(1, structType, len(c.pages))
	for _, p := range c.pages {
		t.begin()
		t.i64(1, p.offset)
		t.i32(2, p.size)
		t.i64(3, p.row)
		t.end()
	}
	t.end()
	c.index, c.indexSize, c.pages = w.at, int32(len(t.buf)), nil
	w.write(t.buf)
}

// footer returns the FileMetaData.
func (w *Writer) footer() []byte {
	var t thriftWriter
	t.begin()
	t.i32(1, 1)
	w.schema(&t)
	t.i64(3, w.rows)
	t.list(4, structType, len(w.groups))
	for i := range w.groups {
		w.group(&t, &w.groups[i])
	}
	t.list(5, structType, len(w.meta))
	for _, p := range w.meta {
		t.begin()
		t.text(1, p.Key)
		t.text(2, p.Value)
		t.end()
	}
	t.text(6, "varve")
	t.list(7, structType, len(w.columns))
	for range w.columns {
		t.begin()
		t.empty(1) // TypeDefinedOrder: the statistics are in the order of the type
		t.end()
	}
	t.end()
	return t.buf
}

func (w *Writer) schema(t *thriftWriter) {
	t.list(2, structType, len(w.columns)+1)
	t.begin()
	t.text(4, "schema")
	t.i32(5, int32(len(w.columns)))
	t.end()
	for _, c := range w.columns {
		t.begin()
		t.i32(1, c.physical())
		optional := int32(0)
		if c.Optional {
			optional = 1
		}
		t.i32(3, optional)
		t.text(4, c.Name)
		c.annotate(t)
		t.end()
	}
}

func (c Column) physical() int32 {
	if c.Type == Int {
		return int64Type
	}
	return byteArrayType
}

// annotate says what bytes stand for: a ConvertedType, and a LogicalType.
func (c Column) annotate(t *thriftWriter) {
	converted, logical := int32(0), int16(1) // UTF8, STRING
	switch c.Type {
	case JSON:
		converted, logical = 19, 12
	case Int, Bytes:
		return
	}
	t.i32(6, converted)
	t.structure(10)
	t.empty(logical)
	t.end()
}

func (w *Writer) group(t *thriftWriter, g *writtenGroup) {
	plain, stored := int64(0), int64(0)
	t.begin()
	t.list(1, structType, len(g.chunks))
	for i := range g.chunks {
		c := &g.chunks[i]
		plain, stored = plain+c.plain, stored+c.stored
		t.begin()
		t.i64(2, c.start())
		t.structure(3)
		w.chunk(t, w.columns[i], c)
		t.end()
		t.i64(4, c.index)
		t.i32(5, c.indexSize)
		t.end()
	}
	t.i64(2, plain)
	t.i64(3, g.rows)
	t.i64(5, g.chunks[0].start())
	t.i64(6, stored)
	t.end()
}

// start is the offset of the first page.
func (c *writtenChunk) start() int64 {
	if c.dictionary > 0 {
		return c.dictionary
	}
	return c.data
}

// chunk writes a ColumnMetaData.
func (w *Writer) chunk(t *thriftWriter, column Column, c *writtenChunk) {
	t.i32(1, column.physical())
	encodings := []int32{c.encoding, rleEncoding}
	if c.dictionary > 0 {
		encodings = append(encodings, plainEncoding)
	}
	t.list(2, i32Type, len(encodings))
	for _, e := range encodings {
		t.varint(int64(e))
	}
	t.list(3, binaryType, 1)
	t.bare(column.Name)
	t.i32(4, zstdCodec)
	t.i64(5, c.values)
	t.i64(6, c.plain)
	t.i64(7, c.stored)
	t.i64(9, c.data)
	if c.dictionary > 0 {
		t.i64(11, c.dictionary)
	}
	t.structure(12)
	t.i64(3, c.nulls)
	if c.low != nil {
		t.text(5, string(c.high))
		t.text(6, string(c.low))
		t.truth(7)
		t.truth(8)
	}
	t.end()
}
