package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"

	"varve/readers/thrift"
)

// encoder turns the values of a column in a row group into pages. Its buffers are used again.
type encoder struct {
	out   []byte // the pages
	raw   []byte // the pages' bodies, before compression
	ends  []int  // of the bodies in raw
	zip   []byte
	index []uint32
	head  thrift.Writer
}

// maxStatistic is the size from which on texts are left out of the statistics.
const maxStatistic = 64

// encode writes pages to e.out. Offsets in what it returns count from there.
func (e *encoder) encode(column Column, rows int, starts []int, v *Values) (c writtenChunk) {
	e.out, e.raw, e.ends = e.out[:0], e.raw[:0], e.ends[:0]
	v = v.tidy(rows)
	c = writtenChunk{values: int64(rows), encoding: plainEncoding}
	c.nulls = countNulls(v)
	if e.statistics(&c, rows, v) {
		e.single(&c, column, rows, v)
		return c
	}
	dictionary := e.choose(&c, column, starts, rows, v)
	for i, start := range starts {
		end := rows
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		e.body(&c, column, v, start, end, dictionary)
	}
	e.pages(&c, starts, rows, dictionary)
	return c
}

// tidy makes nil of slices that are empty, and nulls of values that are not there.
func (v *Values) tidy(rows int) *Values {
	t := *v
	if len(t.Ints) == 0 {
		t.Ints = nil
	}
	if len(t.Bytes) == 0 {
		t.Bytes = nil
	}
	if len(t.Present) == 0 {
		t.Present = nil
	}
	if t.Ints == nil && t.Bytes == nil {
		t.Present = make([]uint8, rows)
	}
	return &t
}

// single writes the one page of a column that holds one value only.
func (e *encoder) single(c *writtenChunk, column Column, rows int, v *Values) {
	level := uint8(1)
	var d *dictionary
	if c.nulls > 0 {
		level = 0
	} else {
		c.encoding = dictionaryEncoding
		d = &dictionary{count: 1, plain: c.low}
		if column.Type != Int {
			d.plain = appendPlain(nil, c.low)
		}
	}
	if column.Optional {
		e.levels(func(dst []byte) []byte { return appendRun(dst, level, rows, 1) })
	}
	if d != nil {
		e.raw = appendRun(append(e.raw, 0), uint8(0), rows, 0)
	}
	e.ends = append(e.ends, len(e.raw))
	e.pages(c, []int{0}, rows, d)
}

// levels appends levels, with their size before them.
func (e *encoder) levels(write func([]byte) []byte) {
	at := len(e.raw)
	e.raw = write(append(e.raw, 0, 0, 0, 0))
	binary.LittleEndian.PutUint32(e.raw[at:], uint32(len(e.raw)-at-4))
}

func countNulls(v *Values) (n int64) {
	for _, p := range v.Present {
		n += int64(1 - p)
	}
	return n
}

// statistics fills in the least and the greatest value, and reports whether they say that the
// column holds one value only, null being one.
func (e *encoder) statistics(c *writtenChunk, rows int, v *Values) (single bool) {
	if c.nulls == int64(rows) {
		return true
	}
	if v.Ints != nil {
		low, high := extremes(v)
		c.low = binary.LittleEndian.AppendUint64(nil, uint64(low))
		c.high = binary.LittleEndian.AppendUint64(nil, uint64(high))
		return low == high && c.nulls == 0
	}
	if c.nulls > 0 || len(v.Bytes[0]) > maxStatistic || !same(v.Bytes) {
		return false
	}
	c.low = append([]byte{}, v.Bytes[0]...)
	c.high = c.low
	return true
}

func same(values [][]byte) bool {
	for _, b := range values[1:] {
		if !bytes.Equal(b, values[0]) {
			return false
		}
	}
	return true
}

func extremes(v *Values) (low, high int64) {
	if v.Present == nil {
		low, high = v.Ints[0], v.Ints[0]
		for _, n := range v.Ints {
			low, high = min(low, n), max(high, n)
		}
		return low, high
	}
	first := bytes.IndexByte(v.Present, 1)
	low, high = v.Ints[first], v.Ints[first]
	for i, n := range v.Ints {
		if v.Present[i] != 0 {
			low, high = min(low, n), max(high, n)
		}
	}
	return low, high
}

// dictionary numbers the distinct values of a column.
type dictionary struct {
	place map[string]uint32
	plain []byte // in PLAIN
	count int
	width int
}

// choose decides on the encoding.
func (e *encoder) choose(c *writtenChunk, column Column, starts []int, rows int, v *Values) *dictionary {
	switch {
	case v.Ints != nil:
		if c.nulls == 0 || everyPageHasValues(v.Present, starts) {
			c.encoding = deltaEncoding
		}
		return nil
	case column.Type == Bytes:
		return nil
	}
	d := repeated(v, rows)
	if d != nil {
		c.encoding = dictionaryEncoding
	}
	return d
}

// everyPageHasValues: some readers fail on pages in DELTA_BINARY_PACKED that have none.
func everyPageHasValues(present []uint8, starts []int) bool {
	for i, start := range starts {
		end := len(present)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if bytes.IndexByte(present[start:end], 1) < 0 {
			return false
		}
	}
	return true
}

// repeated returns a dictionary if values occur four times each or more.
func repeated(v *Values, rows int) *dictionary {
	limit := rows / 4
	if limit == 0 {
		return nil
	}
	d := &dictionary{place: map[string]uint32{}}
	for i, b := range v.Bytes {
		if v.Present != nil && v.Present[i] == 0 {
			continue
		}
		if _, ok := d.place[string(b)]; ok {
			continue
		}
		if d.count == limit {
			return nil
		}
		d.place[string(b)] = uint32(d.count)
		d.plain = appendPlain(d.plain, b)
		d.count++
	}
	d.width = widthOf(d.count - 1)
	return d
}

func appendPlain(dst, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// body appends levels and values of a page to e.raw.
func (e *encoder) body(c *writtenChunk, column Column, v *Values, start, end int, d *dictionary) {
	switch {
	case !column.Optional:
	case v.Present == nil:
		e.levels(func(dst []byte) []byte { return appendRun(dst, uint8(1), end-start, 1) })
	default:
		e.levels(func(dst []byte) []byte { return appendHybrid(dst, v.Present[start:end], 1) })
	}
	page := v.between(start, end, c.nulls > 0)
	switch {
	case d != nil:
		e.indexes(&page, d)
	case c.encoding == deltaEncoding:
		e.raw = appendDelta(e.raw, page.Ints)
	default:
		for _, n := range page.Ints {
			e.raw = binary.LittleEndian.AppendUint64(e.raw, uint64(n))
		}
		for _, b := range page.Bytes {
			e.raw = appendPlain(e.raw, b)
		}
	}
	e.ends = append(e.ends, len(e.raw))
}

func (e *encoder) indexes(page *Values, d *dictionary) {
	e.raw = append(e.raw, byte(d.width))
	e.index = e.index[:0]
	for _, b := range page.Bytes {
		e.index = append(e.index, d.place[string(b)])
	}
	e.raw = appendHybrid(e.raw, e.index, d.width)
}

// between returns the values of rows, nulls left out.
func (v *Values) between(start, end int, nulls bool) (page Values) {
	if v.Ints != nil {
		page.Ints = v.Ints[start:end]
	}
	if v.Bytes != nil {
		page.Bytes = v.Bytes[start:end]
	}
	if !nulls {
		return page
	}
	some := Values{Ints: make([]int64, 0, len(page.Ints)), Bytes: make([][]byte, 0, len(page.Bytes))}
	for i, p := range v.Present[start:end] {
		if p != 0 && page.Ints != nil {
			some.Ints = append(some.Ints, page.Ints[i])
		}
		if p != 0 && page.Bytes != nil {
			some.Bytes = append(some.Bytes, page.Bytes[i])
		}
	}
	return some
}

// pages writes the bodies in e.raw to e.out, with their headers.
func (e *encoder) pages(c *writtenChunk, starts []int, rows int, d *dictionary) {
	if d != nil {
		e.page(c, dictionaryPage, d.count, d.plain)
	}
	c.data = int64(len(e.out))
	c.pages = make([]pageLocation, len(starts))
	from := 0
	for i, start := range starts {
		end := rows
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		at := len(e.out)
		e.page(c, dataPage, end-start, e.raw[from:e.ends[i]])
		from = e.ends[i]
		c.pages[i] = pageLocation{int64(at), int32(len(e.out) - at), int64(start)}
	}
	c.stored = int64(len(e.out))
}

// windowBytes is how far back a page looks for what it repeats. Nearly all pages are smaller, and
// the memory of a writer is twice as much.
const windowBytes = 1 << 20

// zstdWriter: one at a time, so that equal input makes equal output.
var zstdWriter = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(windowBytes))
	if err != nil {
		panic(err) // options that are constant
	}
	return w
})

// page writes a page with its header: a PageHeader in Thrift.
func (e *encoder) page(c *writtenChunk, kind int32, values int, body []byte) {
	e.zip = zstdWriter().EncodeAll(body, e.zip[:0])
	stored := e.zip
	t := &e.head
	t.Out = t.Out[:0]
	t.Begin()
	t.I32(1, kind)
	t.I32(2, int32(len(body)))
	t.I32(3, int32(len(stored)))
	t.I32(4, int32(crc32.ChecksumIEEE(stored)))
	if kind == dictionaryPage {
		t.Struct(7)
		t.I32(1, int32(values))
		t.I32(2, plainEncoding)
	} else {
		t.Struct(5)
		t.I32(1, int32(values))
		t.I32(2, c.encoding)
		t.I32(3, rleEncoding)
		t.I32(4, rleEncoding)
	}
	t.End()
	t.End()
	c.plain += int64(len(t.Out) + len(body))
	e.out = append(append(e.out, t.Out...), stored...)
}
