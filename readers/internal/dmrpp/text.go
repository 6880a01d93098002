package dmrpp

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/readers"
)

// resolve appends text with its references replaced. Documents often declare Latin-1 but contain
// UTF-8, so only bytes that are not UTF-8 are read as Latin-1.
func (s *scanner) resolve(dst, raw []byte) ([]byte, error) {
	for {
		i := bytes.IndexByte(raw, '&')
		if i < 0 {
			return appendText(dst, raw), nil
		}
		dst = appendText(dst, raw[:i])
		raw = raw[i+1:]
		end := bytes.IndexByte(raw[:min(len(raw), holdBack)], ';')
		if end < 0 {
			return dst, s.corrupt("& is not followed by a reference")
		}
		r, ok := reference(string(raw[:end]))
		if !ok {
			return dst, s.corrupt("unknown reference &%s;", raw[:end])
		}
		dst = utf8.AppendRune(dst, r)
		raw = raw[end+1:]
	}
}

// reference returns the character of the reference &name;.
func reference(name string) (rune, bool) {
	switch name {
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "amp":
		return '&', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, isNumber := strings.CutPrefix(name, "#")
	base := 10
	if hex, isHex := strings.CutPrefix(digits, "x"); isHex {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	return rune(n), isNumber && err == nil && n <= utf8.MaxRune
}

// isPlain reports whether text is ASCII without references, so that it needs no copy.
func isPlain(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf || c == '&' {
			return false
		}
	}
	return true
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func appendText(dst, raw []byte) []byte {
	if isASCII(raw) || utf8.Valid(raw) {
		return append(dst, raw...)
	}
	for _, c := range raw {
		dst = utf8.AppendRune(dst, rune(c))
	}
	return dst
}

// types holds the types of DAP4 that have a fixed size.
var types = map[string]*readers.Type{
	"Byte": readers.Int(1, readers.LittleEndian, false), "UByte": readers.Int(1, readers.LittleEndian, false),
	"UInt8": readers.Int(1, readers.LittleEndian, false), "Char": readers.Int(1, readers.LittleEndian, false),
	"Int8":  readers.Int(1, readers.LittleEndian, true),
	"Int16": readers.Int(2, readers.LittleEndian, true), "UInt16": readers.Int(2, readers.LittleEndian, false),
	"Int32": readers.Int(4, readers.LittleEndian, true), "UInt32": readers.Int(4, readers.LittleEndian, false),
	"Int64": readers.Int(8, readers.LittleEndian, true), "UInt64": readers.Int(8, readers.LittleEndian, false),
	"Float32": readers.IEEEFloat(4, readers.LittleEndian), "Float64": readers.IEEEFloat(8, readers.LittleEndian),
}

var textType = &readers.Type{Class: readers.VarLen, Size: 16, IsText: true, UTF8: true}

func isTextType(name string) bool { return name == "String" || name == "URL" || name == "Url" }

// appendNumber appends a number in memory form.
func appendNumber(dst []byte, t *readers.Type, text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	bad := readers.Corruptf("%q is not a value of type %s", text, t)
	var bits uint64
	switch {
	case t.Class == readers.Float:
		f, err := parseFloat(text, 8*t.Size)
		if err != nil {
			return dst, bad
		}
		if bits = math.Float64bits(f); t.Size == 4 {
			bits = uint64(math.Float32bits(float32(f)))
		}
	case t.Signed:
		n, err := strconv.ParseInt(text, 10, 8*t.Size)
		if err != nil {
			return dst, bad
		}
		bits = uint64(n)
	default:
		n, err := strconv.ParseUint(text, 10, 8*t.Size)
		if signed, err2 := strconv.ParseInt(text, 10, 8*t.Size); err != nil && err2 == nil {
			n, err = uint64(signed), nil // a writer that treats the byte as signed
		}
		if err != nil {
			return dst, bad
		}
		bits = n
	}
	var wide [8]byte
	binary.LittleEndian.PutUint64(wide[:], bits)
	return append(dst, wide[:t.Size]...), nil
}

// parseFloat decodes a number as C prints it.
func parseFloat(text string, bits int) (float64, error) {
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "nan", "nan(ind)", "nan(snan)", "*":
		return math.NaN(), nil
	}
	return strconv.ParseFloat(text, bits)
}
