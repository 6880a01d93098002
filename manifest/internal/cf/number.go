package cf

import (
	"encoding/binary"
	"math"

	"varve/codec"
)

// IsNumber reports whether elements are integers, or floats of 2, 4 or 8 bytes.
func IsNumber(t codec.Type) bool {
	return IsInteger(t) || t.Kind == codec.Float && (t.Size == 2 || t.Size == 4 || t.Size == 8)
}

// IsInteger reports whether elements are signed or unsigned integers of 1, 2, 4 or 8 bytes.
func IsInteger(t codec.Type) bool {
	return (t.Kind == codec.Int || t.Kind == codec.Uint) && (t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8)
}

// Word returns the bytes of an element, in little-endian order, as an unsigned integer.
func Word(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// AppendWord appends the low size bytes of w, in little-endian order.
func AppendWord(dst []byte, w uint64, size int) []byte {
	if size == 8 {
		return binary.LittleEndian.AppendUint64(dst, w)
	}
	for range size {
		dst = append(dst, byte(w))
		w >>= 8
	}
	return dst
}

// Extend returns an integer as a word of 64 bits, with the sign extended if the type is signed.
func Extend(t codec.Type, b []byte) uint64 {
	w := Word(b)
	if t.Kind == codec.Int {
		shift := 64 - 8*len(b)
		return uint64(int64(w<<shift) >> shift)
	}
	return w
}

// Float returns a number as a float64. Integers beyond 2^53 are rounded.
func Float(t codec.Type, b []byte) float64 {
	switch {
	case t.Kind == codec.Int:
		return float64(int64(Extend(t, b)))
	case t.Kind != codec.Float:
		return float64(Word(b))
	case len(b) == 2:
		return HalfToFloat(uint16(Word(b)))
	case len(b) == 4:
		return float64(math.Float32frombits(uint32(Word(b))))
	}
	return math.Float64frombits(Word(b))
}

// HalfToFloat converts an IEEE 754 binary16 without loss.
func HalfToFloat(h uint16) float64 {
	sign, exponent, fraction := uint64(h>>15)<<63, int(h>>10&31), uint64(h&1023)
	switch exponent {
	case 0:
		f := float64(fraction) * 0x1p-24
		return math.Float64frombits(math.Float64bits(f) | sign)
	case 31:
		return math.Float64frombits(sign | 0x7ff<<52 | fraction<<42)
	}
	return math.Float64frombits(sign | uint64(exponent-15+1023)<<52 | fraction<<42)
}

// FloatToHalf rounds to the nearest binary16, ties to even.
func FloatToHalf(f float64) uint16 {
	bits := math.Float64bits(f)
	sign := uint16(bits>>48) & 0x8000
	abs := math.Abs(f)
	switch {
	// Keep the sign and payload of NaN, but make it quiet.
	case f != f:
		return sign | 0x7e00 | uint16(bits>>42)&0x1ff
	case abs >= 65520:
		return sign | 0x7c00
	// Subnormal numbers are all multiples of 2^-24.
	case abs < 0x1p-14:
		return sign | uint16(math.RoundToEven(abs*0x1p24))
	}
	exponent := int(bits>>52&0x7ff) - 1023
	fraction := uint16(math.RoundToEven(math.Ldexp(abs, 10-exponent)))
	return sign | uint16(exponent+15)<<10 + (fraction - 1024)
}

// Cast returns a number as an element of another numeric type. It reports false if that type is an
// integer type without this value. A cast to a float type rounds.
func Cast(to, from codec.Type, b []byte) ([]byte, bool) {
	switch {
	case to.Equal(from):
		return b, true
	case IsInteger(to) && IsInteger(from):
		return castInteger(to, from, b)
	case IsInteger(to):
		return integerOf(to, Float(from, b))
	}
	return floatOf(to, Float(from, b))
}

func castInteger(to, from codec.Type, b []byte) ([]byte, bool) {
	w := Extend(from, b)
	out := AppendWord(nil, w, to.Size)
	negative := from.Kind == codec.Int && int64(w) < 0
	// The value fits if converting back gives the same word with the same sign.
	back := Extend(to, out)
	return out, back == w && negative == (to.Kind == codec.Int && int64(back) < 0)
}

func integerOf(to codec.Type, f float64) ([]byte, bool) {
	var w uint64
	switch {
	case f != math.Trunc(f) || f < -0x1p63 || f >= 0x1p64: // also true for NaN
		return nil, false
	case f < 0x1p63:
		w = uint64(int64(f))
	default:
		w = uint64(f)
	}
	out := AppendWord(nil, w, to.Size)
	return out, Float(to, out) == f
}

func floatOf(to codec.Type, f float64) ([]byte, bool) { return appendFloat(nil, to.Size, f), true }

// appendFloat appends a float of a size in bytes, rounded.
func appendFloat(dst []byte, size int, f float64) []byte {
	switch size {
	case 2:
		return AppendWord(dst, uint64(FloatToHalf(f)), 2)
	case 4:
		return AppendWord(dst, uint64(math.Float32bits(float32(f))), 4)
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// NaN returns the bits that other programs write for NaN. The bits of Go's math.NaN differ.
func NaN(t codec.Type) []byte {
	switch t.Size {
	case 2:
		return AppendWord(nil, 0x7e00, 2)
	case 4:
		return AppendWord(nil, 0x7fc00000, 4)
	}
	return AppendWord(nil, 0x7ff8<<48, 8)
}

// IsNaN reports whether an element is a float that is NaN.
func IsNaN(t codec.Type, b []byte) bool {
	if t.Kind != codec.Float {
		return false
	}
	f := Float(t, b)
	return f != f
}
