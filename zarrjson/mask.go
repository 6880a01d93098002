package zarrjson

import (
	"encoding/base64"
	"math"

	"varve/codec"
)

// maskAttribute is CF's attribute for the value that means missing data, here called the
// mask.
//
// xarray encodes it in format 3 so that JSON does not change it: floats as the base64 of
// their little-endian float64, complex numbers as pairs of those, bytes as base64, other
// types as plain JSON. xarray raises a TypeError for a plain number where it expects
// base64, and the dataset does not open.
const maskAttribute = "_FillValue"

// EncodeMask returns the value of the attribute _FillValue in a format 3 document from
// which xarray reads the given element. Nil means zeros.
func (d DataType) EncodeMask(element []byte) ([]byte, error) {
	if element == nil {
		element = make([]byte, d.typ.Size)
	}
	w := &writer{layout: Compact}
	switch d.typ.Kind {
	case codec.Float:
		if len(element) == d.typ.Size {
			w.base64(maskDouble(element))
			return w.out, nil
		}
	case codec.Complex:
		if half := d.typ.Size / 2; len(element) == d.typ.Size {
			w.begin('[')
			w.next()
			w.base64(maskDouble(element[:half]))
			w.next()
			w.base64(maskDouble(element[half:]))
			w.end(']')
			return w.out, nil
		}
	case codec.Struct, codec.Raw, codec.DateTime, codec.TimeDelta:
		return nil, unsupportedError("attributes."+maskAttribute, "xarray has no encoding for %s", d.typ)
	}
	err := d.writeFill(w, element)
	return w.out, atPath("attributes."+maskAttribute, err)
}

// DecodeMask parses the value of the attribute _FillValue to an element of the type. It
// accepts the encoding of xarray in format 3 and, for floats, the plain number of format
// 2.
func (d DataType) DecodeMask(json []byte) ([]byte, error) {
	v, err := parseValue(json)
	if err != nil {
		return nil, atPath("attributes."+maskAttribute, err)
	}
	v.path = "attributes." + maskAttribute
	switch d.typ.Kind {
	case codec.Float:
		return d.decodeFloats(v, v)
	case codec.Complex:
		pair, err := v.readList("a pair of real and imaginary part")
		if err != nil {
			return nil, err
		}
		return d.decodeFloats(v, pair...)
	}
	return d.readFill(v)
}

func (d DataType) decodeFloats(v value, parts ...value) ([]byte, error) {
	size := wordSize(d.typ)
	var element []byte
	for _, p := range parts {
		bits, err := readMaskFloat(p, size)
		if err != nil {
			return nil, err
		}
		element = appendWord(element, bits, size)
	}
	if len(element) != d.typ.Size {
		return nil, v.refuse("a pair of real and imaginary part")
	}
	return element, nil
}

// readMaskFloat reads the base64 of a float64, or else a fill value.
func readMaskFloat(v value, size int) (uint64, error) {
	if text, err := v.readText(); err == nil {
		if b, err := base64.StdEncoding.DecodeString(text); err == nil && len(b) == 8 {
			return narrowBits(v, word(b), size)
		}
	}
	return readFloatFill(v, size)
}

// narrowBits converts the bits of a float64 to the bits of a float of a size.
func narrowBits(v value, bits uint64, size int) (uint64, error) {
	wide, s := specialFloats[8], specialFloats[size]
	sign := bits >> 63 << (8*size - 1)
	switch {
	case size == 8:
		return bits, nil
	// A NaN has all exponent bits set and a fraction. Its payload does not fit, so the
	// narrow NaN is the plain one.
	case bits&wide.inf == wide.inf && bits<<12 != 0:
		return sign | s.nan, nil
	case bits&wide.inf == wide.inf:
		return sign | s.inf, nil
	}
	narrowValue, fits := narrow(widen(bits, 8), size)
	if !fits {
		return 0, v.refuse("in the range of the type")
	}
	return narrowValue, nil
}

// maskDouble returns a float of any size as the bytes of a float64.
func maskDouble(element []byte) []byte {
	size := len(element)
	bits, s := word(element), specialFloats[size]
	// Infinity and NaN have no value that widen could convert, so build their bits.
	if bits&s.inf == s.inf {
		sign := bits >> (8*size - 1) << 63
		wide := specialFloats[8].inf
		if bits&(s.inf|1<<(8*size-1)) != bits {
			wide = specialFloats[8].nan
		}
		if size == 8 {
			return appendWord(nil, bits, 8)
		}
		return appendWord(nil, sign|wide, 8)
	}
	return appendWord(nil, math.Float64bits(widen(bits, size)), 8)
}

// maskToV3 sets the mask that xarray sees in a format 2 array. NaT needs none: xarray
// treats it as missing in any case.
func (a *Attributes) maskToV3(v *V2Array) error {
	mask := v.Fill
	// In format 2 xarray reads fill_value as the mask; only a null fill_value leaves it
	// to the attribute.
	if mask == nil {
		raw, ok := a.Get(maskAttribute)
		if !ok {
			return nil
		}
		var err error
		if mask, err = v.DataType.DecodeMask(raw); err != nil {
			return err
		}
	}
	if v.DataType.isTime() && word(mask) == notATime {
		return nil
	}
	encoded, err := v.DataType.EncodeMask(mask)
	if err != nil {
		return err
	}
	return a.Set(maskAttribute, encoded)
}

func (d DataType) isTime() bool { return d.typ.Kind == codec.DateTime || d.typ.Kind == codec.TimeDelta }

// maskFromV3 removes the mask from the attributes and returns it, or nil if there is
// none.
func (a *Attributes) maskFromV3(d DataType) ([]byte, error) {
	raw, ok := a.Get(maskAttribute)
	if !ok {
		return nil, nil
	}
	mask, err := d.DecodeMask(raw)
	if err != nil {
		return nil, err
	}
	a.Delete(maskAttribute)
	return mask, nil
}
