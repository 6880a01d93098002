package zarrjson

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"varve/codec"
)

// FillJSON returns the JSON text of a fill value, given the memory form of one element.
// zarr-python reads the same element from it. Nil means zeros.
func (d DataType) FillJSON(fill []byte) ([]byte, error) {
	raw, err := encode(Compact, func(w *writer) error { return d.writeFill(w, fill) })
	return raw, atPath("fill_value", err)
}

func (d DataType) writeFill(w *writer, fill []byte) error {
	switch d.typ.Kind {
	case codec.String:
		if !utf8.Valid(fill) {
			return corruptError("", "%q is not UTF-8", abbreviate(fill))
		}
		w.text(string(fill))
		return nil
	case codec.Bytes:
		w.base64(fill)
		return nil
	}
	// Text and bytes were written above, where nil is the empty value.
	if fill == nil {
		fill = make([]byte, d.typ.Size)
	}
	if len(fill) != d.typ.Size {
		return corruptError("", "%d bytes; an element of %s has %d", len(fill), d.typ, d.typ.Size)
	}
	return d.writeFixed(w, fill)
}

func (d DataType) writeFixed(w *writer, fill []byte) error {
	size := d.typ.Size
	switch d.typ.Kind {
	case codec.Bool:
		return writeBool(w, fill[0])
	case codec.Int, codec.DateTime, codec.TimeDelta:
		// Shift the sign bit to bit 63 and back to extend the sign.
		unused := 64 - 8*size
		w.integer(int64(word(fill)<<unused) >> unused)
	case codec.Uint:
		w.out = strconv.AppendUint(w.out, word(fill), 10)
	case codec.Float:
		writeFloat(w, word(fill), size)
	case codec.Complex:
		writeComplex(w, fill)
	case codec.Raw:
		d.writeRaw(w, fill)
	// NumPy does not distinguish trailing zeros from padding, so they are not written.
	case codec.FixedBytes:
		w.base64(bytes.TrimRight(fill, "\x00"))
	case codec.FixedUTF32:
		return writeUTF32(w, fill)
	case codec.Struct:
		return d.writeStructFill(w, fill)
	default:
		return unsupportedError("", "there are no fill values of the type %s", d.typ)
	}
	return nil
}

// word returns up to eight little-endian bytes as an integer.
func word(b []byte) (bits uint64) {
	for i, c := range b {
		bits |= uint64(c) << (8 * i)
	}
	return bits
}

func (w *writer) base64(b []byte) { w.text(base64.StdEncoding.EncodeToString(b)) }

func writeBool(w *writer, b byte) error {
	if b > 1 {
		return corruptError("", "the byte %d is neither false (0) nor true (1)", b)
	}
	w.out = strconv.AppendBool(w.out, b == 1)
	return nil
}

func writeComplex(w *writer, fill []byte) {
	half := len(fill) / 2
	w.begin('[')
	w.next()
	writeFloat(w, word(fill[:half]), half)
	w.next()
	writeFloat(w, word(fill[half:]), half)
	w.end(']')
}

// writeRaw writes r8, r16, … as a list of bytes, as the core specification requires, and
// raw_bytes in base64, as zarr-python does.
func (d DataType) writeRaw(w *writer, fill []byte) {
	if !strings.HasPrefix(d.name, "r") || d.name == "raw_bytes" {
		w.base64(fill)
		return
	}
	w.begin('[')
	for _, b := range fill {
		w.next()
		w.integer(int64(b))
	}
	w.end(']')
}

func writeUTF32(w *writer, fill []byte) error {
	var text []byte
	for ; len(fill) > 0; fill = fill[4:] {
		r := rune(word(fill[:4]))
		if !utf8.ValidRune(r) {
			return corruptError("", "0x%08x is not a character", uint32(r))
		}
		text = utf8.AppendRune(text, r)
	}
	w.text(string(bytes.TrimRight(text, "\x00")))
	return nil
}

// writeStructFill writes an object, or base64 under the older type name structured.
func (d DataType) writeStructFill(w *writer, fill []byte) error {
	if d.name == "structured" {
		w.base64(fill)
		return nil
	}
	w.begin('{')
	for i, f := range d.fields {
		name := d.typ.Fields[i].Name
		w.name(name)
		if err := f.writeFixed(w, fill[:f.typ.Size]); err != nil {
			return atPath(abbreviate(name), err)
		}
		fill = fill[f.typ.Size:]
	}
	w.end('}')
	return nil
}
