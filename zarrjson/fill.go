package zarrjson

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/codec"
)

// ParseFill reads a fill value of a type into the memory form of one element: packed,
// little-endian, padded; text and bytes of varying length as they are.
func (d DataType) ParseFill(json []byte) ([]byte, error) {
	v, err := document(json)
	if err != nil {
		return nil, at("fill_value", err)
	}
	v.path = "fill_value"
	return d.fill(v)
}

func (d DataType) fill(v value) ([]byte, error) {
	dst := make([]byte, 0, d.typ.Size)
	switch d.typ.Kind {
	case codec.Struct:
		return d.structFill(dst, v)
	case codec.Raw:
		return rawFill(dst, v, d.typ.Size)
	case codec.FixedBytes:
		return fixedBytesFill(dst, v, d.typ.Size)
	case codec.FixedUTF32:
		return utf32Fill(dst, v, d.typ.Size)
	case codec.String:
		return textFill(v)
	case codec.Bytes:
		return bytesFill(v)
	}
	return numberFill(dst, v, d.typ)
}

func numberFill(dst []byte, v value, t codec.Type) ([]byte, error) {
	var bits uint64
	var err error
	switch t.Kind {
	case codec.Bool:
		bits, err = boolFill(v)
	case codec.Int:
		bits, err = intFill(v, t.Size)
	case codec.Uint:
		bits, err = uintFill(v, t.Size)
	case codec.Float:
		bits, err = floatFill(v, t.Size)
	case codec.Complex:
		return complexFill(dst, v, t.Size/2)
	case codec.DateTime, codec.TimeDelta:
		bits, err = timeFill(v)
	default:
		err = unsupported(v.path, "there are no fill values of the type %s", t)
	}
	if err != nil {
		return nil, err
	}
	return appendWord(dst, bits, t.Size), nil
}

// appendWord appends the low bytes of a word, the least significant first.
func appendWord(dst []byte, bits uint64, size int) []byte {
	for range size {
		dst = append(dst, byte(bits))
		bits >>= 8
	}
	return dst
}

// boolFill also reads 0 and 1, which NumPy users write.
func boolFill(v value) (uint64, error) {
	switch string(v.raw) {
	case "false", "0":
		return 0, nil
	case "true", "1":
		return 1, nil
	}
	return 0, v.refuse("true or false")
}

// intFill reads an integer spelt as one, as 1.0 or as "1", which all were written by
// some version of zarr-python.
func intFill(v value, size int) (uint64, error) {
	text := strings.Trim(string(v.raw), `"`)
	n, err := strconv.ParseInt(text, 10, 8*size)
	if err == nil {
		return uint64(n), nil
	}
	limit := math.Ldexp(1, 8*size-1)
	if f, whole := wholeFloat(v, text); whole && -limit <= f && f < limit {
		return uint64(int64(f)), nil
	}
	return 0, v.refuse("an integer from " + strconv.FormatInt(math.MinInt64>>(64-8*size), 10) +
		" to " + strconv.FormatInt(math.MaxInt64>>(64-8*size), 10))
}

// uintFill is intFill without a sign.
func uintFill(v value, size int) (uint64, error) {
	text := strings.Trim(string(v.raw), `"`)
	n, err := strconv.ParseUint(text, 10, 8*size)
	if err == nil {
		return n, nil
	}
	limit := math.Ldexp(1, 8*size)
	if f, whole := wholeFloat(v, text); whole && 0 <= f && f < limit {
		return uint64(f), nil
	}
	return 0, v.refuse("an integer from 0 to " + strconv.FormatUint(math.MaxUint64>>(64-8*size), 10))
}

// wholeFloat reads a number that is spelt with a point or an exponent but is whole.
func wholeFloat(v value, text string) (float64, bool) {
	if v.is('"') || !isNumber(v.raw) || !strings.ContainsAny(text, ".eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && f == math.Trunc(f)
}

func timeFill(v value) (uint64, error) {
	if string(v.raw) == `"NaT"` {
		return notATime, nil
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, v.refuse(`an integer of 64 bits or "NaT"`)
	}
	return uint64(n), nil
}

// notATime is NaT, the smallest int64.
const notATime = 1 << 63

func complexFill(dst []byte, v value, size int) ([]byte, error) {
	pair, err := v.list("a pair of real and imaginary part")
	if err != nil {
		return nil, err
	}
	if len(pair) != 2 {
		return nil, v.refuse("a pair of real and imaginary part")
	}
	for _, part := range pair {
		bits, err := floatFill(part, size)
		if err != nil {
			return nil, err
		}
		dst = appendWord(dst, bits, size)
	}
	return dst, nil
}

func rawFill(dst []byte, v value, size int) ([]byte, error) {
	b, err := byteString(v, size)
	if err != nil {
		return nil, err
	}
	if len(b) != size {
		return nil, wrong(v.path, "%s is %d bytes; want %d", abbreviate(v.raw), len(b), size)
	}
	return append(dst, b...), nil
}

func fixedBytesFill(dst []byte, v value, size int) ([]byte, error) {
	b, err := byteString(v, size)
	if err != nil {
		return nil, err
	}
	return pad(append(dst, b...), size), nil
}

func bytesFill(v value) ([]byte, error) { return byteString(v, math.MaxInt) }

// byteString reads at most limit bytes in base64, as zarr-python writes them, or as a
// list of integers, as the core specification has it for r*.
func byteString(v value, limit int) ([]byte, error) {
	if v.is('[') {
		return byteList(v, limit)
	}
	text, err := v.text()
	if err != nil {
		return nil, v.refuse("bytes in base64, or a list of integers from 0 to 255")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, v.refuse("base64 (" + err.Error() + ")")
	}
	if len(b) > limit {
		return nil, wrong(v.path, "%s is %d bytes; the type has %d", abbreviate(v.raw), len(b), limit)
	}
	return b, nil
}

func byteList(v value, limit int) ([]byte, error) {
	b := []byte{}
	for i, e := range v.elements() {
		n, err := strconv.ParseUint(string(e.raw), 10, 8)
		if err != nil {
			return nil, wrong(index(v.path, i), "%s is not an integer from 0 to 255", abbreviate(e.raw))
		}
		if len(b) == limit {
			return nil, wrong(v.path, "more than %d bytes, which the type has", limit)
		}
		b = append(b, byte(n))
	}
	return b, nil
}

func utf32Fill(dst []byte, v value, size int) ([]byte, error) {
	text, err := v.text()
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(text); n > size/4 {
		return nil, wrong(v.path, "%s has %d characters; the type has %d", abbreviate(v.raw), n, size/4)
	}
	for _, r := range text {
		dst = appendWord(dst, uint64(r), 4)
	}
	return pad(dst, size), nil
}

func pad(b []byte, size int) []byte { return append(b, make([]byte, size-len(b))...) }

// textFill reads text, or a number as the text that Python makes of it: zarr-python 2
// gave strings the fill value 0.
func textFill(v value) ([]byte, error) {
	if v.is('"') {
		text, err := v.text()
		return []byte(text), err
	}
	if !isNumber(v.raw) {
		return nil, v.refuse("a string")
	}
	if !strings.ContainsAny(string(v.raw), ".eE") {
		return bytes.Clone(v.raw), nil
	}
	f, err := strconv.ParseFloat(string(v.raw), 64)
	if err != nil {
		return nil, v.refuse("a string")
	}
	return appendFloat(nil, f), nil
}

// structFill reads an object with a value for each field, or all of the element in
// base64. A field that is absent has its type's default, as for zarr-python.
func (d DataType) structFill(dst []byte, v value) ([]byte, error) {
	if v.is('"') {
		return rawFill(dst, v, d.typ.Size)
	}
	o, err := v.object("an object with a value for each field, or bytes in base64")
	if err != nil {
		return nil, err
	}
	values := o.byName()
	for i, f := range d.fields {
		name := d.typ.Fields[i].Name
		raw, ok := values[name]
		if !ok {
			dst = f.appendDefault(dst)
			continue
		}
		delete(values, name)
		b, err := f.fill(o.at(member{name, raw}))
		if err != nil {
			return nil, err
		}
		dst = append(dst, b...)
	}
	o.members = slices.DeleteFunc(o.members, func(m member) bool { _, left := values[m.name]; return !left })
	if err := o.rest("the fields of the data type"); err != nil {
		return nil, err
	}
	return dst, nil
}

// DefaultFill returns the fill value that zarr-python gives an array when asked for
// none: NaT for times outside of structs, otherwise zeros or nothing.
func (d DataType) DefaultFill() []byte { return d.appendDefault([]byte{}) }

func (d DataType) appendDefault(dst []byte) []byte {
	if d.isTime() {
		return appendWord(dst, notATime, 8)
	}
	return append(dst, make([]byte, d.typ.Size)...)
}
