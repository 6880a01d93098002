package codec

import (
	"fmt"
	"strconv"
)

// fixedScaleOffset stores elements with an offset taken off, scaled, rounded to whole
// numbers and, as a rule, as a narrower type. It does not get back what rounding took.
//
// Specification: numcodecs.fixedscaleoffset,
// https://numcodecs.readthedocs.io/en/stable/filter/fixedscaleoffset.html.
//
//	{"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 1000, "scale": 10, "dtype": "<f8", "astype": "<i2"}}
//
// Encoding is round((x − offset) · scale) with ties to even, decoding x / scale + offset.
// "dtype" is by default the type of the elements, "astype" is "dtype". As in NumPy, every
// step of a float16 or float32 is rounded to that type, integers are decoded as float64,
// and numbers spelt without point or exponent leave integers integers. Where numcodecs
// stores something else because a number does not fit "astype", here it is an error.
type fixedScaleOffset struct {
	elementwise
	dtype, astype number
	scale, offset jsonNumber
	whole         *affine // encodes integers when both numbers are whole
}

// jsonNumber is a number as Python reads it: whole if it is spelt so.
type jsonNumber struct {
	float float64
	whole bool
	text  string
}

// numeral reads a number that must be there.
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
	n.whole = signed == nil || unsigned == nil
	return n
}

func newFixedScaleOffset(c *config, in Form) (Codec, error) {
	if !c.has("astype") {
		c.notBig("dtype")
	}
	f := &fixedScaleOffset{dtype: c.declared("dtype", in), scale: c.numeral("scale"), offset: c.numeral("offset")}
	f.astype = c.dtype("astype", f.dtype)
	c.notBool("dtype", f.dtype)
	c.notBool("astype", f.astype)
	if c.err == nil && f.scale.float == 0 {
		c.fail("scale", "0 cannot be divided by")
	}
	if c.err != nil {
		return nil, c.err
	}
	if !f.dtype.isFloat() && f.scale.whole && f.offset.whole {
		f.whole = newAffine(f.dtype, bigNumber(f.offset.text), bigNumber(f.scale.text))
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
	if f.whole != nil {
		return f.encodeWhole(dst.Fixed, src.Fixed)
	}
	return f.scaling().encode(dst.Fixed, f.astype, src.Fixed, f.dtype)
}

func (f *fixedScaleOffset) scaling() scaling {
	return scaling{scale: f.scale.float, offset: f.offset.float, round: true}
}

// encodeWhole calculates with integers, which need no rounding.
func (f *fixedScaleOffset) encodeWhole(dst, src []byte) error {
	var block [8 * blockLen]byte
	to, from := f.astype.size(), f.dtype.size()
	for at := 0; len(src) > 0; at += blockLen {
		n := min(blockLen, len(src)/from)
		b := block[:n*from]
		if err := f.whole.encode(b, src[:n*from], at); err != nil {
			return err
		}
		c := converter{to: f.astype, from: f.dtype, check: true, first: at}
		if err := c.run(dst[:n*to], b); err != nil {
			return err
		}
		dst, src = dst[n*to:], src[n*from:]
	}
	return nil
}
