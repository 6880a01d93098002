package parquet

import (
	"encoding/binary"
	"slices"

	"varve/readers/thrift"
)

// The numbers of parquet.thrift that are used.
const (
	typeInt64, typeByteArray     = 2, 6
	encodePlain, encodeRLE       = 0, 3
	encodeDictionary             = 8
	pageData, pageDictionary     = 0, 2
	codecZSTD                    = 6
	required, optional, repeated = 0, 1, 2
	convertedUTF8, convertedList = 0, 3
	pageRows                     = 1 << 20 // most rows of a data page
	pageBytes                    = 8 << 20 // values of a data page, before the last one
)

// column writes the pages of a column.
func (w *Writer) column(c Column, rows int, d *Data) chunk {
	m := chunk{start: w.offset}
	switch c.Kind {
	case Int64:
		w.intPages(&m, c, d)
	case Int64s, Texts:
		w.listPages(&m, c, d)
	default:
		w.bytesPages(&m, c, rows, d)
	}
	m.packed = w.offset - m.start
	return m
}

// intPages writes Int64. Where there are nulls, Ints has no places for them.
func (w *Writer) intPages(m *chunk, c Column, d *Data) {
	if !c.Optional {
		for part := range slices.Chunk(d.Ints, pageRows) {
			w.page = appendInts(w.page[:0], part)
			w.dataPage(m, len(part), encodePlain)
		}
		return
	}
	ints := d.Ints
	for part := range slices.Chunk(d.Index, pageRows) {
		w.startPage(m, c, part)
		w.page = appendInts(w.page, ints[:len(w.indexes)])
		ints = ints[len(w.indexes):]
		w.dataPage(m, len(part), encodePlain)
	}
}

func appendInts(dst []byte, ints []int64) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 8*len(ints))[:at+8*len(ints)]
	for i, v := range ints {
		binary.LittleEndian.PutUint64(dst[at+8*i:], uint64(v))
	}
	return dst
}

// pageElements is how many elements of lists a data page gets, before the last row.
const pageElements = pageRows / 2

// listPages writes lists: levels of repetition, 1 where a row goes on, and of definition, 0
// where a row has no elements.
func (w *Writer) listPages(m *chunk, c Column, d *Data) {
	encoding := int32(encodePlain)
	if c.Kind == Texts && w.dictionaryPays(d) {
		w.dictionaryPage(m, d.Values)
		encoding = encodeDictionary
	}
	first := 0
	for at := 0; at < len(d.Lengths); {
		rows, elements := w.listLevels(d.Lengths[at:])
		w.page = appendLevels(w.page[:0], w.levels)
		w.page = appendLevels(w.page, w.indexes)
		n := len(w.levels)
		w.appendElements(c, d, first, first+elements, encoding)
		w.dataPage(m, n, encoding)
		at, first = at+rows, first+elements
	}
}

// listLevels sets the levels of as many rows as go into a page.
func (w *Writer) listLevels(lengths []int32) (rows, elements int) {
	w.levels, w.indexes = w.levels[:0], w.indexes[:0]
	for rows < len(lengths) && rows < pageRows/8 && elements < pageElements {
		n := lengths[rows]
		w.levels = append(w.levels, 0)
		w.indexes = append(w.indexes, uint32(min(n, 1)))
		for range n - 1 {
			w.levels = append(w.levels, 1)
			w.indexes = append(w.indexes, 1)
		}
		rows, elements = rows+1, elements+int(n)
	}
	return rows, elements
}

// appendElements appends the elements of lists from one to another.
func (w *Writer) appendElements(c Column, d *Data, from, to int, encoding int32) {
	switch {
	case c.Kind == Int64s:
		w.page = appendInts(w.page, d.Ints[from:to])
	case encoding == encodeDictionary:
		w.indexes = w.indexes[:0]
		for _, i := range d.Index[from:to] {
			w.indexes = append(w.indexes, uint32(i))
		}
		width := widthOf(len(d.Values))
		w.page = appendHybrid(append(w.page, byte(width)), w.indexes, width)
	default:
		for _, i := range d.Index[from:to] {
			w.page = appendText(w.page, d.Values[i])
		}
	}
}

func appendText(dst, text []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...)
}

// appendLevels appends levels of one bit with their length in front.
func appendLevels(dst []byte, levels []uint32) []byte {
	at := len(dst)
	dst = appendHybrid(append(dst, 0, 0, 0, 0), levels, 1)
	binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
	return dst
}

// bytesPages writes Bytes and Text, with a dictionary if that is smaller.
func (w *Writer) bytesPages(m *chunk, c Column, rows int, d *Data) {
	if d.Index == nil {
		m.nulls = int64(rows)
		w.nullPage(m, rows)
		return
	}
	if w.dictionaryPays(d) {
		w.dictionaryPage(m, d.Values)
		for part := range slices.Chunk(d.Index, pageRows) {
			w.startPage(m, c, part)
			width := widthOf(len(d.Values))
			w.page = appendHybrid(append(w.page, byte(width)), w.indexes, width)
			w.dataPage(m, len(part), encodeDictionary)
		}
		return
	}
	for index := d.Index; len(index) > 0; {
		n := plainRows(d.Values, index)
		w.startPage(m, c, index[:n])
		for _, i := range w.indexes {
			w.page = appendText(w.page, d.Values[i])
		}
		w.dataPage(m, n, encodePlain)
		index = index[n:]
	}
}

// dictionaryPays compares the sizes of both forms, before they are compressed.
func (w *Writer) dictionaryPays(d *Data) bool {
	plain, dictionary := int64(0), int64(0)
	for _, i := range d.Index {
		if i >= 0 {
			plain += 4 + int64(len(d.Values[i]))
		}
	}
	for _, v := range d.Values {
		dictionary += 4 + int64(len(v))
	}
	dictionary += int64(len(d.Index)) * int64(widthOf(len(d.Values))) / 8
	return dictionary < plain && dictionary < 1<<30
}

// plainRows is how many rows go into a page of plain values.
func plainRows(values [][]byte, index []int32) int {
	size := 0
	for n, i := range index {
		if size > pageBytes || n == pageRows {
			return n
		}
		if i >= 0 {
			size += 4 + len(values[i])
		}
	}
	return len(index)
}

// startPage begins a page with its levels, and collects the indexes that are not null.
func (w *Writer) startPage(m *chunk, c Column, index []int32) {
	w.page, w.levels, w.indexes = w.page[:0], w.levels[:0], w.indexes[:0]
	for _, i := range index {
		if i < 0 {
			m.nulls++
			w.levels = append(w.levels, 0)
			continue
		}
		w.levels = append(w.levels, 1)
		w.indexes = append(w.indexes, uint32(i))
	}
	if c.Optional {
		w.page = appendLevels(w.page, w.levels)
	}
}

// nullPage writes a column of nothing but nulls without a look at its rows.
func (w *Writer) nullPage(m *chunk, rows int) {
	w.page = binary.AppendUvarint(append(w.page[:0], 0, 0, 0, 0), uint64(rows)<<1)
	w.page = append(w.page, 0)
	binary.LittleEndian.PutUint32(w.page, uint32(len(w.page)-4))
	w.dataPage(m, rows, encodePlain)
}

func (w *Writer) dictionaryPage(m *chunk, values [][]byte) {
	w.page = w.page[:0]
	for _, v := range values {
		w.page = appendText(w.page, v)
	}
	m.dictionary = true
	w.putPage(m, pageDictionary, len(values), encodePlain)
}

func (w *Writer) dataPage(m *chunk, values int, encoding int32) {
	if !m.any {
		m.any, m.data = true, w.offset
	}
	m.values += int64(values)
	w.putPage(m, pageData, values, encoding)
}

// putPage compresses and writes the page.
func (w *Writer) putPage(m *chunk, kind int32, values int, encoding int32) {
	w.packed = w.zstd.EncodeAll(w.page, w.packed[:0])
	t := &thrift.Writer{Out: w.head[:0]}
	t.Begin()
	t.I32(1, kind)
	t.I32(2, int32(len(w.page)))
	t.I32(3, int32(len(w.packed)))
	if kind == pageDictionary {
		t.Struct(7)
		t.I32(1, int32(values))
		t.I32(2, encoding)
	} else {
		t.Struct(5)
		t.I32(1, int32(values))
		t.I32(2, encoding)
		t.I32(3, encodeRLE)
		t.I32(4, encodeRLE)
	}
	t.End()
	t.End()
	w.head = t.Out
	m.plain += int64(len(w.head) + len(w.page))
	w.write(w.head)
	w.write(w.packed)
}
