package hdf4

import (
	"bytes"
	"context"
	"encoding/binary"

	"varve/readers"
)

// vgroup is a decoded Vgroup (tag 1965):
//
//	n(2)  tag(2) … n times  ref(2) … n times  n(2) name  n(2) class  …
//
// For example, 0001 02BE 0003 0001 "v" 0006 "Var0.0" is the Vgroup v of class Var0.0 with one
// member, the values 702/3.
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

// vdata is a table; its header (VH, tag 1962) is
//
//	interlace(2) rows(4) row(2) n(2)  type(2)… size(2)… offset(2)… order(2)…
//	n(2) name … of the fields  n(2) name  n(2) class  …
//
// The rows are the element of tag 1963 (VS) with the same reference number.
type vdata struct {
	ref          uint16
	name, class  string
	isInterlaced bool // stored row by row
	rows, row    int64
	fields       []field
}

// field is a column of a table, with order numbers in each row.
type field struct {
	name         string
	code         uint16
	size, offset int64 // position in a stored row
	order        int64
}

func (f *file) vdata(ctx context.Context, ref uint16) (*vdata, error) {
	b, err := f.element(ctx, tagVdata, ref)
	if err != nil {
		return nil, err
	}
	d, _ := f.find(tagVdata, ref)
	c := &cursor{file: f, at: d.offset, b: b}
	t := &vdata{ref: ref, isInterlaced: c.uint16() == 0, rows: c.int32(), row: int64(c.uint16())}
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
		return nil, c.corrupt("table header: %d rows", t.rows)
	}
	for _, column := range t.fields {
		if column.offset+column.size > t.row {
			return nil, c.corrupt("table header: field %q ends at byte %d of a row of %d bytes", column.name, column.offset+column.size, t.row)
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
		err = f.fail(-1, readers.Corruptf("table %d has %d bytes for %d rows of %d bytes", t.ref, len(b), t.rows, t.row))
	}
	if err != nil {
		return nil, err
	}
	return b[:t.rows*t.row], nil
}

// cText returns a string cut at its first NUL.
func cText(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}
