package parquet

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"varve/readers/thrift"
)

// encoder encodes the values of a column in a row group as pages. It reuses its buffers.
type encoder struct {
	zstd     *zstd.Encoder
	portable bool

	out    []byte // the encoded pages
	raw    []byte // the bodies of the pages, before compression
	ends   []int  // ends of the bodies in raw
	counts []int  // values of each page, including nulls
	zip    []byte
	index  []uint32
	levels []uint8
	some   Values
	rows   []int32 // index of each row in the dictionary
	head   thrift.Writer
}

// maxStatistic is the largest size in bytes of a text in the statistics.
const maxStatistic = 64

// encode writes pages to e.out. The offsets in the result are relative to it.
func (e *encoder) encode(column Column, rows int, starts []int, v *Values) (c writtenChunk) {
	e.out, e.raw, e.ends, e.counts = e.out[:0], e.raw[:0], e.ends[:0], e.counts[:0]
	v = v.tidy(rows)
	c = writtenChunk{encoding: plainEncoding}
	c.nulls = countNulls(v)
	// One value for all rows takes no pages worth mentioning. Some readers fail on indexes of 0 bits.
	if single := e.statistics(&c, column, rows, v); single && (!e.portable || c.nulls > 0) {
		e.single(&c, column, rows, v)
		return c
	}
	d := e.choose(&c, column, starts, rows, v)
	elements := 0
	for i, start := range starts {
		end := rows
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		from, to := start, end
		if column.Type.isList() {
			from = elements
			for _, n := range v.Lengths[start:end] {
				elements += int(n)
			}
			to = elements
		}
		e.body(&c, column, v, start, end, v.slice(from, to), d)
	}
	e.pages(&c, starts, d)
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
	if len(t.Index) == 0 {
		t.Index = nil
	}
	switch {
	case t.Lengths != nil:
	case t.Ints == nil && t.Bytes == nil && t.Index == nil:
		t.Present = make([]uint8, rows)
	case t.Index != nil && slices.Min(t.Index) < 0:
		t.Present = make([]uint8, rows)
		for i, n := range t.Index {
			if n >= 0 {
				t.Present[i] = 1
			}
		}
	}
	return &t
}

// slice returns a range of values, or of the elements of lists.
func (v *Values) slice(from, to int) (part Values) {
	part.Bytes = v.Bytes
	if v.Ints != nil {
		part.Ints = v.Ints[from:to]
	}
	if v.Index != nil {
		part.Index = v.Index[from:to]
	} else if v.Bytes != nil {
		part.Bytes = v.Bytes[from:to]
	}
	if v.Present != nil {
		part.Present = v.Present[from:to]
	}
	return part
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
		e.appendLevels(func(dst []byte) []byte { return appendRun(dst, level, rows, 1) })
	}
	if d != nil {
		e.raw = appendRun(append(e.raw, 0), uint8(0), rows, 0)
	}
	e.endPage(rows)
	e.pages(c, []int{0}, d)
}

// appendLevels appends levels, with their size in front.
func (e *encoder) appendLevels(write func([]byte) []byte) {
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
func (e *encoder) statistics(c *writtenChunk, column Column, rows int, v *Values) (single bool) {
	switch {
	case column.Type.isList():
		return false
	case c.nulls == int64(rows):
		return true
	}
	if v.Ints != nil {
		low, high := extremes(v)
		c.low = binary.LittleEndian.AppendUint64(nil, uint64(low))
		c.high = binary.LittleEndian.AppendUint64(nil, uint64(high))
		return low == high && c.nulls == 0
	}
	// Long texts would make the footer, which every open reads, large.
	if v.Index != nil || c.nulls > 0 || len(v.Bytes[0]) > maxStatistic || !allEqual(v.Bytes) {
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

// dictionary is the distinct values of a column.
type dictionary struct {
	plain []byte // the values in PLAIN
	count int
	width int
}

// choose sets the encoding. If there is a dictionary, it sets v.Index.
func (e *encoder) choose(c *writtenChunk, column Column, starts []int, rows int, v *Values) (d *dictionary) {
	switch {
	case v.Ints != nil:
		if !e.portable && (c.nulls == 0 || everyPageHasValues(v.Present, starts)) {
			c.encoding = deltaEncoding
		}
		return nil
	case v.Index != nil:
		d = e.indexed(v)
	// Values and inline chunks hardly ever repeat.
	case column.Type == Bytes || v.Bytes == nil:
		return nil
	default:
		d = e.findRepeated(v, rows)
	}
	if d != nil {
		c.encoding = dictionaryEncoding
	}
	return d
}

// indexed returns the dictionary of values that have an index, or nil if PLAIN is shorter.
func (e *encoder) indexed(v *Values) *dictionary {
	d := &dictionary{count: len(v.Bytes), width: widthOf(max(len(v.Bytes)-1, 0))}
	if e.portable {
		d.width = max(d.width, 1) // some readers fail on indexes of 0 bits
	}
	plain, size := int64(0), int64(0)
	for _, i := range v.Index {
		if i >= 0 {
			plain += 4 + int64(len(v.Bytes[i]))
		}
	}
	for _, b := range v.Bytes {
		size += 4 + int64(len(b))
	}
	if size += int64(len(v.Index)) * int64(d.width) / 8; size >= min(plain, maxPageBytes) {
		return nil
	}
	for _, b := range v.Bytes {
		d.plain = appendPlain(d.plain, b)
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

// findRepeated returns a dictionary, and sets v.Index, if values occur at least four times on average.
func (e *encoder) findRepeated(v *Values, rows int) *dictionary {
	limit := rows / 4
	if limit == 0 {
		return nil
	}
	d := &dictionary{}
	numbers := map[string]int32{}
	e.rows = e.rows[:0]
	for i, b := range v.Bytes {
		if v.Null(i) {
			e.rows = append(e.rows, -1)
			continue
		}
		n, ok := numbers[string(b)]
		if !ok {
			// Too many distinct values: an index for each would not save anything.
			if d.count == limit {
				return nil
			}
			n = int32(d.count)
			numbers[string(b)] = n
			d.plain = appendPlain(d.plain, b)
			d.count++
		}
		e.rows = append(e.rows, n)
	}
	d.width = widthOf(d.count - 1)
	v.Index = e.rows
	return d
}

func appendPlain(dst, b []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(b))), b...)
}

// body appends the levels and values of a page to e.raw. The page has the rows from start to end; values
// has their values or, of lists, their elements.
func (e *encoder) body(c *writtenChunk, column Column, v *Values, start, end int, values Values, d *dictionary) {
	count := end - start
	switch {
	case column.Type.isList():
		count = e.listLevels(v.Lengths[start:end])
	case !column.Optional:
	case values.Present == nil:
		e.appendLevels(func(dst []byte) []byte { return appendRun(dst, uint8(1), end-start, 1) })
	default:
		e.appendLevels(func(dst []byte) []byte { return appendHybrid(dst, values.Present, 1) })
	}
	if c.nulls > 0 {
		values = e.withoutNulls(values)
	}
	switch {
	case d != nil:
		e.indexes(values.Index, d)
	case c.encoding == deltaEncoding:
		e.raw = appendDelta(e.raw, values.Ints)
	case values.Index != nil:
		for _, i := range values.Index {
			e.raw = appendPlain(e.raw, values.Bytes[i])
		}
	case values.Ints != nil:
		for _, n := range values.Ints {
			e.raw = binary.LittleEndian.AppendUint64(e.raw, uint64(n))
		}
	default:
		for _, b := range values.Bytes {
			e.raw = appendPlain(e.raw, b)
		}
	}
	e.endPage(count)
}

func (e *encoder) endPage(count int) {
	e.ends, e.counts = append(e.ends, len(e.raw)), append(e.counts, count)
}

// listLevels appends the levels of lists: of repetition, 1 for each element but the first of a list, and
// of definition, 0 for a list without elements. It returns the number of pairs.
func (e *encoder) listLevels(lengths []int32) int {
	repeated, defined := e.levels[:0], e.some.Present[:0]
	for _, n := range lengths {
		repeated, defined = append(repeated, 0), append(defined, uint8(min(n, 1)))
		for range n - 1 {
			repeated, defined = append(repeated, 1), append(defined, 1)
		}
	}
	e.levels, e.some.Present = repeated, defined
	e.appendLevels(func(dst []byte) []byte { return appendHybrid(dst, repeated, 1) })
	e.appendLevels(func(dst []byte) []byte { return appendHybrid(dst, defined, 1) })
	return len(repeated)
}

func (e *encoder) indexes(index []int32, d *dictionary) {
	e.raw = append(e.raw, byte(d.width))
	e.index = e.index[:0]
	for _, n := range index {
		e.index = append(e.index, uint32(n))
	}
	e.raw = appendHybrid(e.raw, e.index, d.width)
}

// withoutNulls returns the values that are not null. They are valid until the next call.
func (e *encoder) withoutNulls(v Values) Values {
	ints, texts, index := e.some.Ints[:0], e.some.Bytes[:0], e.some.Index[:0]
	for i, p := range v.Present {
		switch {
		case p == 0:
		case v.Ints != nil:
			ints = append(ints, v.Ints[i])
		case v.Index != nil:
			index = append(index, v.Index[i])
		default:
			texts = append(texts, v.Bytes[i])
		}
	}
	e.some.Ints, e.some.Bytes, e.some.Index = ints, texts, index
	switch {
	case v.Ints != nil:
		return Values{Ints: ints}
	case v.Index != nil:
		return Values{Index: index, Bytes: v.Bytes}
	}
	return Values{Bytes: texts}
}

// pages compresses the bodies in e.raw and writes them to e.out, with their headers.
func (e *encoder) pages(c *writtenChunk, starts []int, d *dictionary) {
	if d != nil {
		e.page(c, dictionaryPage, d.count, d.plain)
	}
	c.data = int64(len(e.out))
	c.pages = make([]pageLocation, len(starts))
	from := 0
	for i, start := range starts {
		at := len(e.out)
		e.page(c, dataPage, e.counts[i], e.raw[from:e.ends[i]])
		from = e.ends[i]
		c.values += int64(e.counts[i])
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

// newPortableZstd returns an encoder that is faster, and compresses less.
func newPortableZstd() *zstd.Encoder {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // cannot happen: the options are constant
	}
	return w
}

// page writes a page with its PageHeader in Thrift.
func (e *encoder) page(c *writtenChunk, kind int32, values int, body []byte) {
	e.zip = e.zstd.EncodeAll(body, e.zip[:0])
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
