package parquet

import "encoding/binary"

// Dictionary has the distinct values of a column in a row group.
type Dictionary struct {
	Ints  []int64
	Bytes [][]byte
}

func (d *Dictionary) size() int {
	if d == nil {
		return 0
	}
	return len(d.Ints) + len(d.Bytes)
}

// pageValues decodes the values of a page, a part at a time.
type pageValues struct {
	column     Column
	encoding   int64
	rows       int64  // left in the page
	levels     runs   // 1 for values, 0 for nulls; only if the column is optional
	data       []byte // the values that are not null, without those that were read
	indexes    runs   // into the dictionary
	dictionary *Dictionary
}

// newPageValues decodes the levels of a page, if the column has any, and returns the rest as values.
func newPageValues(column Column, h *pageHead, body pageBody, dictionary *Dictionary) (p pageValues, err error) {
	p = pageValues{column: column, encoding: h.encoding, rows: h.values, data: body.values, dictionary: dictionary}
	p.levels = runs{data: body.levels, width: 1, limit: 1}
	if column.Optional && h.kind == dataPage {
		if len(p.data) < 4 || uint64(binary.LittleEndian.Uint32(p.data)) > uint64(len(p.data)-4) {
			return p, corruptf("the levels are truncated")
		}
		n := 4 + binary.LittleEndian.Uint32(p.data)
		p.levels.data, p.data = p.data[4:n], p.data[n:]
	}
	if p.encoding != dictionaryEncoding && p.encoding != plainDictionary {
		return p, nil
	}
	p.encoding = dictionaryEncoding
	// A page of nulls has no indexes.
	if len(p.data) == 0 {
		return p, nil
	}
	if p.data[0] > 32 {
		return p, corruptf("indexes have %d bits, more than 32", p.data[0])
	}
	p.indexes = runs{data: p.data[1:], width: int(p.data[0]), limit: uint32(max(dictionary.size(), 1) - 1)}
	return p, nil
}

// read sets dst to the values of the next rows. It reuses dst.Ints.
func (p *pageValues) read(dst *Values, rows int) error {
	dst.reset(p.column.Type, rows)
	p.rows -= int64(rows)
	if !p.column.Optional {
		return p.readValues(dst)
	}
	levels, present := make([]uint8, rows), 0
	if err := readRuns(&p.levels, levels); err != nil {
		return err
	}
	for _, one := range levels {
		present += int(one)
	}
	// Without nulls no level has to be kept.
	if present == rows {
		return p.readValues(dst)
	}
	dst.Present = levels
	some := *dst
	if dst.Ints != nil {
		some.Ints = dst.Ints[:present]
	}
	if dst.Bytes != nil {
		some.Bytes = dst.Bytes[:present]
	}
	if err := p.readValues(&some); err != nil {
		return err
	}
	if dst.Ints != nil {
		spread(dst.Ints, levels, present)
	}
	if dst.Bytes != nil {
		spread(dst.Bytes, levels, present)
	}
	return nil
}

// reset allocates room for the values of rows.
func (v *Values) reset(kind Type, rows int) {
	v.Present = nil
	if !kind.isInt() {
		if cap(v.Bytes) < rows {
			v.Bytes = make([][]byte, rows)
		}
		v.Ints, v.Bytes = nil, v.Bytes[:rows]
		clear(v.Bytes)
		return
	}
	v.Bytes = nil
	if cap(v.Ints) < rows {
		v.Ints = make([]int64, rows)
	}
	v.Ints = v.Ints[:rows]
}

// fill sets all values to the only value of a column.
func (v *Values) fill(c *chunk, rows int) {
	if c.isNull {
		v.Present = make([]uint8, rows)
	}
	for i := range v.Ints {
		v.Ints[i] = c.value
	}
	for i := range v.Bytes {
		v.Bytes[i] = c.text
	}
}

// spread moves the values at the start of a slice to the rows that are not null. It goes backwards, so
// that no value is overwritten before it is moved.
func spread[T any](values []T, present []uint8, n int) {
	var none T
	for i := len(values) - 1; i >= 0; i-- {
		if present[i] == 0 {
			values[i] = none
			continue
		}
		n--
		values[i] = values[n]
	}
}

// readValues decodes the next values, without nulls.
func (p *pageValues) readValues(dst *Values) error {
	switch {
	case p.encoding == dictionaryEncoding:
		return p.readIndexes(dst)
	case p.encoding == deltaEncoding && p.column.Type == Int:
		return readDelta(dst.Ints, p.data) // fails unless dst is the whole page
	case p.encoding != plainEncoding:
		return corruptf("encoding %d does not suit the column", p.encoding)
	case p.column.Type == Int:
		return p.readPlainInts(dst.Ints)
	case p.column.Type == Int32:
		return p.readPlainInts32(dst.Ints)
	}
	return p.readPlainBytes(dst.Bytes)
}

func (p *pageValues) readPlainInts(dst []int64) error {
	if len(p.data) < 8*len(dst) {
		return corruptf("%d integers do not fit into %d bytes", len(dst), len(p.data))
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(p.data[8*i:]))
	}
	p.data = p.data[8*len(dst):]
	return nil
}

func (p *pageValues) readPlainInts32(dst []int64) error {
	if len(p.data) < 4*len(dst) {
		return corruptf("%d integers do not fit into %d bytes", len(dst), len(p.data))
	}
	for i := range dst {
		dst[i] = int64(int32(binary.LittleEndian.Uint32(p.data[4*i:])))
	}
	p.data = p.data[4*len(dst):]
	return nil
}

func (p *pageValues) readPlainBytes(dst [][]byte) error {
	data := p.data
	for i := range dst {
		if len(data) < 4 || uint64(binary.LittleEndian.Uint32(data)) > uint64(len(data)-4) {
			return corruptf("value %d is truncated", i)
		}
		n := 4 + binary.LittleEndian.Uint32(data)
		// Values alias the page, which is not reused.
		dst[i], data = data[4:n:n], data[n:]
	}
	p.data = data
	return nil
}

func (p *pageValues) readIndexes(dst *Values) error {
	n := len(dst.Ints) + len(dst.Bytes)
	if n == 0 {
		return nil
	}
	if len(p.data) == 0 || p.dictionary.size() == 0 {
		return corruptf("%d indexes into a dictionary of %d entries cannot be in %d bytes", n, p.dictionary.size(), len(p.data))
	}
	indexes := make([]uint32, n)
	if err := readRuns(&p.indexes, indexes); err != nil {
		return err
	}
	for i := range dst.Ints {
		dst.Ints[i] = p.dictionary.Ints[indexes[i]]
	}
	for i := range dst.Bytes {
		dst.Bytes[i] = p.dictionary.Bytes[indexes[i]]
	}
	return nil
}
