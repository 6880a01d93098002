package hdf4

import (
	"bytes"
	"context"
	"encoding/binary"

	"varve/readers"
)

// vgroup is a group of elements, as it is stored under the tag 1965:
//
//	n(2)  tag(2) … n times  ref(2) … n times  n(2) name  n(2) class  …
type vgroup struct {
	ref         uint16
	name, class string
	members     []key
}

func (f *file) vgroup(ctx context.Context, ref uint16) (*vgroup, error) {
	b, err := f.element(ctx, tagVgroup, ref)
	if err != nil {
		return nil, err
	}
	d, _ := f.find(tagVgroup, ref)
	c := &cursor{file: f, at: d.offset, b: b}
	g := &vgroup{ref: ref}
	n := int64(c.uint16())
	tags, refs := c.take(2*n), c.take(2*n)
	g.name, g.class = c.text(), c.text()
	for i := int64(0); i < n && c.err == nil; i++ {
		g.members = append(g.members, key{binary.BigEndian.Uint16(tags[2*i:]), binary.BigEndian.Uint16(refs[2*i:])})
	}
	return g, c.err
}

// vdata is a table, as its head is stored under the tag 1962:
//
//	interlace(2) rows(4) row(2) n(2)  type(2)… size(2)… offset(2)… order(2)…
//	n(2) name … of the fields  n(2) name  n(2) class  …
//
// The rows are the element of the same number under the tag 1963.
type vdata struct {
	ref         uint16
	name, class string
	interlaced  bool // row by row
	rows, row   int64
	fields      []field
}

// field is a column of a table: order numbers, one behind the other.
type field struct {
	name         string
	code         uint16
	size, offset int64 // in a row as it is stored
	order        int64
}

func (f *file) vdata(ctx context.Context, ref uint16) (*vdata, error) {
	b, err := f.element(ctx, tagVdata, ref)
	if err != nil {
		return nil, err
	}
	d, _ := f.find(tagVdata, ref)
	c := &cursor{file: f, at: d.offset, b: b}
	t := &vdata{ref: ref, interlaced: c.uint16() == 0, rows: c.int32(), row: int64(c.uint16())}
	n := int64(c.uint16())
	codes, sizes, offsets, orders := c.take(2*n), c.take(2*n), c.take(2*n), c.take(2*n)
	for i := int64(0); i < n && c.err == nil; i++ {
		at := 2 * i
		t.fields = append(t.fields, field{
			name: c.text(), code: binary.BigEndian.Uint16(codes[at:]), order: int64(binary.BigEndian.Uint16(orders[at:])),
			size: int64(binary.BigEndian.Uint16(sizes[at:])), offset: int64(binary.BigEndian.Uint16(offsets[at:])),
		})
	}
	t.name, t.class = c.text(), c.text()
	if c.err != nil {
		return nil, c.err
	}
	if t.rows < 0 {
		return nil, c.corrupt("a table of %d rows", t.rows)
	}
	for _, column := range t.fields {
		if column.offset+column.size > t.row {
			return nil, c.corrupt("field %q of a table ends at byte %d of a row of %d", column.name, column.offset+column.size, t.row)
		}
	}
	return t, nil
}

// values reads the rows of a table.
func (f *file) values(ctx context.Context, t *vdata) ([]byte, error) {
	if t.rows == 0 {
		return nil, nil
	}
	b, err := f.element(ctx, tagVdataRows, t.ref)
	if err == nil && int64(len(b)) < t.rows*t.row {
		err = f.fail(-1, readers.Corruptf("table %d has %d bytes for %d rows of %d", t.ref, len(b), t.rows, t.row))
	}
	if err != nil {
		return nil, err
	}
	return b[:t.rows*t.row], nil
}

// cText is a text as far as its first NUL.
func cText(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
