package zarrjson

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"varve/codec"
)

// V2DataType is an element type in the spelling of a format 2 document, which is NumPy's:
// "<i4", "|S3", ">M8[ns]", "|O", or a list of names and types. It includes the byte
// order. The zero value is no type.
type V2DataType struct {
	DataType        // the type in format 3
	docJSON  []byte // compact JSON
	orders   orders
	big      []swap
}

// ByteOrder is the order of the bytes in the words of an element.
type ByteOrder uint8

// The byte orders of a type.
const (
	NoOrder ByteOrder = iota // no words of more than one byte
	LittleEndian
	BigEndian
	MixedOrder // fields of a struct differ, which format 3 cannot express
)

// orders records which byte orders occur.
type orders struct{ little, big bool }

// swap is a sequence of big-endian words in an element.
type swap struct{ offset, width, count int }

// JSON returns the type in the spelling of the document, without white space. The caller
// must not change it.
func (d V2DataType) JSON() []byte { return d.docJSON }

// Order returns the byte order of the stored elements.
func (d V2DataType) Order() ByteOrder {
	switch {
	case d.orders.little && d.orders.big:
		return MixedOrder
	case d.orders.big:
		return BigEndian
	case d.orders.little:
		return LittleEndian
	}
	return NoOrder
}

// ParseV2DataType parses a type of elements of a fixed size in the spelling of format 2.
func ParseV2DataType(json []byte) (V2DataType, error) {
	v, err := parseValue(json)
	if err != nil {
		return V2DataType{}, err
	}
	v.path = "dtype"
	return readV2DataType(v, "")
}

// readV2DataType reads the field dtype. objectCodec is the id of the filter that defines
// the elements of the type "|O".
func readV2DataType(v value, objectCodec string) (V2DataType, error) {
	d := V2DataType{docJSON: compactJSON(v.raw)}
	t, err := d.read(v, objectCodec)
	if err != nil {
		return V2DataType{}, err
	}
	if t.Size > maxElement {
		return V2DataType{}, unsupportedError(v.path, "elements of %d bytes; varve reads up to %d", t.Size, maxElement)
	}
	d.DataType, err = DataTypeOf(t)
	return d, atPath(v.path, err)
}

func (d *V2DataType) read(v value, objectCodec string) (codec.Type, error) {
	if v.startsWith('[') {
		return d.readFields(v, 0)
	}
	if string(v.raw) == `"|O"` {
		return readObjectType(v, objectCodec)
	}
	return d.readName(v, 0)
}

func readObjectType(v value, objectCodec string) (codec.Type, error) {
	switch objectCodec {
	case "vlen-utf8":
		return codec.Type{Kind: codec.String}, nil
	case "vlen-bytes":
		return codec.Type{Kind: codec.Bytes}, nil
	case "":
		return codec.Type{}, corruptError(v.path, `"|O" needs a filter such as "vlen-utf8" or "vlen-bytes"`)
	}
	return codec.Type{}, unsupportedError(v.path, `"|O" with the filter %q; varve reads "vlen-utf8" and "vlen-bytes"`, objectCodec)
}

// readFields reads a structured type. Offset is the position of its first field in the
// whole element.
func (d *V2DataType) readFields(v value, offset int) (codec.Type, error) {
	list, err := v.readList("a list of fields")
	if err != nil {
		return codec.Type{}, err
	}
	if len(list) == 0 {
		return codec.Type{}, v.refuse("a list of at least one field")
	}
	t := codec.Type{Kind: codec.Struct}
	var names nameSet
	for _, e := range list {
		f, err := d.readField(e, offset+t.Size)
		if err != nil {
			return codec.Type{}, err
		}
		if !names.add(f.Name) {
			return codec.Type{}, corruptError(e.path, "the field name %q occurs twice", abbreviate(f.Name))
		}
		t.Fields = append(t.Fields, f)
		t.Size += f.Type.Size
	}
	return t, nil
}

func (d *V2DataType) readField(v value, offset int) (f codec.Field, err error) {
	pair, err := v.readList("a list of name and type")
	if err != nil {
		return f, err
	}
	if len(pair) == 3 {
		return f, unsupportedError(v.path, "%s: a field that is an array, which format 3 does not have", abbreviate(v.raw))
	}
	if len(pair) != 2 {
		return f, v.refuse("a list of name and type")
	}
	if f.Name, err = pair[0].readText(); err != nil {
		return f, err
	}
	if pair[1].startsWith('[') {
		f.Type, err = d.readFields(pair[1], offset)
	} else {
		f.Type, err = d.readName(pair[1], offset)
	}
	return f, err
}

const v2TypeForm = `a type such as "<f4", ">i8", "|b1", "|S10", "<U5", "<M8[ns]"`

// readName reads a type that is a string: byte order, kind, and size in NumPy's units.
func (d *V2DataType) readName(v value, offset int) (codec.Type, error) {
	text, err := v.readText()
	if err != nil {
		return codec.Type{}, err
	}
	if len(text) < 3 || !strings.Contains("<>|", text[:1]) {
		return codec.Type{}, v.refuse(v2TypeForm)
	}
	digits, unit, _ := strings.Cut(text[2:], "[")
	n, rest, ok := parseCoordinate(digits)
	if !ok || rest != "" || n == 0 || n > maxElement {
		return codec.Type{}, v.refuse(v2TypeForm)
	}
	t, ok := typeOfV2Kind(text[1], int(n), unit)
	if !ok || !validV2Unit(t, text[2:], unit) {
		return codec.Type{}, v.refuse(v2TypeForm)
	}
	if word := wordSize(t); word > 1 {
		// NumPy writes "|" only for types without words of more than one byte.
		if text[0] == '|' {
			return codec.Type{}, corruptError(v.path, "%s lacks a byte order: < or >", abbreviate(v.raw))
		}
		d.orders.little = d.orders.little || text[0] == '<'
		if text[0] == '>' {
			d.orders.big = true
			d.big = append(d.big, swap{offset, word, t.Size / word})
		}
	}
	return t, nil
}

var v2Kinds = map[byte]codec.Kind{
	'b': codec.Bool, 'i': codec.Int, 'u': codec.Uint, 'f': codec.Float, 'c': codec.Complex,
	'S': codec.FixedBytes, 'U': codec.FixedUTF32, 'V': codec.Raw, 'M': codec.DateTime, 'm': codec.TimeDelta,
}

func typeOfV2Kind(letter byte, size int, unit string) (codec.Type, bool) {
	t := codec.Type{Kind: v2Kinds[letter], Size: size}
	switch t.Kind {
	case 0:
		return t, false
	case codec.FixedUTF32:
		t.Size *= 4
	case codec.FixedBytes, codec.Raw:
	case codec.DateTime, codec.TimeDelta:
		t.Unit, t.Ticks = parseV2Unit(unit)
		return t, size == 8 && t.Unit != ""
	default:
		w := &writer{}
		return t, writePlain(w, t) == nil
	}
	return t, true
}

// parseV2Unit parses the unit after the opening bracket: "ns]", "10s]", or nothing.
func parseV2Unit(text string) (string, int) {
	if text == "" {
		return "generic", 1
	}
	text = strings.TrimSuffix(text, "]")
	ticks, name, counted := parseCoordinate(text)
	if !counted {
		ticks, name = 1, text
	}
	if ticks < 1 || ticks > math.MaxInt32 {
		return "", 0
	}
	return timeUnits[name], int(ticks)
}

// validV2Unit reports whether a type has brackets exactly where they belong.
func validV2Unit(t codec.Type, text, unit string) bool {
	if t.Kind != codec.DateTime && t.Kind != codec.TimeDelta {
		return !strings.Contains(text, "[")
	}
	return unit == "" && !strings.Contains(text, "[") || strings.HasSuffix(unit, "]")
}

// wordSize returns the width of the words that a change of byte order reverses.
func wordSize(t codec.Type) int {
	switch t.Kind {
	case codec.Int, codec.Uint, codec.Float, codec.DateTime, codec.TimeDelta:
		return t.Size
	case codec.Complex:
		return t.Size / 2
	case codec.FixedUTF32:
		return 4
	}
	return 1
}

// swapWords returns an element with its big-endian words reversed: it converts the memory
// form to the stored form, or back.
func (d V2DataType) swapWords(element []byte) []byte {
	out := bytes.Clone(element)
	for _, s := range d.big {
		for i := range s.count {
			word := out[s.offset+i*s.width:][:s.width]
			for a, b := 0, s.width-1; a < b; a, b = a+1, b-1 {
				word[a], word[b] = word[b], word[a]
			}
		}
	}
	return out
}

// V2DataTypeOf returns a type in the spelling of format 2, stored in one byte order. Text
// and bytes of varying length are "|O", which also needs a filter.
func V2DataTypeOf(t codec.Type, order ByteOrder) (V2DataType, error) {
	sign := byte('<')
	if order == BigEndian {
		sign = '>'
	}
	var objectCodec string
	spelled, err := encode(Compact, func(w *writer) error {
		objectCodec = writeV2Type(w, t, sign)
		return nil
	})
	if err != nil {
		return V2DataType{}, atPath("dtype", err)
	}
	return readV2DataType(value{raw: spelled, path: "dtype"}, objectCodec)
}

// writeV2Type writes a type and returns the id of the filter that it needs.
func writeV2Type(w *writer, t codec.Type, sign byte) (objectCodec string) {
	switch t.Kind {
	case codec.String:
		w.text("|O")
		return "vlen-utf8"
	case codec.Bytes:
		w.text("|O")
		return "vlen-bytes"
	case codec.Struct:
		w.begin('[')
		for _, f := range t.Fields {
			w.next()
			w.begin('[')
			w.next()
			w.text(f.Name)
			w.next()
			writeV2Type(w, f.Type, sign)
			w.end(']')
		}
		w.end(']')
	default:
		w.text(v2Name(t, sign))
	}
	return ""
}

func v2Name(t codec.Type, sign byte) string {
	if wordSize(t) == 1 {
		sign = '|'
	}
	size, unit := t.Size, ""
	switch t.Kind {
	case codec.FixedUTF32:
		size /= 4
	case codec.DateTime, codec.TimeDelta:
		if t.Unit != "generic" {
			unit = "[" + t.Unit + "]"
			if t.Ticks != 1 {
				unit = "[" + strconv.Itoa(t.Ticks) + t.Unit + "]"
			}
		}
	}
	letter := byte('?')
	for l, kind := range v2Kinds {
		if kind == t.Kind {
			letter = l
		}
	}
	return string([]byte{sign, letter}) + strconv.Itoa(size) + unit
}

// readV2Fill reads a fill value. It returns nil for null, which means no fill value.
func (d V2DataType) readV2Fill(v value) ([]byte, error) {
	if v.isNull() {
		return nil, nil
	}
	// Only a struct's fill value is base64 of the stored bytes, in their byte order.
	if d.typ.Kind != codec.Struct {
		return d.readFill(v)
	}
	stored, err := readRawFill(nil, v, d.typ.Size)
	if err != nil {
		return nil, err
	}
	return d.swapWords(stored), nil
}

// writeV2Fill writes a fill value. Format 2 has one NaN: the payload of another is lost.
func (d V2DataType) writeV2Fill(w *writer, fill []byte) error {
	switch {
	case fill == nil:
		w.verbatim([]byte("null"))
		return nil
	case d.typ.Varies():
		return d.writeFill(w, fill)
	case len(fill) != d.typ.Size:
		return corruptError("", "%d bytes; an element of %s has %d", len(fill), d.typ, d.typ.Size)
	}
	switch d.typ.Kind {
	case codec.Struct:
		w.base64(d.swapWords(fill))
		return nil
	case codec.Float, codec.Complex:
		fill = canonicalizeNaN(fill, wordSize(d.typ))
	}
	return d.writeFixed(w, fill)
}

// canonicalizeNaN replaces every NaN among floats of a size by the one that "NaN" means.
func canonicalizeNaN(fill []byte, size int) []byte {
	s := specialFloats[size]
	var out []byte
	for ; len(fill) > 0; fill = fill[size:] {
		bits := word(fill[:size])
		if bits&s.inf == s.inf && bits&(s.inf|1<<(8*size-1)) != bits {
			bits = s.nan
		}
		out = appendWord(out, bits, size)
	}
	return out
}
