package parquet

import "encoding/binary"

// reset allocates room for the values of rows.
func (v *Values) reset(kind Type, rows int) {
	v.Present = nil
	if kind != Int {
		v.Ints, v.Bytes = nil, make([][]byte, rows)
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

// decode decodes the body of a page: the levels, then the values.
func (v *Values) decode(column Column, h pageHead, body []byte, dictionary [][]byte) error {
	rows, present := len(v.Ints)+len(v.Bytes), 0
	if !column.Optional {
		return v.decodeValues(h, body, dictionary)
	}
	if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
		return corruptf("the levels are truncated")
	}
	n := 4 + binary.LittleEndian.Uint32(body)
	levels := make([]uint8, rows)
	if err := readHybrid(levels, body[4:n], 1, 1); err != nil {
		return err
	}
	for _, p := range levels {
		present += int(p)
	}
	// Without nulls no level has to be kept.
	if present == rows {
		return v.decodeValues(h, body[n:], dictionary)
	}
	v.Present = levels
	return v.decodeSome(h, body[n:], dictionary, present)
}

// decodeSome decodes values, and distributes them over the rows that are not null.
func (v *Values) decodeSome(h pageHead, body []byte, dictionary [][]byte, present int) error {
	some := *v
	if v.Ints != nil {
		some.Ints = v.Ints[:present]
	}
	if v.Bytes != nil {
		some.Bytes = v.Bytes[:present]
	}
	if err := some.decodeValues(h, body, dictionary); err != nil {
		return err
	}
	if v.Ints != nil {
		spread(v.Ints, v.Present, present)
	}
	if v.Bytes != nil {
		spread(v.Bytes, v.Present, present)
	}
	return nil
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

func (v *Values) decodeValues(h pageHead, body []byte, dictionary [][]byte) error {
	switch {
	case h.encoding == plainEncoding && v.Ints != nil:
		return readPlainInts(v.Ints, body)
	case h.encoding == plainEncoding:
		return readPlainBytes(v.Bytes, body)
	case h.encoding == deltaEncoding && v.Ints != nil:
		return readDelta(v.Ints, body)
	case h.encoding == dictionaryEncoding && v.Bytes != nil:
		return readIndexes(v.Bytes, body, dictionary)
	}
	return corruptf("encoding %d does not suit the column", h.encoding)
}

func readPlainInts(dst []int64, body []byte) error {
	if len(body) != 8*len(dst) {
		return corruptf("%d integers do not take %d bytes", len(dst), len(body))
	}
	for i := range dst {
		dst[i] = int64(binary.LittleEndian.Uint64(body[8*i:]))
	}
	return nil
}

func readPlainBytes(dst [][]byte, body []byte) error {
	for i := range dst {
		if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
			return corruptf("value %d is truncated", i)
		}
		n := 4 + binary.LittleEndian.Uint32(body)
		// Values alias the page, which is not reused.
		dst[i], body = body[4:n:n], body[n:]
	}
	return nil
}

func readIndexes(dst [][]byte, body []byte, dictionary [][]byte) error {
	if len(body) == 0 || len(dictionary) == 0 {
		if len(dst) == 0 {
			return nil
		}
		return corruptf("%d indexes into a dictionary of %d entries cannot be in %d bytes", len(dst), len(dictionary), len(body))
	}
	if body[0] > 32 {
		return corruptf("indexes have %d bits, more than 32", body[0])
	}
	indexes := make([]uint32, len(dst))
	if err := readHybrid(indexes, body[1:], int(body[0]), uint32(len(dictionary)-1)); err != nil {
		return err
	}
	for i, n := range indexes {
		dst[i] = dictionary[n]
	}
	return nil
}
