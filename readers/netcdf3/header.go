package netcdf3

import (
	"context"
	"math"
	"strings"

	"varve/readers"
	"varve/readers/source"
)

// Magic numbers are "CDF" and one of these.
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

// Header is the header of a file as it is stored.
type Header struct {
	Version    int    // 1, 2 or 5
	Streaming  bool   // the number of records is not stored
	NumRecs    uint64 // as stored
	Dims       []Dim
	Attributes []readers.Attribute
	Vars       []Var
	Size       int64 // of the header in bytes

	// Err says where the list of variables stopped making sense; those before are there.
	Err error
}

// Dim is a dimension.
type Dim struct {
	Name   string
	Length uint64 // 0 for the record dimension
}

// Var is a variable as it is stored.
type Var struct {
	Name       string
	DimIDs     []uint64
	Attributes []readers.Attribute
	TypeCode   uint32 // 1 to 11
	Type       *readers.Type
	VSize      uint64 // not to be trusted
	Begin      uint64
}

// types holds the element types by their number, from 1 on.
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

// version returns the version that the first four bytes of a file tell, or 0.
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

// parser reads a header.
type parser struct {
	cursor
	version    int
	attributes uint64 // how many more there may be
	dimIDs     uint64 // how many more there may be
}

// readHeader reads the header of a source. A header whose dimensions or global attributes
// are damaged is an error; damage further on is Header.Err.
func readHeader(ctx context.Context, src *source.Source) (*Header, error) {
	p := parser{cursor: cursor{ctx: ctx, src: src}, attributes: maxAttributes, dimIDs: maxDimIDs}
	p.version = version(p.take(4, "the magic number"))
	if p.err == nil && p.version == 0 {
		p.fail(0, readers.Corruptf("not a classic netCDF file: it does not begin with CDF and 1, 2 or 5"))
	}
	p.wide = p.version == data64
	h := &Header{Version: p.version}
	h.NumRecs = p.number("the number of records")
	h.Streaming = h.NumRecs == math.MaxUint64 || !p.wide && h.NumRecs == math.MaxUint32
	h.Dims = p.dimensions()
	h.Attributes = p.attributeList("the file")
	n := p.list(tagVariables, 1, maxVars, "variables") // those before the end of a cut header are wanted
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
		d := Dim{Name: p.name("a dimension")}
		d.Length = p.number("the length of a dimension")
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
	a := readers.Attribute{Name: p.name("an attribute")}
	_, t := p.elementType()
	if t == nil {
		return a
	}
	n := p.count(uint64(t.Size), math.MaxUint64, "values")
	stored := p.padded(n*uint64(t.Size), "the values of an attribute")
	if p.err == nil {
		a.Value = value(t, n, stored)
	}
	return a
}

// value returns n stored elements in memory form. Characters are one text.
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
	code := p.uint32("a type")
	if p.err != nil {
		return 0, nil
	}
	if code == 0 || int64(code) >= int64(len(types)) {
		p.fail(at, readers.Corruptf("type %d is not from 1 to %d", code, len(types)-1))
		return 0, nil
	}
	return code, types[code]
}

func (p *parser) variable() Var {
	v := Var{Name: p.name("a variable")}
	rank := p.count(p.width(), min(maxRank, p.dimIDs), "dimensions of a variable")
	p.dimIDs -= rank
	for range rank {
		v.DimIDs = append(v.DimIDs, p.number("a dimension's number"))
	}
	v.Attributes = p.attributeList("a variable")
	v.TypeCode, v.Type = p.elementType()
	v.VSize = p.number("the size of a variable")
	if p.version == classic {
		v.Begin = uint64(p.uint32("the offset of a variable"))
	} else {
		v.Begin = p.uint64("the offset of a variable")
	}
	return v
}

// CleanName is a name as netcdf-c gives it: it ends at a NUL.
func CleanName(stored string) string {
	name, _, _ := strings.Cut(stored, "\x00")
	return name
}
