package fits

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve/readers"
	"varve/readers/internal/naming"
)

// field is a column of a table.
type field struct {
	number    int // from 1
	name      string
	offset    uint64 // offset in a row
	size      uint64 // in bytes
	typ       *readers.Type
	shape     []uint64 // shape of one row's value
	isVarying bool     // the row holds only a descriptor

	decimal *decimalFormat // for numbers of ASCII tables
}

// codes maps TFORM letters to types (table 18). Bits, strings and descriptors are handled
// separately.
var codes = map[byte]*readers.Type{
	'L': {Class: readers.String, Size: 1, Padding: readers.NullPadded},
	'B': readers.Int(1, readers.BigEndian, false),
	'I': readers.Int(2, readers.BigEndian, true),
	'J': readers.Int(4, readers.BigEndian, true),
	'K': readers.Int(8, readers.BigEndian, true),
	'E': readers.IEEEFloat(4, readers.BigEndian),
	'D': readers.IEEEFloat(8, readers.BigEndian),
	'C': {Class: readers.Complex, Size: 8, Base: readers.IEEEFloat(4, readers.BigEndian)},
	'M': {Class: readers.Complex, Size: 16, Base: readers.IEEEFloat(8, readers.BigEndian)},
}

// fields reads the columns of a binary table.
func (u *hdu) fields() ([]field, error) {
	offset := uint64(0)
	return u.columns("binary table", func(n int) (field, error) {
		f, err := u.field(n)
		f.offset = offset
		if err == nil && f.size > u.axes[0]-offset {
			err = readers.Corruptf("%s = %q extends beyond the %d bytes of a row", column("TFORM", n), u.string(column("TFORM", n)), u.axes[0])
		}
		// Fields of a binary table follow each other without gaps.
		offset += f.size
		return f, err
	})
}

// columns reads the columns of a table and gives each a unique name.
func (u *hdu) columns(table string, read func(n int) (field, error)) ([]field, error) {
	if len(u.axes) != 2 || u.bitpix != 8 {
		return nil, readers.Corruptf("%s with NAXIS = %d and BITPIX = %d (want 2 and 8)", table, len(u.axes), u.bitpix)
	}
	n, err := u.int("TFIELDS", true, 0, maxAxes)
	if err != nil {
		return nil, err
	}
	names := naming.New()
	var list []field
	for i := 1; i <= int(n); i++ {
		f, err := read(i)
		if err != nil {
			return nil, err
		}
		f.name = names.Take(u.string(column("TTYPE", i)), column("col", i))
		list = append(list, f)
	}
	return list, nil
}

// field reads one column. TFORMn is a count, a letter, and more that depends on the letter.
func (u *hdu) field(n int) (field, error) {
	form := u.string(column("TFORM", n))
	digits := len(form) - len(strings.TrimLeft(form, "0123456789"))
	count := uint64(1)
	if digits > 0 {
		var err error
		if count, err = strconv.ParseUint(form[:digits], 10, 48); err != nil {
			return field{}, readers.Corruptf("%s = %q: count is out of range", column("TFORM", n), form)
		}
	}
	if digits == len(form) {
		return field{}, readers.Corruptf("%s = %q has no type letter", column("TFORM", n), form)
	}
	f := field{number: n}
	if !f.setType(form[digits], form[digits+1:], count) {
		return field{}, readers.Corruptf("%s = %q: type %q is not one of LXBIJKAEDCMPQ", column("TFORM", n), form, form[digits])
	}
	u.setShape(&f, count)
	return f, nil
}

// setType sets the type of a column, and its size for count elements.
func (f *field) setType(code byte, more string, count uint64) bool {
	switch code {
	case 'X':
		f.typ, f.size = codes['B'], (count+7)/8
		return true
	case 'A':
		f.size = count
		f.typ = texts(count)
		if width, err := strconv.ParseUint(more, 10, 31); err == nil && width > 0 && count%width == 0 {
			f.typ = texts(width) // substrings of one size (section 7.3.3.1)
		}
		return true
	case 'P', 'Q':
		f.isVarying = true
		f.typ = &readers.Type{Class: readers.VarLen, Size: 8, Base: codes['B']}
		if code == 'Q' {
			f.typ = &readers.Type{Class: readers.VarLen, Size: 16, Base: codes['B']}
		}
		if more != "" && codes[more[0]] != nil {
			f.typ.Base = codes[more[0]]
		}
		f.size = count * uint64(f.typ.Size)
		return true
	}
	f.typ = codes[code]
	if f.typ == nil {
		return false
	}
	f.size = count * uint64(f.typ.Size)
	return true
}

// texts returns the type of strings of a width.
func texts(width uint64) *readers.Type {
	return &readers.Type{Class: readers.String, Size: int(min(max(width, 1), math.MaxInt32)), Padding: readers.NullTerminated}
}

// setShape sets the shape of one row's value: TDIMn if it fits (section 7.3.2), else the number of
// elements unless it is 1.
func (u *hdu) setShape(f *field, count uint64) {
	dims := u.tdim(f.number)
	if f.typ.Class == readers.String && f.typ.Size > 0 && len(dims) > 0 && f.size > 0 {
		// The first number of TDIMn is then the width of the strings.
		if product(dims) == f.size && dims[0] <= math.MaxInt32 {
			f.typ = texts(dims[0])
			f.shape = reversed(dims[1:])
			return
		}
	}
	elements := f.size / uint64(f.typ.Size)
	switch {
	case len(dims) > 0 && product(dims) == elements && f.typ.Class != readers.String:
		f.shape = reversed(dims)
	case elements != 1:
		f.shape = []uint64{elements}
	}
}

// tdim reads TDIMn: "(3,2)", the fastest dimension first.
func (u *hdu) tdim(n int) []uint64 {
	s, ok := strings.CutPrefix(u.string(column("TDIM", n)), "(")
	s, ok2 := strings.CutSuffix(s, ")")
	if !ok || !ok2 {
		return nil
	}
	var dims []uint64
	for part := range strings.SplitSeq(s, ",") {
		d, err := strconv.ParseUint(strings.TrimSpace(part), 10, 48)
		if err != nil || len(dims) == maxAxes {
			return nil
		}
		dims = append(dims, d)
	}
	return dims
}

// product returns the product of lengths, or 2^64-1 if it is out of range.
func product(list []uint64) uint64 {
	p := uint64(1)
	for _, n := range list {
		if n > 0 && p > math.MaxInt64/n {
			return math.MaxUint64
		}
		p *= n
	}
	return p
}

func reversed(list []uint64) []uint64 {
	out := make([]uint64, len(list))
	for i, n := range list {
		out[len(list)-1-i] = n
	}
	return out
}

func (b *builder) addTable(u *hdu, name string) {
	g := &readers.Group{Name: name, Path: "/" + name, Attributes: u.attributes()}
	read := u.fields
	if u.kind == asciiTable {
		read = u.asciiFields
	}
	fields, err := read()
	if err != nil {
		b.addProblem(g.Path, b.locate(err))
		return
	}
	b.out.Root.Groups = append(b.out.Root.Groups, g)
	rows := anonymous(g.Path, "rows", u.axes[1])
	g.Dimensions = append(g.Dimensions, rows)
	for _, f := range fields {
		g.Variables = append(g.Variables, b.column(u, g, rows, f))
	}
	b.checkSize(u, g.Path)
}

func (b *builder) column(u *hdu, g *readers.Group, rows *readers.Dimension, f field) *readers.Variable {
	v := &readers.Variable{
		Name: f.name, Path: g.Path + "/" + f.name,
		Dims:    []*readers.Dimension{rows},
		Shape:   append([]uint64{rows.Length}, f.shape...),
		Type:    f.typ,
		Storage: plainStorage(f.typ),
	}
	v.MaxShape = v.Shape
	for i, n := range f.shape {
		dim := anonymous(g.Path, fmt.Sprintf("%s_dim%d", f.name, i), n)
		v.Dims = append(v.Dims, dim)
		g.Dimensions = append(g.Dimensions, dim)
	}
	for _, keyword := range columnKeywords {
		if c := u.lookup(column(keyword, f.number)); c != nil && keyword != "TTYPE" {
			v.Attributes = append(v.Attributes, c.attribute(keyword))
		}
	}
	cards := scaling{
		u.lookup(column("TSCAL", f.number)), u.lookup(column("TZERO", f.number)),
		u.lookup(column("TNULL", f.number)), u.lookup(column("TUNIT", f.number)),
	}
	v.Attributes = addAttributes(addAttributes(v.Attributes, cards.attributes(f.typ)), f.fillAttribute())
	s := &v.Storage
	s.Layout, s.Offset, s.Stride = readers.Records, u.end+int64(f.offset), int64(u.axes[0])
	s.Bytes = f.size * rows.Length
	if f.isVarying {
		s.Undecodable = unsupported("column of varying length (%s = %q)", column("TFORM", f.number), u.string(column("TFORM", f.number)))
	}
	if s.IsDecimal = f.decimal != nil; s.IsDecimal {
		b.setDecimalReader(v, f)
		return v
	}
	b.setReader(v, rows.Length)
	return v
}
