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

// ParseFill parses a fill value to the memory form of one element: packed, little-endian,
// padded. Text and bytes of varying length are not padded.
func (d DataType) ParseFill(json []byte) ([]byte, error) {
	v, err := parseValue(json)
	if err != nil {
		return nil, atPath("fill_value", err)
	}
	v.path = "fill_value"
	return d.readFill(v)
}

func (d DataType) readFill(v value) ([]byte, error) {
	// Elements of varying length have size 0, and their readers ignore dst.
	dst := make([]byte, 0, d.typ.Size)
	switch d.typ.Kind {
	case codec.Struct:
		return d.readStructFill(dst, v)
	case codec.Raw:
		return readRawFill(dst, v, d.typ.Size)
	case codec.FixedBytes:
		return readFixedBytesFill(dst, v, d.typ.Size)
	case codec.FixedUTF32:
		return readUTF32Fill(dst, v, d.typ.Size)
	case codec.String:
		return readTextFill(v)
	case codec.Bytes:
		return readBytesFill(v)
	}
	return readNumberFill(dst, v, d.typ)
}

func readNumberFill(dst []byte, v value, t codec.Type) ([]byte, error) {
	var bits uint64
	var err error
	switch t.Kind {
	case codec.Bool:
		bits, err = readBoolFill(v)
	case codec.Int:
		bits, err = readIntFill(v, t.Size)
	case codec.Uint:
		bits, err = readUintFill(v, t.Size)
	case codec.Float:
		bits, err = readFloatFill(v, t.Size)
	case codec.Complex:
		return readComplexFill(dst, v, t.Size/2)
	case codec.DateTime, codec.TimeDelta:
		bits, err = readTimeFill(v)
	default:
		err = unsupportedError(v.path, "there are no fill values of the type %s", t)
	}
	if err != nil {
		return nil, err
	}
	return appendWord(dst, bits, t.Size), nil
}

// appendWord appends the low bytes of a word in little-endian order.
func appendWord(dst []byte, bits uint64, size int) []byte {
	for range size {
		dst = append(dst, byte(bits))
		bits >>= 8
	}
	return dst
}

// readBoolFill also reads 0 and 1, which NumPy users write.
func readBoolFill(v value) (uint64, error) {
	switch string(v.raw) {
	case "false", "0":
		return 0, nil
	case "true", "1":
		return 1, nil
	}
	return 0, v.refuse("true or false")
}

// readIntFill reads an integer that is written as 1, 1.0 or "1": some version of zarr-python
// wrote each of them.
func readIntFill(v value, size int) (uint64, error) {
	text := strings.Trim(string(v.raw), `"`)
	n, err := strconv.ParseInt(text, 10, 8*size)
	if err == nil {
		return uint64(n), nil
	}
	// The limit 2^(bits−1) is exact as a float64, unlike the largest integer 2^63−1.
	limit := math.Ldexp(1, 8*size-1)
	if f, whole := parseIntegralFloat(v, text); whole && -limit <= f && f < limit {
		return uint64(int64(f)), nil
	}
	return 0, v.refuse("an integer from " + strconv.FormatInt(math.MinInt64>>(64-8*size), 10) +
		" to " + strconv.FormatInt(math.MaxInt64>>(64-8*size), 10))
}

// readUintFill is readIntFill for unsigned integers.
func readUintFill(v value, size int) (uint64, error) {
	text := strings.Trim(string(v.raw), `"`)
	n, err := strconv.ParseUint(text, 10, 8*size)
	if err == nil {
		return n, nil
	}
	limit := math.Ldexp(1, 8*size)
	if f, whole := parseIntegralFloat(v, text); whole && 0 <= f && f < limit {
		return uint64(f), nil
	}
	return 0, v.refuse("an integer from 0 to " + strconv.FormatUint(math.MaxUint64>>(64-8*size), 10))
}

// parseIntegralFloat parses an integer that is written with a point or an exponent.
func parseIntegralFloat(v value, text string) (float64, bool) {
	if v.startsWith('"') || !isNumber(v.raw) || !strings.ContainsAny(text, ".eE") {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && f == math.Trunc(f)
}

func readTimeFill(v value) (uint64, error) {
	if string(v.raw) == `"NaT"` {
		return notATime, nil
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, v.refuse(`an integer of 64 bits or "NaT"`)
	}
	return uint64(n), nil
}

// notATime is NumPy's NaT: the smallest int64.
const notATime = 1 << 63

func readComplexFill(dst []byte, v value, size int) ([]byte, error) {
	pair, err := v.readList("a pair of real and imaginary part")
	if err != nil {
		return nil, err
	}
	if len(pair) != 2 {
		return nil, v.refuse("a pair of real and imaginary part")
	}
	for _, part := range pair {
		bits, err := readFloatFill(part, size)
		if err != nil {
			return nil, err
		}
		dst = appendWord(dst, bits, size)
	}
	return dst, nil
}

func readRawFill(dst []byte, v value, size int) ([]byte, error) {
	b, err := readByteString(v, size)
	if err != nil {
		return nil, err
	}
	// Raw bytes are not padded: unlike text, a shorter value has no meaning.
	if len(b) != size {
		return nil, corruptError(v.path, "%s is %d bytes; want %d", abbreviate(v.raw), len(b), size)
	}
	return append(dst, b...), nil
}

func readFixedBytesFill(dst []byte, v value, size int) ([]byte, error) {
	b, err := readByteString(v, size)
	if err != nil {
		return nil, err
	}
	return pad(append(dst, b...), size), nil
}

func readBytesFill(v value) ([]byte, error) { return readByteString(v, math.MaxInt) }

// readByteString reads at most limit bytes: base64, which zarr-python writes, or a list
// of integers, which the core specification has for r*.
func readByteString(v value, limit int) ([]byte, error) {
	if v.startsWith('[') {
		return readByteList(v, limit)
	}
	text, err := v.readText()
	if err != nil {
		return nil, v.refuse("bytes in base64, or a list of integers from 0 to 255")
	}
	b, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, v.refuse("base64 (" + err.Error() + ")")
	}
	if len(b) > limit {
		return nil, corruptError(v.path, "%s is %d bytes; the type has %d", abbreviate(v.raw), len(b), limit)
	}
	return b, nil
}

func readByteList(v value, limit int) ([]byte, error) {
	b := []byte{}
	for i, e := range v.elements() {
		n, err := strconv.ParseUint(string(e.raw), 10, 8)
		if err != nil {
			return nil, corruptError(indexPath(v.path, i), "%s is not an integer from 0 to 255", abbreviate(e.raw))
		}
		if len(b) == limit {
			return nil, corruptError(v.path, "has more than %d bytes, the size of the type", limit)
		}
		b = append(b, byte(n))
	}
	return b, nil
}

func readUTF32Fill(dst []byte, v value, size int) ([]byte, error) {
	text, err := v.readText()
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(text); n > size/4 {
		return nil, corruptError(v.path, "%s has %d characters; the type has %d", abbreviate(v.raw), n, size/4)
	}
	for _, r := range text {
		dst = appendWord(dst, uint64(r), 4)
	}
	return pad(dst, size), nil
}

// pad appends zeros up to a size.
func pad(b []byte, size int) []byte { return append(b, make([]byte, size-len(b))...) }

// readTextFill reads text, or a number as Python's str formats it: zarr-python 2 gave
// strings the fill value 0.
func readTextFill(v value) ([]byte, error) {
	if v.startsWith('"') {
		text, err := v.readText()
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

// readStructFill reads an object with a value for each field, or the whole element in
// base64. A missing field has its type's default, as in zarr-python.
func (d DataType) readStructFill(dst []byte, v value) ([]byte, error) {
	if v.startsWith('"') {
		return readRawFill(dst, v, d.typ.Size)
	}
	o, err := v.readObject("an object with a value for each field, or bytes in base64")
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
		b, err := f.readFill(o.memberValue(member{name, raw}))
		if err != nil {
			return nil, err
		}
		dst = append(dst, b...)
	}
	// Leave only the unknown members, so that refuseRest names one of them.
	o.members = slices.DeleteFunc(o.members, func(m member) bool { _, left := values[m.name]; return !left })
	if err := o.refuseRest("the fields of the data type"); err != nil {
		return nil, err
	}
	return dst, nil
}

// DefaultFill returns the fill value that zarr-python uses if none is given: NaT for
// times outside structs, otherwise zeros or the empty string.
func (d DataType) DefaultFill() []byte { return d.appendDefault([]byte{}) }

func (d DataType) appendDefault(dst []byte) []byte {
	if d.isTime() {
		return appendWord(dst, notATime, 8)
	}
	return append(dst, make([]byte, d.typ.Size)...)
}
