package netcdf3

import (
	"context"
	"math"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// Versions of the format, which follow "CDF" in the magic number.
const (
	classic  = 1
	offset64 = 2
	data64   = 5
)

const (
	tagDimensions = 10
	tagVariables  = 11
	tagAttributes = 12
)

// Header is a header as stored.
type Header struct {
	Version    int    // 1, 2 or 5
	Streaming  bool   // the number of records is not stored
	NumRecs    uint64 // as stored
	Dims       []Dim
	Attributes []readers.Attribute
	Vars       []Var
	Size       int64 // size of the header in bytes

	// Err is the damage that ended the list of variables; Vars holds those before it.
	Err error
}

// Dim is a dimension.
type Dim struct {
	Name   string
	Length uint64 // 0 for the record dimension
}

// Var is a variable as stored.
type Var struct {
	Name       string
	DimIDs     []uint64
	Attributes []readers.Attribute
	TypeCode   uint32 // 1 to 11
	Type       *readers.Type
	VSize      uint64 // ignored; see the package comment
	Begin      uint64
}

// types holds the element types by number.
var types = [...]*readers.Type{
	1:  readers.Int(1, readers.BigEndian, true),
	2:  {Class: readers.String, Size: 1, Padding: readers.NullPadded, UTF8: true},
	3:  readers.Int(2, readers.BigEndian, true),
	4:  readers.Int(4, readers.BigEndian, true),
	5:  readers.IEEEFloat(4, readers.BigEndian),
	6:  readers.IEEEFloat(8, readers.BigEndian),
	7:  readers.Int(1, readers.BigEndian, false),
	8:  readers.Int(2, readers.BigEndian, false),
	9:  readers.Int(4, readers.BigEndian, false),
	10: readers.Int(8, readers.BigEndian, true),
	11: readers.Int(8, readers.BigEndian, false),
}

// version returns the version in the first four bytes of a file, or 0.
func version(magic []byte) int {
	if len(magic) < 4 || string(magic[:3]) != "CDF" {
		return 0
	}
	switch v := int(magic[3]); v {
	case classic, offset64, data64:
		return v
	}
	return 0
}

// parser decodes a header.
type parser struct {
	cursor
	version    int    // of the format: 1, 2 or 5
	attributes uint64 // attributes that may still be read
	dimIDs     uint64 // dimension ids that may still be read
}

// readHeader reads the header of a source. Damage to the dimensions or the global attributes is an
// error; later damage is Header.Err.
func readHeader(ctx context.Context, src *source.Source) (*Header, error) {
	p := parser{cursor: cursor{ctx: ctx, src: src}, attributes: maxAttributes, dimIDs: maxDimIDs}
	p.version = version(p.take(4, "magic number"))
	if p.err == nil && p.version == 0 {
		p.fail(0, readers.Corruptf("not a classic netCDF file: it does not start with CDF and 1, 2 or 5"))
	}
	p.isWide = p.version == data64
	h := &Header{Version: p.version}
	h.NumRecs = p.number("number of records")
	// CDF-5 writes 64 ones, the others 32.
	h.Streaming = h.NumRecs == math.MaxUint64 || !p.isWide && h.NumRecs == math.MaxUint32
	h.Dims = p.dimensions()
	h.Attributes = p.attributeList("file")
	n := p.list(tagVariables, 1, maxVars, "variables") // size 1: list the variables before the end of a truncated header
	if p.err != nil {
		return nil, p.err
	}
	for range n {
		v := p.variable()
		if p.err != nil {
			break
		}
		h.Vars = append(h.Vars, v)
	}
	h.Size, h.Err = p.at, p.err
	return h, ctx.Err()
}

func (p *parser) dimensions() []Dim {
	n := p.list(tagDimensions, 2*p.width(), maxDims, "dimensions")
	var dims []Dim
	for range n {
		d := Dim{Name: p.name("dimension")}
		d.Length = p.number("length of a dimension")
		if p.err != nil {
			return nil
		}
		dims = append(dims, d)
	}
	return dims
}

func (p *parser) attributeList(of string) []readers.Attribute {
	n := p.list(tagAttributes, 2*p.width()+4, p.attributes, "attributes of "+of)
	p.attributes -= n
	var list []readers.Attribute
	for range n {
		a := p.attribute()
		if p.err != nil {
			return nil
		}
		list = append(list, a)
	}
	return list
}

func (p *parser) attribute() readers.Attribute {
	a := readers.Attribute{Name: p.name("attribute")}
	_, t := p.elementType()
	if t == nil {
		return a
	}
	n := p.count(uint64(t.Size), math.MaxUint64, "values")
	stored := p.padded(n*uint64(t.Size), "values of an attribute")
	if p.err == nil {
		a.Value = value(t, n, stored)
	}
	return a
}

// value returns n stored elements in memory form. Characters become one string.
func value(t *readers.Type, n uint64, stored []byte) readers.Value {
	data := append([]byte(nil), stored...)
	if t.Class == readers.String {
		text := &readers.Type{Class: readers.String, Size: max(int(n), 1), Padding: readers.NullPadded, UTF8: true}
		return readers.Value{Type: text, Data: data, Texts: [][]byte{trimNULs(data)}}
	}
	swap(t, data)
	return readers.Value{Type: t, Shape: []uint64{n}, Data: data}
}

func trimNULs(text []byte) []byte {
	for len(text) > 0 && text[len(text)-1] == 0 {
		text = text[:len(text)-1]
	}
	return text
}

func (p *parser) elementType() (uint32, *readers.Type) {
	at := p.at
	code := p.uint32("type")
	if p.err != nil {
		return 0, nil
	}
	if code == 0 || int64(code) >= int64(len(types)) {
		p.fail(at, readers.Corruptf("type is %d (want 1 to %d)", code, len(types)-1))
		return 0, nil
	}
	return code, types[code]
}

func (p *parser) variable() Var {
	v := Var{Name: p.name("variable")}
	rank := p.count(p.width(), min(maxRank, p.dimIDs), "dimensions of a variable")
	p.dimIDs -= rank
	for range rank {
		v.DimIDs = append(v.DimIDs, p.number("dimension id"))
	}
	v.Attributes = p.attributeList("variable")
	v.TypeCode, v.Type = p.elementType()
	v.VSize = p.number("size of a variable")
	if p.version == classic {
		v.Begin = uint64(p.uint32("offset of a variable"))
	} else {
		v.Begin = p.uint64("offset of a variable")
	}
	return v
}

// CleanName returns a name as netcdf-c shows it: cut at its first NUL.
func CleanName(stored string) string {
	name, _, _ := strings.Cut(stored, "\x00")
	return name
}
