package fits

import (
	"encoding/binary"
	"math"
	"strings"

	"varve/readers"
)

// The types of keywords, in memory form.
var (
	int64Type   = readers.Int(8, readers.LittleEndian, true)
	uint64Type  = readers.Int(8, readers.LittleEndian, false)
	realType    = readers.IEEEFloat(8, readers.LittleEndian)
	complexType = &readers.Type{Class: readers.Complex, Size: 16, Base: realType}
	logicalType = &readers.Type{Class: readers.Enum, Size: 1, Base: readers.Int(1, readers.LittleEndian, true),
		Choices: []readers.Choice{{Name: "FALSE", Value: []byte{0}}, {Name: "TRUE", Value: []byte{1}}}}
)

// structural are keywords that only say how the data lie.
var structural = map[string]bool{
	"SIMPLE": true, "XTENSION": true, "BITPIX": true, "NAXIS": true, "EXTEND": true, "PCOUNT": true, "GCOUNT": true,
	"GROUPS": true, "TFIELDS": true, "THEAP": true, "CONTINUE": true,
}

// ofColumns are keywords of columns, which a number follows (section 7.3).
var ofColumns = []string{"TTYPE", "TFORM", "TUNIT", "TNULL", "TSCAL", "TZERO", "TDISP", "TDIM", "TBCOL", "TCOMM", "TUCD", "TLMIN", "TLMAX", "TDMIN", "TDMAX"}

// ofCompression are keywords of compressed images (section 10.1.1), and ofTiles those that a number
// follows.
var (
	ofCompression = map[string]bool{
		"ZIMAGE": true, "ZCMPTYPE": true, "ZBITPIX": true, "ZNAXIS": true, "ZQUANTIZ": true, "ZDITHER0": true, "ZBLANK": true,
		"ZSCALE": true, "ZZERO": true, "ZSIMPLE": true, "ZTENSION": true, "ZEXTEND": true, "ZBLOCKED": true, "ZPCOUNT": true,
		"ZGCOUNT": true, "CHECKSUM": true, "DATASUM": true,
	}
	ofTiles = map[string]bool{"ZNAXIS": true, "ZTILE": true, "ZNAME": true, "ZVAL": true}
)

// isStructural reports whether a keyword of an HDU is no attribute of it.
func (u *hdu) isStructural(keyword string) bool {
	if structural[keyword] || u.kind == tiled && ofCompression[keyword] {
		return true
	}
	prefix := strings.TrimRight(keyword, "0123456789")
	if prefix == keyword {
		return false
	}
	if prefix == "NAXIS" || u.kind == tiled && ofTiles[prefix] {
		return true
	}
	for _, c := range ofColumns {
		if u.hasColumns() && prefix == c {
			return true
		}
	}
	return false
}

func (u *hdu) hasColumns() bool { return u.kind == table || u.kind == ascii || u.kind == tiled }

// attributes returns the keywords of an HDU that are no business of this package. Of a
// keyword that stands there twice the first counts; commentary is joined.
func (u *hdu) attributes() []readers.Attribute {
	var out []readers.Attribute
	comments := map[string][]string{}
	var order []string
	for i, c := range u.cards {
		switch {
		case u.isStructural(c.keyword):
		case c.kind == noValue:
			name := c.keyword
			if name == "" {
				name = "COMMENT"
			}
			if comments[name] == nil {
				order = append(order, name)
			}
			comments[name] = append(comments[name], c.text)
		case u.index[c.keyword] == i:
			out = append(out, c.attribute(u.ofImage(c.keyword)))
		}
	}
	for _, name := range order {
		if _, taken := u.index[name]; !taken {
			out = append(out, textAttribute(name, strings.Join(comments[name], "\n")))
		}
	}
	return out
}

// ofImage is what a keyword is in the image as it was before it was compressed.
func (u *hdu) ofImage(keyword string) string {
	switch {
	case u.kind == tiled && keyword == "ZHECKSUM":
		return "CHECKSUM"
	case u.kind == tiled && keyword == "ZDATASUM":
		return "DATASUM"
	}
	return keyword
}

// attribute is a card as an attribute of the given name.
func (c *card) attribute(name string) readers.Attribute {
	switch c.kind {
	case undefined:
		a := textAttribute(name, "")
		a.Value = readers.Value{Type: a.Type, Null: true}
		return a
	case text:
		return textAttribute(name, c.text)
	case logical:
		value := byte(0)
		if c.truth {
			value = 1
		}
		return readers.Attribute{Name: name, Value: readers.Value{Type: logicalType, Data: []byte{value}}}
	case integer:
		t := uint64Type
		if c.signed {
			t = int64Type
		}
		return readers.Attribute{Name: name, Value: readers.Value{Type: t, Data: binary.LittleEndian.AppendUint64(nil, c.bits)}}
	case real:
		return realAttribute(name, c.real)
	case complexNumber:
		data := binary.LittleEndian.AppendUint64(nil, math.Float64bits(c.real))
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(c.imag))
		return readers.Attribute{Name: name, Value: readers.Value{Type: complexType, Data: data}}
	}
	a := textAttribute(name, c.text)
	a.Value = readers.Value{Type: a.Type}
	a.Err = unsupported("%q is no value that FITS has", c.text)
	return a
}

func textAttribute(name, s string) readers.Attribute {
	t := &readers.Type{Class: readers.String, Size: max(len(s), 1), Padding: readers.SpacePadded}
	return readers.Attribute{Name: name, Value: readers.Value{Type: t, Texts: [][]byte{[]byte(s)}}}
}

func realAttribute(name string, v float64) readers.Attribute {
	data := binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
	return readers.Attribute{Name: name, Value: readers.Value{Type: realType, Data: data}}
}

// number is the value of a card that is a number.
func (c *card) number() (float64, bool) {
	switch {
	case c == nil:
		return 0, false
	case c.kind == integer && c.signed:
		return float64(int64(c.bits)), true
	case c.kind == integer:
		return float64(c.bits), true
	}
	return c.real, c.kind == real
}

// scaling is the cards that say how values follow from elements: BSCALE or TSCALn and so
// on.
type scaling struct{ scale, zero, blank, unit *card }

// attributes spells scaling as netCDF does, for elements of type t.
func (s scaling) attributes(t *readers.Type) []readers.Attribute {
	var out []readers.Attribute
	scale, scaled := s.scale.number()
	zero, moved := s.zero.number()
	if scaled && scale != 1 {
		out = append(out, realAttribute("scale_factor", scale))
	}
	if moved && zero != 0 {
		out = append(out, realAttribute("add_offset", zero))
	}
	if t.Class == readers.Integer && (!scaled || scale == 1) {
		if name := flipped(t, zero); name != "" {
			out = append(out, textAttribute("fits_dtype", name))
		}
	}
	if t.Class == readers.Integer && s.blank != nil && s.blank.isOf(t) {
		little := *t
		little.Order = readers.LittleEndian
		data := binary.LittleEndian.AppendUint64(nil, s.blank.bits)[:t.Size]
		out = append(out, readers.Attribute{Name: "_FillValue", Value: readers.Value{Type: &little, Data: data}})
	}
	if s.unit != nil && s.unit.kind == text && s.unit.text != "" {
		out = append(out, textAttribute("units", s.unit.text))
	}
	return out
}

// isOf reports whether a card is a number that elements of an integer type can be. No element
// is equal to another, so that nothing is missing.
func (c *card) isOf(t *readers.Type) bool {
	n := int64(c.bits)
	if c.kind != integer || !c.signed {
		return false
	}
	if !t.Signed {
		return n >= 0 && n>>(8*t.Size) == 0
	}
	n >>= 8*t.Size - 1
	return n == 0 || n == -1
}

// flipped names the type that an offset of half the range gives (tables 11 and 19), or "".
func flipped(t *readers.Type, zero float64) string {
	switch {
	case t.Size == 1 && zero == -128:
		return "int8"
	case t.Size == 2 && zero == 1<<15:
		return "uint16"
	case t.Size == 4 && zero == 1<<31:
		return "uint32"
	case t.Size == 8 && zero == 1<<63:
		return "uint64"
	}
	return ""
}
