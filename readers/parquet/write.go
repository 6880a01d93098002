package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"varve/readers/thrift"
)

// Pair is an entry of a file's key-value metadata.
type Pair struct{ Key, Value string }

// Options say how a file is written.
type Options struct {
	// Meta is the file's key-value metadata.
	Meta []Pair
	// Portable makes files for readers with few features, such as fastparquet and GDAL: integers are
	// PLAIN, and indexes have at least one bit. Writing takes less time, and files are larger.
	Portable bool
}

// Writer writes files. The output depends only on the arguments. Different Writers may be used at once.
type Writer struct {
	w       io.Writer
	at      int64
	columns []Column
	options Options
	groups  []writtenGroup
	rows    int64
	enc     encoder
	sizes   []int // of the rows of a row group, in bytes
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
func NewWriter(w io.Writer, columns []Column, o Options) *Writer {
	e := encoder{portable: o.Portable}
	if o.Portable {
		e.zstd = newPortableZstd()
	} else {
		e.zstd = zstdWriter()
	}
	return &Writer{w: w, columns: columns, options: o, enc: e}
}

// Reset starts another file with the same columns and options. It reuses memory.
func (w *Writer) Reset(to io.Writer) {
	w.w, w.at, w.groups, w.rows, w.err = to, 0, w.groups[:0], 0, nil
}

// SetMeta replaces the file's key-value metadata, which Close writes.
func (w *Writer) SetMeta(meta ...Pair) { w.options.Meta = meta }

// Rows returns the number of rows so far.
func (w *Writer) Rows() int64 { return w.rows }

// RowGroup writes a row group. starts are the first rows of pages; if it is nil, the Writer chooses
// them. A column whose Values are zero is all null. The slices may be reused afterwards.
func (w *Writer) RowGroup(rows int, starts []int, values []Values) error {
	if w.err != nil {
		return w.err
	}
	if rows == 0 {
		return nil
	}
	if err := w.check(rows, values); err != nil {
		return err
	}
	if starts == nil {
		starts = w.pageStarts(rows, values)
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

// check returns an error if values do not suit the columns.
func (w *Writer) check(rows int, values []Values) error {
	if len(values) != len(w.columns) {
		return fmt.Errorf("parquet: values of %d columns, there are %d", len(values), len(w.columns))
	}
	for i := range values {
		if c := w.columns[i]; !c.isFilledBy(&values[i], rows) || values[i].Same && w.options.Portable {
			return fmt.Errorf("parquet: column %s of type %v does not have %d rows", c.Name, c.Type, rows)
		}
	}
	return nil
}

// isFilledBy reports whether a column has a value for each row.
func (c Column) isFilledBy(v *Values, rows int) bool {
	given := len(v.Ints) + len(v.Bytes)
	if v.Index != nil {
		given = len(v.Ints) + len(v.Index)
	}
	switch {
	case c.Type.isList():
		elements := 0
		for _, n := range v.Lengths {
			elements += int(n)
		}
		return len(v.Lengths) == rows && elements == given
	case v.Same:
		return given == 1
	case given == 0:
		return c.Optional
	}
	return given == rows && (len(v.Present) == 0 || len(v.Present) == rows)
}

// portablePage is the size in bytes that a page may reach before its last row.
const portablePage = 8 << 20

// pageStarts divides rows into pages.
func (w *Writer) pageStarts(rows int, values []Values) []int {
	w.sizes = slices.Grow(w.sizes[:0], rows)[:rows]
	sizes := w.sizes
	clear(sizes)
	for _, v := range values {
		for i, n := range v.Lengths {
			sizes[i] += 8 * int(n)
		}
		if v.Index != nil && v.Lengths == nil {
			for i, n := range v.Index {
				if n >= 0 && len(v.Bytes) > 0 {
					sizes[i] += len(v.Bytes[n])
				}
			}
		}
	}
	starts := []int{0}
	size := 0
	for i, n := range sizes {
		if size > portablePage || i-starts[len(starts)-1] == MaxPageRows {
			starts, size = append(starts, i), 0
		}
		size += n
	}
	return starts
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
	if len(w.options.Meta) > 0 {
		t.List(5, thrift.Struct, len(w.options.Meta))
	}
	for _, p := range w.options.Meta {
		t.Begin()
		t.Text(1, p.Key)
		t.Text(2, p.Value)
		t.End()
	}
	t.Text(6, Creator)
	t.List(7, thrift.Struct, len(w.columns))
	for range w.columns {
		t.Begin()
		t.Empty(1) // TypeDefinedOrder: statistics use the order of the type
		t.End()
	}
	t.End()
	return t.Out
}

// schema writes the tree of columns, each node before those below it.
func (w *Writer) schema(t *thrift.Writer) {
	nodes := 1 + len(w.columns)
	for _, c := range w.columns {
		if c.Type.isList() {
			nodes += 2
		}
	}
	t.List(2, thrift.Struct, nodes)
	t.Begin()
	t.Text(4, "schema")
	t.I32(5, int32(len(w.columns)))
	t.End()
	for _, c := range w.columns {
		if !c.Type.isList() {
			c.leaf(t, c.Name)
			continue
		}
		t.Begin()
		t.I32(3, requiredField)
		t.Text(4, c.Name)
		t.I32(5, 1)
		t.I32(6, listConverted)
		t.End()
		t.Begin()
		t.I32(3, repeatedField)
		t.Text(4, listNode)
		t.I32(5, 1)
		t.End()
		c.leaf(t, elementNode)
	}
}

// The names of the nodes below a list.
const listNode, elementNode = "list", "element"

func (c Column) leaf(t *thrift.Writer, name string) {
	t.Begin()
	t.I32(1, c.physical())
	repetition := int32(requiredField)
	if c.Optional {
		repetition = optionalField
	}
	t.I32(3, repetition)
	t.Text(4, name)
	c.annotate(t)
	t.End()
}

func (c Column) physical() int32 {
	if c.Type.isInt() {
		return int64Type
	}
	return byteArrayType
}

// annotate writes the meaning of bytes: a ConvertedType and a LogicalType.
func (c Column) annotate(t *thrift.Writer) {
	converted, logical := int32(utf8Converted), int16(stringLogical)
	switch c.Type {
	case Text, TextList:
	case JSON:
		converted, logical = jsonConverted, jsonLogical
	default:
		return
	}
	t.I32(6, converted)
	t.Struct(10)
	t.Empty(logical)
	t.End()
}

// path returns the names of the nodes from the root to the values.
func (c Column) path() []string {
	if c.Type.isList() {
		return []string{c.Name, listNode, elementNode}
	}
	return []string{c.Name}
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
	path := column.path()
	t.List(3, thrift.Binary, len(path))
	for _, name := range path {
		t.Bare(name)
	}
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
