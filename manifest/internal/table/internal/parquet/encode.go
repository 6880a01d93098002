package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/klauspost/compress/zstd"

	"varve/readers/thrift"
)

// encoder encodes the values of a column in a row group as pages. It reuses its buffers.
type encoder struct { // the encoded pages
	out   []byte // the bodies of the pages, before compression
	raw   []byte // ends of the bodies in raw
	ends  []int  // of the bodies in raw
	zip   []byte
	index []uint32
	head  thrift.Writer
}

// maxStatistic is the largest size in bytes of a text in the statistics.
const maxStatistic = 64

// encode writes pages to e.out. The offsets in the result are relative to it.
func (e *encoder) encode(column Column, rows int, starts []int, v *Values) (c writtenChunk) {
	e.out, e.raw, e.ends = e.out[:0], e.raw[:0], e.ends[:0]
	v = v.tidy(rows)
	c = writtenChunk{values: int64(rows), encoding: plainEncoding}
	c.nulls = countNulls(v)
	// One value for all rows takes no pages worth mentioning.
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

// tidy returns values in which empty slices are nil, and values that are not given are null.
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

// single writes the only page of a column with one value.
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

// levels appends levels, with their size in front.
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

// statistics sets the least and greatest value. It reports whether the column has only one value,
// possibly null.
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
	// Long texts would make the footer, which every open reads, large.
	if c.nulls > 0 || len(v.Bytes[0]) > maxStatistic || !allEqual(v.Bytes) {
		return false
	}
	c.low = append([]byte{}, v.Bytes[0]...)
	c.high = c.low
	return true
}

func allEqual(values [][]byte) bool {
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
	numbers map[string]uint32
	plain   []byte // the values in PLAIN
	count   int
	width   int
}

// choose sets the encoding, and returns the dictionary if there is one.
func (e *encoder) choose(c *writtenChunk, column Column, starts []int, rows int, v *Values) *dictionary {
	switch {
	case v.Ints != nil:
		if c.nulls == 0 || everyPageHasValues(v.Present, starts) {
			c.encoding = deltaEncoding
		}
		return nil
	// Values and inline chunks hardly ever repeat.
	case column.Type == Bytes:
		return nil
	}
	d := findRepeated(v, rows)
	if d != nil {
		c.encoding = dictionaryEncoding
	}
	return d
}

// everyPageHasValues reports whether no page consists of nulls only: some readers fail on such pages
// in DELTA_BINARY_PACKED.
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

// findRepeated returns a dictionary if values occur at least four times on average, else nil.
func findRepeated(v *Values, rows int) *dictionary {
	limit := rows / 4
	if limit == 0 {
		return nil
	}
	d := &dictionary{numbers: map[string]uint32{}}
	for i, b := range v.Bytes {
		if v.Present != nil && v.Present[i] == 0 {
			continue
		}
		if _, ok := d.numbers[string(b)]; ok {
			continue
		}
		// Too many distinct values: an index for each would not save anything.
		if d.count == limit {
			return nil
		}
		d.numbers[string(b)] = uint32(d.count)
		d.plain = appendPlain(d.plain, b)
		d.count++
	}
	d.width = widthOf(d.count - 1)
	return d
}

func appendPlain(dst, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// body appends the levels and values of a page to e.raw.
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
		e.index = append(e.index, d.numbers[string(b)])
	}
	e.raw = appendHybrid(e.raw, e.index, d.width)
}

// between returns the values of a range of rows without nulls.
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

// pages compresses the bodies in e.raw and writes them to e.out, with their headers.
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

// windowBytes is the distance over which zstd finds repetitions. Nearly all pages are smaller. A
// writer takes twice this memory.
const windowBytes = 1 << 20

// zstdWriter is the shared encoder. It is not concurrent, so that equal input gives equal output.
var zstdWriter = sync.OnceValue(func() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithWindowSize(windowBytes))
	if err != nil {
		panic(err) // cannot happen: the options are constant
	}
	return w
})

// page writes a page with its PageHeader in Thrift.
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
