package parq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"varve/readers"
	"varve/readers/source"
)

// The limits of a page. Kerchunk writes one page a column, with the rows of a file.
const (
	maxPage   = 64 << 20 // bytes, uncompressed
	maxValues = 1 << 24
	maxHead   = 64 << 10 // bytes of a page's head
	maxFooter = 64 << 20
	maxPages  = 1 << 16
)

// checkFooter refuses a footer that is longer than the file.
func checkFooter(ctx context.Context, src *source.Source) error {
	const ends = 12
	if src.Size() < ends {
		return readers.Corruptf("%d bytes are no Parquet file", src.Size())
	}
	tail, err := src.View(ctx, src.Size()-8, 8)
	if err != nil {
		return err
	}
	if n := int64(binary.LittleEndian.Uint32(tail)); string(tail[4:]) == "PAR1" && (n > src.Size()-ends || n > maxFooter) {
		return readers.Corruptf("a footer of %d bytes in a file of %d", n, src.Size())
	}
	return nil
}

// checkPages reads the heads of all pages and refuses those that ask for too much memory.
func checkPages(ctx context.Context, src *source.Source, meta *format.FileMetaData) error {
	left := maxPages
	for _, group := range meta.RowGroups {
		for _, column := range group.Columns {
			c := &column.MetaData
			start := c.DataPageOffset
			if d := c.DictionaryPageOffset; d > 0 && d < start {
				start = d
			}
			if start < 0 || c.TotalCompressedSize < 0 || start > src.Size() || c.TotalCompressedSize > src.Size()-start {
				return readers.Corruptf("column %v: %d bytes at offset %d of a file of %d", c.PathInSchema, c.TotalCompressedSize, start, src.Size())
			}
			if err := checkColumn(ctx, src, start, start+c.TotalCompressedSize, &left); err != nil {
				return fmt.Errorf("column %v: %w", c.PathInSchema, err)
			}
		}
	}
	return nil
}

func checkColumn(ctx context.Context, src *source.Source, at, end int64, left *int) error {
	for at < end {
		if *left--; *left < 0 {
			return fmt.Errorf("more than %d pages: %w", maxPages, errors.ErrUnsupported)
		}
		head, err := src.View(ctx, at, int(min(maxHead, end-at)))
		if err != nil {
			return err
		}
		t := thrift{data: head}
		h := t.pageHead()
		if t.err != nil {
			return readers.Corruptf("page at offset %d: %w", at, t.err)
		}
		at += int64(t.at)
		switch {
		case h.compressed < 0 || h.compressed > end-at:
			return readers.Corruptf("page at offset %d: %d bytes, %d are left", at, h.compressed, end-at)
		case h.uncompressed < 0 || h.values < 0 || h.uncompressed > max(maxPage, h.compressed) || h.values > maxValues:
			return fmt.Errorf("page at offset %d of %d values in %d bytes: %w", at, h.values, h.uncompressed, errors.ErrUnsupported)
		}
		at += h.compressed
	}
	return nil
}

// head is what counts of a page's head.
type head struct{ uncompressed, compressed, values int64 }

// thrift reads Thrift's compact protocol.
type thrift struct {
	data []byte
	at   int
	err  error
}

var errThrift = errors.New("its head is not Thrift's compact protocol")

func (t *thrift) byte() byte {
	if t.at >= len(t.data) {
		t.err = errThrift
		return 0
	}
	t.at++
	return t.data[t.at-1]
}

func (t *thrift) skip(n uint64) {
	if n > uint64(len(t.data)-t.at) {
		t.err = errThrift
		return
	}
	t.at += int(n)
}

func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.data[t.at:])
	if n <= 0 {
		t.err = errThrift
		return 0
	}
	t.at += n
	return v
}

func (t *thrift) integer() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// The types of fields.
const (
	stop, boolTrue, boolFalse, aByte, i16, i32, i64, double, binaryType, listType, setType, mapType, structType = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
)

// fields calls read with the number and type of each field of a struct.
func (t *thrift) fields(depth int, read func(id int64, kind byte)) {
	if depth > 16 {
		t.err = errThrift
	}
	for id := int64(0); t.err == nil; {
		b := t.byte()
		kind := b & 0xf
		if kind == stop || t.err != nil {
			return
		}
		if delta := int64(b >> 4); delta > 0 {
			id += delta
		} else {
			id = t.integer()
		}
		read(id, kind)
	}
}

// pass moves over a value.
func (t *thrift) pass(kind byte, depth int) {
	switch kind {
	case boolTrue, boolFalse:
	case aByte:
		t.byte()
	case i16, i32, i64:
		t.uvarint()
	case double:
		t.skip(8)
	case binaryType:
		t.skip(t.uvarint())
	case structType:
		t.fields(depth+1, func(_ int64, kind byte) { t.pass(kind, depth+1) })
	default:
		t.err = errThrift // heads of pages have no lists
	}
}

// pageHead reads a PageHeader, as parquet-format's parquet.thrift has it.
func (t *thrift) pageHead() head {
	var h head
	t.fields(0, func(id int64, kind byte) {
		switch {
		case id == 2 && kind == i32:
			h.uncompressed = t.integer()
		case id == 3 && kind == i32:
			h.compressed = t.integer()
		case (id == 5 || id == 7 || id == 8) && kind == structType: // data page, dictionary page, data page v2
			t.fields(1, func(id int64, kind byte) {
				if id == 1 && kind == i32 {
					h.values = t.integer()
				} else {
					t.pass(kind, 1)
				}
			})
		default:
			t.pass(kind, 0)
		}
	})
	return h
}
