package codec

import (
	"fmt"
	"strconv"
)

// fixedScaleOffset subtracts an offset from the elements, scales them, rounds them to
// integers and usually stores them in a narrower type. Decoding does not restore what
// rounding removed.
//
// Specification: numcodecs.fixedscaleoffset,
// https://numcodecs.readthedocs.io/en/stable/filter/fixedscaleoffset.html.
//
//	{"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 1000, "scale": 10, "dtype": "<f8", "astype": "<i2"}}
//
// Encoding is round((x − offset) · scale) with ties to even, decoding x / scale + offset.
// The default of "dtype" is the type of the elements; the default of "astype" is "dtype". As in
// NumPy, every step of a float16 or float32 is rounded to that type, integers are decoded
// as float64, and integers stay integers if both numbers are written without point or
// exponent. numcodecs stores an arbitrary value for a number that does not fit "astype";
// here it is an error.
type fixedScaleOffset struct {
	elementwise
	dtype, astype number
	scale, offset jsonNumber
	integers      *affine // encodes integers if both numbers are integers
}

// jsonNumber is a number as Python reads it: an integer if it has neither point nor
// exponent.
type jsonNumber struct {
	float     float64
	isInteger bool
	text      string
}

// numeral reads a required number.
func (c *config) numeral(field string) jsonNumber {
	raw := c.take(field)
	if raw == nil {
		c.fail(field, "missing; want a number")
		return jsonNumber{}
	}
	n := jsonNumber{text: string(raw)}
	if err := unmarshal(raw, &n.float); err != nil {
		c.fail(field, "%s is not a number", abbreviate(raw))
	}
	_, signed := strconv.ParseInt(n.text, 10, 64)
	_, unsigned := strconv.ParseUint(n.text, 10, 64)
	n.isInteger = signed == nil || unsigned == nil
	return n
}

func newFixedScaleOffset(c *config, in Form) (Codec, error) {
	if !c.has("astype") {
		c.refuseBigEndian("dtype")
	}
	f := &fixedScaleOffset{dtype: c.elementType("dtype", in), scale: c.numeral("scale"), offset: c.numeral("offset")}
	f.astype = c.dtype("astype", f.dtype)
	c.refuseBool("dtype", f.dtype)
	c.refuseBool("astype", f.astype)
	if c.err == nil && f.scale.float == 0 {
		c.fail("scale", "must not be 0")
	}
	if c.err != nil {
		return nil, c.err
	}
	// NumPy computes such integers exactly, where float64 would round above 2⁵³.
	if !f.dtype.isFloat() && f.scale.isInteger && f.offset.isInteger {
		f.integers = newAffine(f.dtype, bigNumber(f.offset.text), bigNumber(f.scale.text))
	}
	return f, nil
}

func (f *fixedScaleOffset) DecodeKey() string {
	return fmt.Sprintf("fixedscaleoffset:%v:%v:%v:%v", f.dtype, f.astype, f.scale.float, f.offset.float)
}

func (f *fixedScaleOffset) Encoded(in Form) (Form, error) {
	in.Fill = convertFill(in, f.astype)
	in.Type = encodedType(in.Type, f.astype)
	return in, nil
}

func (f *fixedScaleOffset) Decode(dst, src Elems, _ Form) error {
	f.scaling().decode(dst.Fixed, f.dtype, src.Fixed, f.astype)
	return nil
}

func (f *fixedScaleOffset) Encode(dst, src Elems, _ Form) error {
	if f.integers != nil {
		return f.encodeWhole(dst.Fixed, src.Fixed)
	}
	return f.scaling().encode(dst.Fixed, f.astype, src.Fixed, f.dtype)
}

func (f *fixedScaleOffset) scaling() scaling {
	return scaling{scale: f.scale.float, offset: f.offset.float, isRounded: true}
}

// encodeWhole encodes integers without floating point, so that nothing is rounded.
func (f *fixedScaleOffset) encodeWhole(dst, src []byte) error {
	var block [8 * blockLen]byte
	to, from := f.astype.size(), f.dtype.size()
	for at := 0; len(src) > 0; at += blockLen {
		n := min(blockLen, len(src)/from)
		b := block[:n*from]
		if err := f.integers.encode(b, src[:n*from], at); err != nil {
			return err
		}
		c := converter{to: f.astype, from: f.dtype, isChecked: true, first: at}
		if err := c.run(dst[:n*to], b); err != nil {
			return err
		}
		dst, src = dst[n*to:], src[n*from:]
	}
	return nil
}
