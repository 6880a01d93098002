package parquet

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

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

// HasDictionary reports whether the pages of a column refer to a dictionary.
func (f *File) HasDictionary(group, column int) bool {
	c := &f.Groups[group].chunks[column]
	return !c.isSingle && c.start < c.data
}

// Dictionary reads the dictionary of a column in a row group.
func (f *File) Dictionary(group, column int) ([][]byte, error) {
	c := &f.Groups[group].chunks[column]
	if f.Columns[column].Type == Int {
		return nil, fmt.Errorf("a dictionary of integers is %w", errors.ErrUnsupported)
	}
	h, body, err := f.page(c, extent{c.start, int32(min(c.data-c.start, 1<<31-1))})
	if err != nil {
		return nil, f.at(group, column, c.start, err)
	}
	if h.kind != dictionaryPage || h.encoding != plainEncoding {
		return nil, f.at(group, column, c.start, corruptf("the dictionary page has type %d and encoding %d", h.kind, h.encoding))
	}
	if h.values > int64(len(body)/4) {
		return nil, f.at(group, column, c.start, corruptf("%d texts cannot be in %d bytes", h.values, len(body)))
	}
	entries := make([][]byte, h.values)
	if err := readPlainBytes(entries, body); err != nil {
		return nil, f.at(group, column, c.start, err)
	}
	return entries, nil
}

func (f *File) at(group, column int, offset int64, err error) error {
	return fmt.Errorf("row group %d, column %s, page at offset %d: %w", group, f.Columns[column].Name, offset, err)
}

// Page reads the values of a column in one page. It reuses dst.Ints. dst.Bytes is new, or refers to
// the dictionary.
func (f *File) Page(group int, l *Layout, column, page int, dictionary [][]byte, dst *Values) error {
	c := &f.Groups[group].chunks[column]
	start, end := l.Rows(page)
	kind := f.Columns[column].Type
	dst.reset(kind, end-start)
	if c.isSingle {
		dst.fill(c, end-start)
		return nil
	}
	where := l.pages[column][page]
	h, body, err := f.page(c, where)
	if err == nil && (h.kind != dataPage || h.values != int64(end-start)) {
		err = corruptf("the page has type %d and %d rows instead of being a data page with %d rows", h.kind, h.values, end-start)
	}
	if err == nil {
		err = dst.decode(f.Columns[column], h, body, dictionary)
	}
	if err != nil {
		return f.at(group, column, where.offset, err)
	}
	return nil
}

// pageHead is a PageHeader.
type pageHead struct {
	kind, plain, stored int64
	sum                 uint32
	values, encoding    int64
}

// page reads a page. It returns the header and the uncompressed body.
func (f *File) page(c *chunk, where extent) (h pageHead, body []byte, err error) {
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
	if crc32.ChecksumIEEE(data) != h.sum {
		return h, nil, corruptf("the checksum of the page is not %08x", h.sum)
	}
	body, err = decompress(c.codec, data, h.plain)
	return h, body, err
}

func (h *pageHead) read(t *thrift.Reader) {
	for id := (thrift.Field{}); t.Next(&id); {
		switch id.ID {
		case 1:
			h.kind = t.Integer(id)
		case 2:
			h.plain = t.Integer(id)
		case 3:
			h.stored = t.Integer(id)
		case 4:
			h.sum = uint32(t.Integer(id))
		case 5, 7: // DataPageHeader, DictionaryPageHeader: their first fields are the same
			t.Open(id)
			for id := (thrift.Field{}); t.Next(&id); {
				switch id.ID {
				case 1:
					h.values = t.Integer(id)
				case 2:
					h.encoding = t.Integer(id)
				default:
					t.Skip(id)
				}
			}
		default:
			t.Skip(id)
		}
	}
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

func decompress(codec uint8, data []byte, size int64) ([]byte, error) {
	if codec == uncompressed {
		if int64(len(data)) != size {
			return nil, corruptf("the page has %d bytes instead of %d", len(data), size)
		}
		return data, nil
	}
	// Check before allocating: the size comes from the file.
	if size > maxPageBytes || size > maxExpansion*(int64(len(data))+1) {
		return nil, corruptf("%d bytes cannot be compressed to %d bytes", size, len(data))
	}
	r, ok := zstdReaders.Get().(*zstd.Decoder)
	if !ok {
		return nil, errors.New("zstd rejects its options")
	}
	defer zstdReaders.Put(r)
	out, err := r.DecodeAll(data, make([]byte, 0, size))
	if err != nil {
		return nil, corruptf("zstd: %w", err)
	}
	if int64(len(out)) != size {
		return nil, corruptf("the page has %d bytes after decompression instead of %d", len(out), size)
	}
	return out, nil
}
