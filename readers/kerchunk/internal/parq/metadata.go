package parq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"varve/readers"
	"varve/readers/source"
)

// physical is how a column's values are stored.
type physical int64

// The types that count, as parquet.thrift numbers them.
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

// chunk is the part of a column in a row group.
type chunk struct {
	name       string // "" for those in groups
	kind       physical
	codec      int64
	values     int64
	data, dict int64 // offsets
	size       int64
}

// metadata is what counts of a footer.
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
		return nil, readers.Corruptf("%d bytes are no Parquet file", src.Size())
	}
	tail, err := src.View(ctx, src.Size()-8, 8)
	if err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != "PAR1" || n > src.Size()-ends {
		return nil, readers.Corruptf("no Parquet file: it does not end with a footer and PAR1")
	}
	if n > maxFooter {
		return nil, fmt.Errorf("a footer of %d bytes: %w", n, errors.ErrUnsupported)
	}
	footer, err := src.View(ctx, src.Size()-8-n, int(n))
	if err != nil {
		return nil, err
	}
	t := &thrift{data: footer}
	m := t.metadata()
	if t.err != nil {
		return nil, readers.Corruptf("footer: %w", t.err)
	}
	return m, nil
}

func (t *thrift) metadata() *metadata {
	m := &metadata{}
	t.fields(func(id int64, kind byte) {
		switch id {
		case 2:
			t.list(kind, structType, func() { m.schema = append(m.schema, t.element()) })
		case 4:
			t.list(kind, structType, func() { m.groups = append(m.groups, t.group()) })
		default:
			t.pass(kind, 0)
		}
	})
	return m
}

// number reads an integer field into a variable.
func (t *thrift) number(kind byte, into *int64) {
	if kind != int32Type && kind != int64Type {
		t.pass(kind, 0)
		return
	}
	*into = t.integer()
}

func (t *thrift) element() element {
	var e element
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 3:
			t.number(kind, &e.repetition)
		case id == 4 && kind == binaryType:
			e.name = string(t.take(t.uvarint()))
		case id == 5:
			t.number(kind, &e.children)
		default:
			t.pass(kind, 0)
		}
	})
	return e
}

func (t *thrift) group() group {
	var g group
	t.fields(func(id int64, kind byte) {
		switch id {
		case 1:
			t.list(kind, structType, func() { g.chunks = append(g.chunks, t.columnChunk()) })
		case 3:
			t.number(kind, &g.rows)
		default:
			t.pass(kind, 0)
		}
	})
	return g
}

func (t *thrift) columnChunk() chunk {
	var c chunk
	t.fields(func(id int64, kind byte) {
		if id == 3 && kind == structType {
			t.columnMetadata(&c)
		} else {
			t.pass(kind, 0)
		}
	})
	return c
}

func (t *thrift) columnMetadata(c *chunk) {
	t.fields(func(id int64, kind byte) {
		switch id {
		case 1:
			t.number(kind, (*int64)(&c.kind))
		case 3:
			names := 0
			t.list(kind, binaryType, func() {
				c.name = string(t.take(t.uvarint()))
				names++
			})
			if names != 1 {
				c.name = ""
			}
		case 4:
			t.number(kind, &c.codec)
		case 5:
			t.number(kind, &c.values)
		case 7:
			t.number(kind, &c.size)
		case 9:
			t.number(kind, &c.data)
		case 11:
			t.number(kind, &c.dict)
		default:
			t.pass(kind, 0)
		}
	})
}

// pageHead is what counts of a PageHeader.
type pageHead struct {
	kind                     int64
	uncompressed, compressed int64
	values, encoding         int64
	levels, repeats          int64 // bytes of levels, in a page of version 2
	plain                    bool  // values of such a page are not compressed
}

// The kinds of pages.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3
)

func (t *thrift) pageHead() pageHead {
	h := pageHead{kind: -1}
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 1:
			t.number(kind, &h.kind)
		case id == 2:
			t.number(kind, &h.uncompressed)
		case id == 3:
			t.number(kind, &h.compressed)
		case (id == 5 || id == 7 || id == 8) && kind == structType:
			t.dataPageHead(id == 8, &h)
		default:
			t.pass(kind, 0)
		}
	})
	return h
}

func (t *thrift) dataPageHead(second bool, h *pageHead) {
	t.fields(func(id int64, kind byte) {
		switch {
		case id == 1:
			t.number(kind, &h.values)
		case id == 2 && !second || id == 4 && second:
			t.number(kind, &h.encoding)
		case id == 5 && second:
			t.number(kind, &h.levels)
		case id == 6 && second:
			t.number(kind, &h.repeats)
		case id == 7 && kind == boolFalse:
			h.plain = true
		default:
			t.pass(kind, 0)
		}
	})
}
