package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"varve/readers/thrift"
)

// Layout has the locations of the pages of a row group. It does not change.
type Layout struct {
	group  *Group
	starts []int32    // first row of each page
	pages  [][]extent // by column; nil for columns with one value
}

type extent struct {
	offset int64
	size   int32
}

// Pages returns the number of pages.
func (l *Layout) Pages() int { return len(l.starts) }

// Rows returns the range of rows of a page within the row group.
func (l *Layout) Rows(page int) (start, end int) {
	end = int(l.group.Rows)
	if page+1 < len(l.starts) {
		end = int(l.starts[page+1])
	}
	return int(l.starts[page]), end
}

// Find returns the page that contains a row of the row group.
func (l *Layout) Find(row int) int {
	low, high := 0, len(l.starts)
	for low+1 < high {
		if middle := (low + high) / 2; int(l.starts[middle]) <= row {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// Bytes returns the approximate memory of the layout.
func (l *Layout) Bytes() int64 {
	n := 64 + 4*len(l.starts)
	for _, p := range l.pages {
		n += 24 + 16*len(p)
	}
	return int64(n)
}

// Layout reads the offset indexes of a row group.
func (f *File) Layout(group int) (*Layout, error) {
	g := &f.Groups[group]
	l := &Layout{group: g, starts: []int32{0}, pages: make([][]extent, len(g.chunks))}
	first := true
	for i := range g.chunks {
		c := &g.chunks[i]
		if c.isSingle {
			continue
		}
		starts, pages, err := f.index(g, c)
		if err == nil && !first && !slices.Equal(starts, l.starts) {
			err = corruptf("pages begin at other rows than in the columns before")
		}
		if err != nil {
			return nil, fmt.Errorf("row group %d, column %s: offset index at offset %d: %w", group, f.Columns[i].Name, c.index, err)
		}
		first, l.starts, l.pages[i] = false, starts, pages
	}
	if first {
		// All columns have one value, so any division into pages is right.
		for at := int64(singleRows); at < g.Rows; at += singleRows {
			l.starts = append(l.starts, int32(at))
		}
	}
	return l, l.checkRows(group)
}

func (l *Layout) checkRows(group int) error {
	for i := range l.starts {
		if start, end := l.Rows(i); end-start > MaxPageRows {
			return corruptf("row group %d: page %d has %d rows, the limit is %d", group, i, end-start, MaxPageRows)
		}
	}
	return nil
}

// leastLocation is the smallest size of a PageLocation.
const leastLocation = 7

// index reads an OffsetIndex. Pages have to follow one another without gaps: this finds most kinds of
// damage.
func (f *File) index(g *Group, c *chunk) ([]int32, []extent, error) {
	data := make([]byte, c.length)
	if err := readFull(f.r, data, c.index); err != nil {
		return nil, nil, err
	}
	t := thrift.NewReader(data)
	var starts []int32
	var pages []extent
	at := c.data
	for id := (thrift.Field{}); t.Next(&id); {
		if id.ID != 1 || starts != nil {
			t.Skip(id)
			continue
		}
		n := t.List(id, thrift.Struct, leastLocation)
		starts, pages = make([]int32, n), make([]extent, n)
		for i := range n {
			p := readLocation(t)
			if p.offset != at || p.size < 1 || p.row < 0 || p.row >= g.Rows || i == 0 && p.row != 0 || i > 0 && p.row <= int64(starts[i-1]) {
				return nil, nil, corruptf("page %d: size %d, offset %d or first row %d does not follow the page before", i, p.size, p.offset, p.row)
			}
			starts[i], pages[i] = int32(p.row), extent{p.offset, p.size}
			at += int64(p.size)
		}
	}
	if t.Err() != nil {
		return nil, nil, t.Err()
	}
	if len(starts) == 0 || at != c.start+c.size {
		return nil, nil, corruptf("%d pages end at offset %d instead of %d", len(starts), at, c.start+c.size)
	}
	return starts, pages, nil
}

func readLocation(t *thrift.Reader) (p pageLocation) {
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 1:
			p.offset = t.Integer(id)
		case 2:
			p.size = int32(min(max(t.Integer(id), -1), 1<<31-1))
		case 3:
			p.row = t.Integer(id)
		default:
			t.Skip(id)
		}
	}
	return p
}

// Single is the only value of a column of a row group.
type Single struct {
	Null  bool
	Int   int64
	Bytes []byte
}

// Single returns the only value of a column in a row group. It reports false if there are several.
func (f *File) Single(group, column int) (Single, bool) {
	c := &f.Groups[group].chunks[column]
	return Single{c.isNull, c.value, c.text}, c.isSingle
}

// Range returns the least and the greatest value of a column of integers in a row group, without nulls. ok is false if the
// statistics do not have them.
func (f *File) Range(group, column int) (low, high int64, ok bool) {
	c := &f.Groups[group].chunks[column]
	return c.low, c.high, c.hasRange
}

// HasDictionary reports whether the pages of a column refer to a dictionary.
func (f *File) HasDictionary(group, column int) bool {
	c := &f.Groups[group].chunks[column]
	return !c.isSingle && c.start < c.data
}

// Dictionary reads the dictionary of a column in a row group.
func (f *File) Dictionary(group, column int) (*Dictionary, error) {
	c := &f.Groups[group].chunks[column]
	d, err := f.readDictionary(column, c, extent{c.start, int32(min(c.data-c.start, 1<<31-1))})
	if err != nil {
		return nil, f.at(group, column, c.start, err)
	}
	return d, nil
}

func (f *File) readDictionary(column int, c *chunk, where extent) (*Dictionary, error) {
	h, stored, err := f.page(where)
	if err != nil {
		return nil, err
	}
	if h.kind != dictionaryPage || h.encoding != plainEncoding && h.encoding != plainDictionary {
		return nil, corruptf("the dictionary page has type %d and encoding %d", h.kind, h.encoding)
	}
	body, err := h.decompress(c.codec, stored)
	if err != nil {
		return nil, err
	}
	// An entry takes at least 4 bytes.
	if h.values > int64(len(body.values)/4) {
		return nil, corruptf("%d entries cannot be in %d bytes", h.values, len(body.values))
	}
	var entries Values
	p := pageValues{column: Column{Type: f.Columns[column].Type}, data: body.values}
	if err := p.read(&entries, int(h.values)); err != nil {
		return nil, err
	}
	return &Dictionary{entries.Ints, entries.Bytes}, nil
}

func (f *File) at(group, column int, offset int64, err error) error {
	return fmt.Errorf("row group %d, column %s, page at offset %d: %w", group, f.Columns[column].Name, offset, err)
}

// Page reads the values of a column in one page. It reuses dst.Ints. dst.Bytes is new, or refers to
// the dictionary.
func (f *File) Page(group int, l *Layout, column, page int, dictionary *Dictionary, dst *Values) error {
	c := &f.Groups[group].chunks[column]
	start, end := l.Rows(page)
	if c.isSingle {
		dst.reset(f.Columns[column].Type, end-start)
		dst.fill(c, end-start)
		return nil
	}
	where := l.pages[column][page]
	p, err := f.values(column, c, where, dictionary)
	if err == nil && p.rows != int64(end-start) {
		err = corruptf("the page has %d rows instead of %d", p.rows, end-start)
	}
	if err == nil {
		err = p.read(dst, end-start)
	}
	// Headers of pages have no checksum. A wrong encoding shows here.
	if err == nil && p.encoding == plainEncoding && len(p.data) > 0 {
		err = corruptf("%d bytes follow the values of the page", len(p.data))
	}
	if err != nil {
		return f.at(group, column, where.offset, err)
	}
	return nil
}

// values reads a data page.
func (f *File) values(column int, c *chunk, where extent, dictionary *Dictionary) (p pageValues, err error) {
	h, stored, err := f.page(where)
	if err != nil {
		return p, err
	}
	if h.kind != dataPage && (h.kind != dataPageV2 || !f.isForeign) {
		return p, corruptf("the page has type %d instead of being a data page", h.kind)
	}
	body, err := h.decompress(c.codec, stored)
	if err != nil {
		return p, err
	}
	return newPageValues(f.Columns[column], &h, body, dictionary)
}

// pageHead is a PageHeader.
type pageHead struct {
	kind, plain, stored int64
	sum                 uint32
	hasSum              bool
	values, encoding    int64

	// In pages of version 2, levels are not compressed.
	levels, repetitions int64 // bytes of levels
	isPlain             bool  // the values are not compressed either
}

// page reads a page. It returns the header, and the stored bytes after it.
func (f *File) page(where extent) (h pageHead, stored []byte, err error) {
	data := make([]byte, where.size)
	if err := readFull(f.r, data, where.offset); err != nil {
		return h, nil, err
	}
	t := thrift.NewReader(data)
	h.read(t)
	if t.Err() != nil {
		return h, nil, t.Err()
	}
	data = data[t.Offset():]
	if h.stored != int64(len(data)) || h.plain < 0 || h.values < 0 {
		return h, nil, corruptf("the page header claims %d of %d bytes and %d values", h.stored, len(data), h.values)
	}
	// Check before decompressing, so that zstd never sees damaged bytes.
	if (h.hasSum || !f.isForeign) && crc32.ChecksumIEEE(data) != h.sum {
		return h, nil, corruptf("the checksum of the page is not %08x", h.sum)
	}
	return h, data, nil
}

func (h *pageHead) read(t *thrift.Reader) {
	h.kind = -1
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 1:
			h.kind = t.Integer(id)
		case 2:
			h.plain = t.Integer(id)
		case 3:
			h.stored = t.Integer(id)
		case 4:
			h.sum, h.hasSum = uint32(t.Integer(id)), true
		case 5, 7, 8: // DataPageHeader, DictionaryPageHeader, DataPageHeaderV2
			t.Open(id)
			h.readData(t, id.ID == 8)
		default:
			t.Skip(id)
		}
	}
}

func (h *pageHead) readData(t *thrift.Reader, isV2 bool) {
	for id := (thrift.Field{}); t.Next(&id); {
		switch {
		case id.ID == 1:
			h.values = t.Integer(id)
		case id.ID == 2 && !isV2, id.ID == 4 && isV2:
			h.encoding = t.Integer(id)
		case id.ID == 5 && isV2:
			h.levels = t.Integer(id)
		case id.ID == 6 && isV2:
			h.repetitions = t.Integer(id)
		case id.ID == 7 && isV2 && id.Kind == thrift.False:
			h.isPlain = true
		default:
			t.Skip(id)
		}
	}
}

// pageBody is a decompressed page.
type pageBody struct {
	levels []byte // in version 2; before that they are the first of the values
	values []byte
}

// decompress returns the body of a page.
func (h *pageHead) decompress(codec uint8, stored []byte) (b pageBody, err error) {
	if h.kind == dataPageV2 {
		if h.levels < 0 || h.repetitions != 0 || h.levels > int64(len(stored)) || h.levels > h.plain {
			return b, corruptf("levels of %d and %d bytes do not fit into %d bytes", h.repetitions, h.levels, len(stored))
		}
		b.levels, stored = stored[:h.levels], stored[h.levels:]
		if h.isPlain {
			codec = uncompressed
		}
	}
	b.values, err = decompress(codec, stored, h.plain-h.levels)
	return b, err
}

// maxExpansion is the greatest ratio of zstd: a block of 128 KiB takes at least 4 bytes.
const maxExpansion = 1 << 15

var zstdReaders = sync.Pool{New: func() any {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPageBytes), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		return err
	}
	return r
}}

// decompress returns the uncompressed bytes of a page, which must be size bytes.
func decompress(codec uint8, data []byte, size int64) (out []byte, err error) {
	if codec == uncompressed {
		if int64(len(data)) != size {
			return nil, corruptf("the page has %d bytes instead of %d", len(data), size)
		}
		return data, nil
	}
	// Check before allocating: the size comes from the file. No codec compresses better than zstd.
	if size > maxPageBytes || size > maxExpansion*(int64(len(data))+1) {
		return nil, corruptf("%d bytes cannot be compressed to %d bytes", size, len(data))
	}
	switch codec {
	case zstdCodec:
		out, err = decompressZstd(data, size)
	case snappyCodec:
		out, err = decompressSnappy(data, size)
	case gzipCodec:
		out, err = decompressGzip(data, size)
	case lz4Codec:
		var n int
		out = make([]byte, size)
		n, err = lz4.UncompressBlock(data, out)
		out = out[:max(n, 0)]
	default:
		names := map[uint8]string{lzoCodec: "LZO", brotliCodec: "Brotli", oldLZ4Codec: "the old LZ4"}
		return nil, fmt.Errorf("compression %d (%s): %w", codec, names[codec], errors.ErrUnsupported)
	}
	if err != nil {
		return nil, corruptf("compressed page: %w", err)
	}
	if int64(len(out)) != size {
		return nil, corruptf("the page has %d bytes after decompression instead of %d", len(out), size)
	}
	return out, nil
}

func decompressZstd(data []byte, size int64) ([]byte, error) {
	r, ok := zstdReaders.Get().(*zstd.Decoder)
	if !ok {
		return nil, errors.New("zstd rejects its options")
	}
	defer zstdReaders.Put(r)
	return r.DecodeAll(data, make([]byte, 0, size))
}

func decompressSnappy(data []byte, size int64) ([]byte, error) {
	if n, err := snappy.DecodedLen(data); err != nil || int64(n) != size {
		return nil, corruptf("snappy has %d bytes instead of %d", n, size)
	}
	return snappy.Decode(nil, data)
}

func decompressGzip(data []byte, size int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(r, size+1))
}
