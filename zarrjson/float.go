package zarrjson

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// specialFloats are the bits of NaN and Infinity by the size of the float in bytes. "NaN"
// means only this NaN; any other is written by its bits, for example "0x7fc00001".
var specialFloats = map[int]struct{ nan, inf uint64 }{
	2: {0x7e00, 0x7c00},
	4: {0x7fc00000, 0x7f800000},
	8: {0x7ff8000000000000, 0x7ff0000000000000},
}

// readFloatFill returns the bits of a float of 2, 4 or 8 bytes.
func readFloatFill(v value, size int) (uint64, error) {
	text := strings.Trim(string(v.raw), `"`)
	switch text {
	case "NaN":
		return specialFloats[size].nan, nil
	case "Infinity":
		return specialFloats[size].inf, nil
	case "-Infinity":
		return specialFloats[size].inf | 1<<(8*size-1), nil
	}
	// The core specification spells any other bit pattern as a string of hexadecimal
	// digits.
	if hex, ok := strings.CutPrefix(text, "0x"); ok && v.startsWith('"') {
		return readHexFloat(v, hex, size)
	}
	f, err := strconv.ParseFloat(text, 64)
	if !isNumber([]byte(text)) {
		return 0, v.refuse(`a number, "NaN", "Infinity", "-Infinity" or "0x" and digits`)
	}
	bits, fits := narrow(f, size)
	if err != nil || !fits {
		return 0, v.refuse(fmt.Sprintf("in the range of a float%d", 8*size))
	}
	return bits, nil
}

func readHexFloat(v value, hex string, size int) (uint64, error) {
	bits, err := strconv.ParseUint(hex, 16, 64)
	if err != nil || len(hex) != 2*size {
		return 0, v.refuse(fmt.Sprintf(`"0x" and %d hexadecimal digits`, 2*size))
	}
	return bits, nil
}

// writeFloat writes a float as zarr-python does: with the shortest digits of the float64
// that equals it.
func writeFloat(w *writer, bits uint64, size int) {
	sign := uint64(1) << (8*size - 1)
	s := specialFloats[size]
	switch {
	case bits == s.nan:
		w.text("NaN")
	case bits == s.inf:
		w.text("Infinity")
	case bits == s.inf|sign:
		w.text("-Infinity")
	// All exponent bits are set: a NaN with a payload.
	case bits&s.inf == s.inf:
		w.text(fmt.Sprintf("0x%0*x", 2*size, bits))
	default:
		w.float(widen(bits, size))
	}
}

// widen returns the float64 that equals a finite float.
func widen(bits uint64, size int) float64 {
	switch size {
	case 2:
		return widenHalf(uint16(bits))
	case 4:
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}

// narrow rounds a float64 to the nearest float of a size, ties to even. It returns false
// if the result is infinite.
func narrow(f float64, size int) (uint64, bool) {
	switch size {
	case 2:
		return narrowHalf(f)
	case 4:
		return uint64(math.Float32bits(float32(f))), !math.IsInf(float64(float32(f)), 0)
	}
	return math.Float64bits(f), !math.IsInf(f, 0)
}

// widenHalf returns the value of a finite binary16: 1 sign bit, 5 exponent bits, 10
// fraction bits.
func widenHalf(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&0x3ff)
	f := math.Ldexp(fraction, -24)
	if exponent > 0 {
		f = math.Ldexp(fraction+1024, exponent-25)
	}
	if h>>15 == 1 {
		return -f
	}
	return f
}

func narrowHalf(f float64) (uint64, bool) {
	abs := math.Abs(f)
	sign := math.Float64bits(f) >> 63 << 15
	if abs >= 65520 { // halfway between 65504, the largest, and 65536: rounds to infinity
		return 0, false
	}
	_, exponent := math.Frexp(abs) // abs = 0.1… · 2^exponent
	exponent = max(exponent, -13)  // the subnormals share the exponent of the smallest normal
	fraction := math.RoundToEven(math.Ldexp(abs, 11-exponent))
	if fraction < 1024 {
		return sign | uint64(fraction), true
	}
	// A fraction rounded up to 2048 carries into the exponent, as it should.
	return sign | uint64(exponent+14)<<10 + uint64(fraction) - 1024, true
}
