package present

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"

	"varve/codec"
	"varve/manifest/internal/cf"
)

// Text formats one element as text. Missing values are empty.
func (d *Decoder) Text(e []byte) (string, error) {
	b, err := d.appendText(nil, e)
	return string(b), err
}

func (d *Decoder) appendText(dst, e []byte) ([]byte, error) {
	switch {
	case d.isMissing(e):
		return dst, nil
	case d.times != nil:
		at, ok, err := d.times.Instant(e)
		if err != nil || !ok {
			return dst, err
		}
		return append(dst, at.Format(d.times.Units.Calendar)...), nil
	case d.isScaled():
		f := d.unpack(cf.Float(d.packing.Type, e))
		return appendFloat(dst, f, 8*d.packing.FloatType().Size), nil
	}
	return AppendPlain(dst, d.packing.Type, e), nil
}

// AppendPlain formats an element by its type, without regard to attributes. Texts lose the zeros at their end.
func AppendPlain(dst []byte, t codec.Type, e []byte) []byte {
	switch t.Kind {
	case codec.String:
		return append(dst, e...)
	case codec.FixedBytes:
		return append(dst, trimmed(e)...)
	case codec.FixedUTF32:
		return appendUTF32(dst, e)
	case codec.Bool:
		return strconv.AppendBool(dst, e[0] != 0)
	case codec.Int:
		return strconv.AppendInt(dst, int64(cf.Extend(t, e)), 10)
	case codec.Uint:
		return strconv.AppendUint(dst, cf.Word(e), 10)
	case codec.Float:
		return appendFloat(dst, cf.Float(t, e), max(8*t.Size, 32))
	case codec.Complex:
		return appendComplex(dst, t, e)
	case codec.TimeDelta:
		if cf.Word(e) == 1<<63 { // NumPy's NaT
			return dst
		}
		return strconv.AppendInt(dst, int64(cf.Word(e)), 10)
	case codec.Struct:
		return appendStruct(dst, t, e)
	}
	return hex.AppendEncode(dst, e)
}

// appendFloat writes the shortest digits that identify the float.
func appendFloat(dst []byte, f float64, bits int) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'g'
	}
	return strconv.AppendFloat(dst, f, format, -1, max(bits, 32))
}

// appendComplex writes 1+2i.
func appendComplex(dst []byte, t codec.Type, e []byte) []byte {
	half := codec.Type{Kind: codec.Float, Size: t.Size / 2}
	dst = AppendPlain(dst, half, e[:half.Size])
	imaginary := cf.Float(half, e[half.Size:])
	if !math.Signbit(imaginary) && !math.IsInf(imaginary, 1) { // an infinity has its own plus
		dst = append(dst, '+')
	}
	return append(appendFloat(dst, imaginary, 8*half.Size), 'i')
}

// appendStruct writes {name: value, …}.
func appendStruct(dst []byte, t codec.Type, e []byte) []byte {
	dst = append(dst, '{')
	for i, f := range t.Fields {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(dst, f.Name...), ": "...)
		dst = AppendPlain(dst, f.Type, e[:f.Type.Size])
		e = e[f.Type.Size:]
	}
	return append(dst, '}')
}

// appendUTF32 appends UTF-32 code points as UTF-8, without the zeros at the end.
func appendUTF32(dst, e []byte) []byte {
	for ; len(e) >= 4; e = e[4:] {
		r := rune(binary.LittleEndian.Uint32(e))
		if r == 0 && isZero(e) {
			break
		}
		dst = append(dst, string(r)...)
	}
	return dst
}

func isZero(b []byte) bool { return len(trimmed(b)) == 0 }
