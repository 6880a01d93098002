package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"varve/readers/thrift"
)

// File is an open file. It may be used by any number of goroutines.
type File struct {
	Columns []Column
	Groups  []Group
	Rows    int64
	Meta    []Pair
	Creator string // the program that wrote the file

	r         io.ReaderAt
	data      int64 // offset of the checksum or the footer; all pages and indexes are before it
	isForeign bool  // another program may have written it
}

// Group is a row group.
type Group struct {
	First  int64 // number of its first row
	Rows   int64
	chunks []chunk
}

// chunk is a column of a row group.
type chunk struct {
	isSingle bool
	isNull   bool // if single
	codec    uint8
	start    int64 // offset of the first page, possibly a dictionary
	data     int64 // offset of the first data page
	size     int64 // of all pages
	index    int64 // offset of the offset index
	length   int32
	value    int64  // if single
	text     []byte // if single

	hasRange  bool // low and high are known
	low, high int64
}

// tailBytes is the size of everything after the footer, and checkBytes the size of the checksum
// before it.
const (
	tailBytes  = 8
	checkBytes = 4
)

// Open reads the footer of a file that a Writer wrote. Every other file is an error.
func Open(r io.ReaderAt, size int64) (*File, error) {
	footer, at, err := readFooter(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r, data: at}
	if err := f.parse(footer, at+checkBytes); err != nil {
		return nil, err
	}
	return f, f.check()
}

// OpenForeign reads the footer of a Parquet file of any program. Only Scan reads its columns. Columns in
// groups, and those of unsupported types, have the type Other.
func OpenForeign(r io.ReaderAt, size int64) (*File, error) {
	n, err := footerSize(r, size)
	if err != nil {
		return nil, err
	}
	if n > maxForeignFooter {
		return nil, fmt.Errorf("footer of %d bytes: %w", n, errors.ErrUnsupported)
	}
	f := &File{r: r, data: size - tailBytes - n, isForeign: true}
	footer := make([]byte, n)
	if err := readFull(r, footer, f.data); err != nil {
		return nil, err
	}
	return f, f.parse(footer, f.data)
}

func (f *File) parse(footer []byte, at int64) error {
	t := thrift.NewReader(footer)
	f.readMetadata(t)
	if t.Err() != nil {
		return fmt.Errorf("footer at offset %d, byte %d: %w", at, t.Offset(), t.Err())
	}
	return nil
}

// readFooter returns the footer, and the offset of the checksum before it.
func readFooter(r io.ReaderAt, size int64) ([]byte, int64, error) {
	n, err := footerSize(r, size)
	if err != nil {
		return nil, 0, err
	}
	if n > size-int64(len(magic)+checkBytes+tailBytes) {
		return nil, 0, corruptf("there is no room for a checksum before a footer of %d bytes in a file of %d bytes", n, size)
	}
	at := size - tailBytes - n - checkBytes
	footer := make([]byte, checkBytes+n)
	if err := readFull(r, footer, at); err != nil {
		return nil, 0, err
	}
	if want := binary.LittleEndian.Uint32(footer); crc32.ChecksumIEEE(footer[checkBytes:]) != want {
		return nil, 0, corruptf("the checksum of the footer at offset %d is not %08x", at+checkBytes, want)
	}
	return footer[checkBytes:], at, nil
}

// Footer returns the footer of any Parquet file. It returns nil if the file does not start like
// Parquet, and an error if it starts like Parquet but does not end like it.
func Footer(r io.ReaderAt, size int64) ([]byte, error) {
	if size < int64(len(magic)+tailBytes) {
		return nil, nil
	}
	var head [len(magic)]byte
	if err := readFull(r, head[:], 0); err != nil || string(head[:]) != magic {
		return nil, err
	}
	n, err := footerSize(r, size)
	if err != nil {
		return nil, err
	}
	footer := make([]byte, n)
	return footer, readFull(r, footer, size-tailBytes-n)
}

func footerSize(r io.ReaderAt, size int64) (int64, error) {
	if size < int64(len(magic)+tailBytes) {
		return 0, corruptf("a file of %d bytes is too short for Parquet", size)
	}
	var end [tailBytes]byte
	if err := readFull(r, end[:], size-tailBytes); err != nil {
		return 0, err
	}
	// Writers write the end last, so a wrong end usually means a truncated file.
	if string(end[4:]) != magic {
		return 0, corruptf("the file ends in %q instead of %s: it is truncated, or not Parquet", end[4:], magic)
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > size-int64(len(magic)+tailBytes) {
		return 0, corruptf("a footer of %d bytes does not fit a file of %d bytes", n, size)
	}
	return n, nil
}

func readFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	// The size was known before, so an early end is damage and not the normal end.
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("offset %d: %w", at+int64(n), err)
}

// leastStruct is the smallest size of a struct in a list of the footer.
const leastStruct = 2

func (f *File) readMetadata(t *thrift.Reader) {
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 2:
			f.readSchema(t, t.List(id, thrift.Struct, leastStruct))
		case 3:
			f.Rows = t.Integer(id)
		case 4:
			f.readGroups(t, t.List(id, thrift.Struct, leastStruct*(1+len(f.Columns))))
		case 5:
			f.readPairs(t, t.List(id, thrift.Struct, leastStruct))
		case 6:
			f.Creator = string(t.Bytes(id))
		default:
			t.Skip(id)
		}
	}
}

// readSchema reads the tree of columns, which lists each node before those below it.
func (f *File) readSchema(t *thrift.Reader, n int) {
	if n < 2 || !f.isForeign && n > MaxColumns+1 || f.Columns != nil {
		t.Fail()
		return
	}
	readNode(t)       // the root
	below := int64(0) // nodes to come below the last node directly below the root
	for range n - 1 {
		node := readNode(t)
		if below > 0 {
			node.column = Column{Type: Other}
			below--
		}
		if node.children < 0 || node.children > int64(n) {
			t.Fail()
			return
		}
		if below += node.children; node.children == 0 {
			f.Columns = append(f.Columns, node.column)
		}
	}
}

// schemaNode is a node of the schema: a column, or a group of columns.
type schemaNode struct {
	column   Column
	children int64
}

func readNode(t *thrift.Reader) (n schemaNode) {
	c := &n.column
	c.Type = Other
	converted := int64(-1)
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 1:
			c.Type = typeOf(t.Integer(id))
		case 3:
			repetition := t.Integer(id)
			c.Optional = repetition == optionalField
			if repetition == repeatedField {
				c.Type = Other
			}
		case 4:
			c.Name = string(t.Bytes(id))
		case 5:
			n.children = t.Integer(id)
		case 6:
			converted = t.Integer(id)
		default:
			t.Skip(id)
		}
	}
	switch {
	case c.Type == Bytes && converted == utf8Converted:
		c.Type = Text
	case c.Type == Bytes && converted == jsonConverted:
		c.Type = JSON
	}
	return n
}

func typeOf(physical int64) Type {
	switch physical {
	case int32Type:
		return Int32
	case int64Type:
		return Int
	case byteArrayType:
		return Bytes
	}
	return Other
}

func (f *File) readPairs(t *thrift.Reader, n int) {
	for range n {
		var p Pair
		for id := (thrift.Field{}); t.Next(&id); {
			switch id.ID {
			case 1:
				p.Key = string(t.Bytes(id))
			case 2:
				p.Value = string(t.Bytes(id))
			default:
				t.Skip(id)
			}
		}
		f.Meta = append(f.Meta, p)
	}
}

// Lookup returns an entry of the key-value metadata.
func (f *File) Lookup(key string) (string, bool) {
	for _, p := range f.Meta {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

func (f *File) readGroups(t *thrift.Reader, n int) {
	if len(f.Columns) == 0 || f.Groups != nil {
		t.Fail()
		return
	}
	f.Groups = make([]Group, n)
	// One allocation for all groups. t.List has checked that the footer is long enough for n.
	chunks := make([]chunk, n*len(f.Columns))
	for i := range f.Groups {
		g := &f.Groups[i]
		g.chunks, chunks = chunks[:len(f.Columns)], chunks[len(f.Columns):]
		f.readGroup(t, g)
		if t.Err() != nil {
			return
		}
	}
}

func (f *File) readGroup(t *thrift.Reader, g *Group) {
	columns := 0
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 1:
			if columns = t.List(id, thrift.Struct, leastStruct); columns != len(f.Columns) {
				t.Fail()
				return
			}
			for i := range columns {
				f.readChunk(t, i, &g.chunks[i])
			}
		case 3:
			g.Rows = t.Integer(id)
		default:
			t.Skip(id)
		}
	}
	if g.Rows < 0 || columns == 0 || !f.isForeign && (g.Rows < 1 || g.Rows > MaxGroupRows) {
		t.Fail()
	}
}

// chunkCounts are the statistics that show whether a column has only one value.
type chunkCounts struct {
	values, nulls int64
	low, high     []byte
}

func (f *File) readChunk(t *thrift.Reader, column int, c *chunk) {
	counts := chunkCounts{nulls: -1}
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 3:
			t.Open(id)
			f.readChunkMetadata(t, column, c, &counts)
		case 4:
			c.index = t.Integer(id)
		case 5:
			c.length = int32(min(max(t.Integer(id), -1), math.MaxInt32))
		default:
			t.Skip(id)
		}
	}
	// The least and greatest value may be shortened in files of other programs.
	if t.Err() == nil && !f.isForeign {
		c.findSingle(f.Columns[column].Type, &counts)
		if kind := f.Columns[column].Type; kind == Int && len(counts.low) == 8 && len(counts.high) == 8 {
			c.hasRange = true
			c.low, c.high = int64(binary.LittleEndian.Uint64(counts.low)), int64(binary.LittleEndian.Uint64(counts.high))
		}
		t.Check(f.checkChunk(column, c))
	}
}

func (f *File) readChunkMetadata(t *thrift.Reader, column int, c *chunk, counts *chunkCounts) {
	dictionary := int64(0)
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 3:
			f.checkPath(t, column, t.List(id, thrift.Binary, 1))
		case 4:
			codec := t.Integer(id)
			if c.codec = uint8(codec); codec < 0 || codec >= int64(unknownCodec) {
				c.codec = unknownCodec
			}
			if !f.isForeign && codec != uncompressed && codec != zstdCodec {
				t.Fail()
			}
		case 5:
			counts.values = t.Integer(id)
		case 7:
			c.size = t.Integer(id)
		case 9:
			c.data = t.Integer(id)
		case 11:
			dictionary = t.Integer(id)
		case 12:
			t.Open(id)
			readStatistics(t, counts)
		default:
			t.Skip(id)
		}
	}
	// A dictionary comes before the data pages. Some programs give its offset even if there is none.
	if c.start = c.data; dictionary > 0 && (dictionary < c.data || !f.isForeign) {
		c.start = dictionary
	}
}

// checkPath checks that a path of n names is the column's.
func (f *File) checkPath(t *thrift.Reader, column, n int) {
	for i := range n {
		name := t.Bare()
		if f.Columns[column].Name != "" && (i > 0 || string(name) != f.Columns[column].Name) {
			t.Fail()
			return
		}
	}
	if n == 0 {
		t.Fail()
	}
}

func readStatistics(t *thrift.Reader, counts *chunkCounts) {
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 3:
			counts.nulls = t.Integer(id)
		case 5:
			counts.high = t.Bytes(id)
		case 6:
			counts.low = t.Bytes(id)
		default:
			t.Skip(id)
		}
	}
}

// findSingle sets single if the statistics show that the column has only one value.
func (c *chunk) findSingle(kind Type, counts *chunkCounts) {
	switch {
	case counts.nulls == counts.values:
		c.isSingle, c.isNull = true, true
	case counts.nulls != 0 || counts.low == nil || !bytes.Equal(counts.low, counts.high):
	case kind != Int:
		c.isSingle, c.text = true, counts.low
	case len(counts.low) == 8:
		c.isSingle, c.value = true, int64(binary.LittleEndian.Uint64(counts.low))
	}
}

// checkChunk checks the offsets of a chunk against the file.
func (f *File) checkChunk(column int, c *chunk) error {
	name := f.Columns[column].Name
	switch {
	case c.size < 0 || c.start < 4 || c.data < c.start || c.size > f.data || c.start > f.data-c.size || c.data-c.start > c.size:
		return corruptf("column %s: %d bytes at offset %d with data from %d on are outside the pages, which end at %d", name, c.size, c.start, c.data, f.data)
	case c.index < 4 || c.length < 0 || c.index > f.data-int64(c.length):
		return corruptf("column %s: an offset index of %d bytes at offset %d is not before the footer at %d", name, c.length, c.index, f.data)
	case c.isSingle && c.isNull && !f.Columns[column].Optional:
		return corruptf("column %s has nulls, but is required", name)
	}
	return nil
}

// check checks what only files of a Writer have in common.
func (f *File) check() error {
	rows := int64(0)
	for i := range f.Groups {
		f.Groups[i].First = rows
		rows += f.Groups[i].Rows // at most MaxGroupRows each, so the sum cannot overflow
	}
	if rows != f.Rows {
		return corruptf("the row groups have %d rows, but the file %d", rows, f.Rows)
	}
	if len(f.Columns) == 0 {
		return corruptf("the file has no columns")
	}
	for _, c := range f.Columns {
		if c.Type > Bytes || len(c.Name) > maxNameBytes {
			return corruptf("column %.*q of type %v is not of a table", maxNameBytes, c.Name, c.Type)
		}
	}
	return nil
}
