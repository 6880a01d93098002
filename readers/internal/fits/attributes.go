package fits

import (
	"encoding/binary"
	"math"
	"strings"

	"varve/readers"
)

// The types of keyword values in memory form.
var (
	int64Type   = readers.Int(8, readers.LittleEndian, true)
	uint64Type  = readers.Int(8, readers.LittleEndian, false)
	realType    = readers.IEEEFloat(8, readers.LittleEndian)
	complexType = &readers.Type{Class: readers.Complex, Size: 16, Base: realType}
	logicalType = &readers.Type{Class: readers.Enum, Size: 1, Base: readers.Int(1, readers.LittleEndian, true),
		Choices: []readers.Choice{{Name: "FALSE", Value: []byte{0}}, {Name: "TRUE", Value: []byte{1}}}}
)

// structuralKeywords contains keywords that describe only the structure of the data.
var structuralKeywords = map[string]bool{
	"SIMPLE": true, "XTENSION": true, "BITPIX": true, "NAXIS": true, "EXTEND": true, "PCOUNT": true, "GCOUNT": true,
	"GROUPS": true, "TFIELDS": true, "THEAP": true, "CONTINUE": true,
}

// columnKeywords lists keywords of columns, which end with a column number (section 7.3).
var columnKeywords = []string{"TTYPE", "TFORM", "TUNIT", "TNULL", "TSCAL", "TZERO", "TDISP", "TDIM", "TBCOL", "TCOMM", "TUCD", "TLMIN", "TLMAX", "TDMIN", "TDMAX"}

// compressionKeywords contains keywords of compressed images (section 10.1.1). tileKeywords contains
// the ones that end with a number.
var (
	compressionKeywords = map[string]bool{
		"ZIMAGE": true, "ZCMPTYPE": true, "ZBITPIX": true, "ZNAXIS": true, "ZQUANTIZ": true, "ZDITHER0": true, "ZBLANK": true,
		"ZSCALE": true, "ZZERO": true, "ZSIMPLE": true, "ZTENSION": true, "ZEXTEND": true, "ZBLOCKED": true, "ZPCOUNT": true,
		"ZGCOUNT": true, "CHECKSUM": true, "DATASUM": true,
	}
	tileKeywords = map[string]bool{"ZNAXIS": true, "ZTILE": true, "ZNAME": true, "ZVAL": true}
)

// isStructural reports whether a keyword of an HDU does not become an attribute.
func (u *hdu) isStructural(keyword string) bool {
	if structuralKeywords[keyword] || u.kind == compressedImage && compressionKeywords[keyword] {
		return true
	}
	prefix := strings.TrimRight(keyword, "0123456789")
	if prefix == keyword {
		return false
	}
	if prefix == "NAXIS" || u.kind == compressedImage && tileKeywords[prefix] {
		return true
	}
	for _, c := range columnKeywords {
		if u.hasColumns() && prefix == c {
			return true
		}
	}
	return false
}

func (u *hdu) hasColumns() bool {
	return u.kind == binaryTable || u.kind == asciiTable || u.kind == compressedImage
}

// attributes returns the keywords of an HDU as attributes, without structural ones. The first of
// two equal keywords counts. Commentary cards with the same keyword are joined.
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
			out = append(out, c.attribute(u.originalKeyword(c.keyword)))
		}
	}
	for _, name := range order {
		// A keyword with a value takes precedence over commentary of the same name.
		if _, taken := u.index[name]; !taken {
			out = append(out, textAttribute(name, strings.Join(comments[name], "\n")))
		}
	}
	return out
}

// originalKeyword returns a keyword's name in the image before it was compressed.
func (u *hdu) originalKeyword(keyword string) string {
	switch {
	case u.kind == compressedImage && keyword == "ZHECKSUM":
		return "CHECKSUM"
	case u.kind == compressedImage && keyword == "ZDATASUM":
		return "DATASUM"
	}
	return keyword
}

// attribute returns a card as an attribute with the given name.
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
		if c.isSigned {
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
	a.Err = unsupported("%q is not a FITS value", c.text)
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

// number returns the value of a card that is a number.
func (c *card) number() (float64, bool) {
	switch {
	case c == nil:
		return 0, false
	case c.kind == integer && c.isSigned:
		return float64(int64(c.bits)), true
	case c.kind == integer:
		return float64(c.bits), true
	}
	return c.real, c.kind == real
}

// scaling holds the keywords that relate values to stored elements: BSCALE or TSCALn and so on.
type scaling struct{ scale, zero, blank, unit *card }

// attributes returns scaling as netCDF attributes, for elements of type t.
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
	// An offset of half the range only changes the sign bit: the values are integers of another
	// type.
	if t.Class == readers.Integer && (!scaled || scale == 1) {
		if name := typeOfOffset(t, zero); name != "" {
			out = append(out, textAttribute("fits_dtype", name))
		}
	}
	if t.Class == readers.Integer && s.blank != nil && s.blank.isOf(t) {
		// Attributes are in memory form, so the byte order of the data does not apply.
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

// isOf reports whether a card is a number in the range of an integer type. A fill value outside the
// range equals no element, so no element is missing.
func (c *card) isOf(t *readers.Type) bool {
	n := int64(c.bits)
	if c.kind != integer || !c.isSigned {
		return false
	}
	if !t.Signed {
		return n >= 0 && n>>(8*t.Size) == 0
	}
	n >>= 8*t.Size - 1
	return n == 0 || n == -1
}

// typeOfOffset returns the type that results from an offset of half the range (tables 11 and 19), or "".
func typeOfOffset(t *readers.Type, zero float64) string {
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
