package parq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"varve/readers"
	"varve/readers/source"
	"varve/readers/thrift"
)

// physical is the physical type of a column.
type physical int64

// Types that kerchunk uses, as numbered in parquet.thrift.
const (
	int32Column     physical = 1
	int64Column     physical = 2
	byteArrayColumn physical = 6
)

func (p physical) String() string {
	names := [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}
	if p < 0 || int(p) >= len(names) {
		return fmt.Sprintf("type %d", int64(p))
	}
	return names[p]
}

// element is a node of the schema.
type element struct {
	name       string
	repetition int64 // 0 required, 1 optional, 2 repeated
	children   int64
}

// chunk is a column chunk of a row group.
type chunk struct {
	name       string // "" for columns in groups
	kind       physical
	codec      int64
	values     int64
	data, dict int64 // offsets
	size       int64
}

// metadata holds the needed part of a footer.
type metadata struct {
	schema []element
	groups []group
}

type group struct {
	rows   int64
	chunks []chunk
}

const maxFooter = 64 << 20

// readMetadata reads the footer: FileMetaData, its length and "PAR1".
func readMetadata(ctx context.Context, src *source.Source) (*metadata, error) {
	const ends = 12
	if src.Size() < ends {
		return nil, readers.Corruptf("not a Parquet file: it has %d bytes", src.Size())
	}
	tail, err := src.View(ctx, src.Size()-8, 8)
	if err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != "PAR1" || n > src.Size()-ends {
		return nil, readers.Corruptf("not a Parquet file: it does not end with a footer and PAR1")
	}
	if n > maxFooter {
		return nil, fmt.Errorf("footer of %d bytes: %w", n, errors.ErrUnsupported)
	}
	footer, err := src.View(ctx, src.Size()-8-n, int(n))
	if err != nil {
		return nil, err
	}
	t := thrift.NewReader(footer)
	m := readFileMetadata(t)
	if t.Err() != nil {
		return nil, fmt.Errorf("footer: %w", t.Err())
	}
	return m, nil
}

func readFileMetadata(t *thrift.Reader) *metadata {
	m := &metadata{}
	for f := (thrift.Field{}); t.Next(&f); {
		switch f.ID {
		case 2:
			each(t, f, thrift.Struct, func() { m.schema = append(m.schema, readElement(t)) })
		case 4:
			each(t, f, thrift.Struct, func() { m.groups = append(m.groups, readGroup(t)) })
		default:
			t.Skip(f)
		}
	}
	return m
}

// number reads an integer field into a variable, and skips fields of other types.
func number(t *thrift.Reader, f thrift.Field, into *int64) {
	if f.Kind != thrift.I32 && f.Kind != thrift.I64 {
		t.Skip(f)
		return
	}
	*into = t.Varint()
}

// each calls read at each element of a field, if it is a list of elements of a type.
func each(t *thrift.Reader, f thrift.Field, of byte, read func()) {
	if f.Kind != thrift.List {
		t.Skip(f)
		return
	}
	for range t.List(f, of, 1) {
		if t.Err() != nil {
			return
		}
		read()
	}
}

func readElement(t *thrift.Reader) element {
	var e element
	for f := (thrift.Field{}); t.Next(&f); {
		switch {
		case f.ID == 3:
			number(t, f, &e.repetition)
		case f.ID == 4 && f.Kind == thrift.Binary:
			e.name = string(t.Bare())
		case f.ID == 5:
			number(t, f, &e.children)
		default:
			t.Skip(f)
		}
	}
	return e
}

func readGroup(t *thrift.Reader) group {
	var g group
	for f := (thrift.Field{}); t.Next(&f); {
		switch f.ID {
		case 1:
			each(t, f, thrift.Struct, func() { g.chunks = append(g.chunks, readChunk(t)) })
		case 3:
			number(t, f, &g.rows)
		default:
			t.Skip(f)
		}
	}
	return g
}

func readChunk(t *thrift.Reader) chunk {
	var c chunk
	for f := (thrift.Field{}); t.Next(&f); {
		if f.ID == 3 && f.Kind == thrift.Struct {
			c.read(t)
		} else {
			t.Skip(f)
		}
	}
	return c
}

func (c *chunk) read(t *thrift.Reader) {
	for f := (thrift.Field{}); t.Next(&f); {
		switch f.ID {
		case 1:
			number(t, f, (*int64)(&c.kind))
		case 3:
			names := 0
			each(t, f, thrift.Binary, func() {
				c.name = string(t.Bare())
				names++
			})
			if names != 1 {
				c.name = ""
			}
		case 4:
			number(t, f, &c.codec)
		case 5:
			number(t, f, &c.values)
		case 7:
			number(t, f, &c.size)
		case 9:
			number(t, f, &c.data)
		case 11:
			number(t, f, &c.dict)
		default:
			t.Skip(f)
		}
	}
}

// pageHead holds the needed part of a PageHeader.
type pageHead struct {
	kind                     int64
	uncompressed, compressed int64
	values, encoding         int64
	levels, repeats          int64 // bytes of levels, in a page of version 2
	plain                    bool  // values of a page of version 2 are not compressed
}

// Kinds of pages.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3
)

func readPageHead(t *thrift.Reader) pageHead {
	h := pageHead{kind: -1}
	for f := (thrift.Field{}); t.Next(&f); {
		switch {
		case f.ID == 1:
			number(t, f, &h.kind)
		case f.ID == 2:
			number(t, f, &h.uncompressed)
		case f.ID == 3:
			number(t, f, &h.compressed)
		case (f.ID == 5 || f.ID == 7 || f.ID == 8) && f.Kind == thrift.Struct:
			h.readData(t, f.ID == 8)
		default:
			t.Skip(f)
		}
	}
	return h
}

func (h *pageHead) readData(t *thrift.Reader, second bool) {
	for f := (thrift.Field{}); t.Next(&f); {
		switch {
		case f.ID == 1:
			number(t, f, &h.values)
		case f.ID == 2 && !second || f.ID == 4 && second:
			number(t, f, &h.encoding)
		case f.ID == 5 && second:
			number(t, f, &h.levels)
		case f.ID == 6 && second:
			number(t, f, &h.repeats)
		case f.ID == 7 && f.Kind == thrift.False:
			h.plain = true
		default:
			t.Skip(f)
		}
	}
}
