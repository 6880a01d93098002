package codec

import (
	"fmt"
	"math"
)

// quantize stores floats rounded to so many decimal digits, in the binary fraction that
// is just fine enough, so that they compress better. Decoding has nothing to undo but
// the change of type.
//
// Specification: numcodecs.quantize, https://numcodecs.readthedocs.io/en/stable/filter/quantize.html.
//
//	{"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "<f8", "astype": "<f4"}}
//
// "dtype" is by default the type of the elements, "astype" is "dtype". (In zarr.json
// zarr-python takes no notice of another "astype", and cannot read what it wrote so.)
type quantize struct {
	elementwise
	dtype, astype number
	scale         float64
}

func newQuantize(c *config, in Form) (Codec, error) {
	if c.notBig("astype"); !c.has("astype") {
		c.notBig("dtype")
	}
	q := &quantize{dtype: c.declared("dtype", in)}
	q.astype = c.dtype("astype", q.dtype)
	if c.err == nil && !(q.dtype.isFloat() && q.astype.isFloat()) {
		c.unsupported("%v as %v; it takes floats as floats", q.dtype, q.astype)
	}
	digits := c.integer("digits", math.MinInt32, -300, 300)
	if c.err == nil && digits == math.MinInt32 {
		c.fail("digits", "missing; want an integer from -300 to 300")
	}
	q.scale = quantizeScale(digits)
	return q, c.err
}

// clients implements configured: zarr-python looks for elements of their own type.
func (q *quantize) clients() Client {
	if q.astype != q.dtype {
		return NoClient
	}
	return AnyClient
}

// quantizeScale follows numcodecs step by step, logarithms included: it decides by them
// how many bits there are to so many digits.
func quantizeScale(digits int) float64 {
	exp := math.Log10(math.Pow(10, -float64(digits)))
	if exp < 0 {
		exp = math.Floor(exp)
	} else {
		exp = math.Ceil(exp)
	}
	return math.Exp2(math.Ceil(math.Log2(math.Pow(10, -exp))))
}

func (q *quantize) DecodeKey() string { return castKey(q.dtype, q.astype) }

// castKey is the key of codecs that decode by a change of type alone.
func castKey(to, from number) string {
	if to == from {
		return ""
	}
	return fmt.Sprintf("astype:%v:%v", to, from)
}

func (q *quantize) Encoded(in Form) (Form, error) {
	in.Fill = convertFill(in, q.astype)
	in.Type = encodedType(in.Type, q.astype)
	return in, nil
}

func (q *quantize) Decode(dst, src Elems, _ Form) error {
	convert(dst.Fixed, q.dtype, src.Fixed, q.astype)
	return nil
}

func (q *quantize) Encode(dst, src Elems, _ Form) error {
	c := conversion{dst.Fixed, q.astype, src.Fixed, q.dtype}
	if calculatesNarrow(q.dtype) {
		return quantizeFloats[float32](q, c)
	}
	return quantizeFloats[float64](q, c)
}

func quantizeFloats[F float32 | float64](q *quantize, c conversion) error {
	var block [blockLen]F
	scale := rounded[F](q.scale, c.from)
	for at := 0; len(c.src) > 0; at += blockLen {
		b := block[:c.next()]
		load(b, c.src, c.from)
		if c.from == numFloat16 {
			for i, v := range b {
				b[i] = halved(scale * v)
			}
		} else {
			for i, v := range b {
				b[i] = scale * v
			}
		}
		toWholes(b)
		for i, v := range b {
			b[i] = v / scale
		}
		if err := put(c, b, at); err != nil {
			return fmt.Errorf("%d bits behind the point: %w", math.Ilogb(q.scale), err)
		}
		c.advance(len(b))
	}
	return nil
}
