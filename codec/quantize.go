package codec

import (
	"fmt"
	"math"
)

// quantize rounds floats to a number of decimal digits: to multiples of the largest power
// of two that is fine enough, so that they compress better. Decoding only converts the
// type.
//
// Specification: numcodecs.quantize,
// https://numcodecs.readthedocs.io/en/stable/filter/quantize.html.
//
//	{"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "<f8", "astype": "<f4"}}
//
// The default of "dtype" is the type of the elements; the default of "astype" is "dtype". In
// zarr.json zarr-python ignores another "astype", and cannot read what it wrote.
type quantize struct {
	elementwise
	dtype, astype number
	scale         float64
}

func newQuantize(c *config, in Form) (Codec, error) {
	if c.refuseBigEndian("astype"); !c.has("astype") {
		c.refuseBigEndian("dtype")
	}
	q := &quantize{dtype: c.elementType("dtype", in)}
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

// clients implements clientReporter: zarr-python expects elements of their own type.
func (q *quantize) clients() Client {
	if q.astype != q.dtype {
		return NoClient
	}
	return AnyClient
}

// quantizeScale follows numcodecs step by step, with the same logarithms, which determine
// the number of bits for the digits.
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

// castKey returns the key of codecs that decode by converting the type only.
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
	if computesInFloat32(q.dtype) {
		return quantizeFloats[float32](q, c)
	}
	return quantizeFloats[float64](q, c)
}

func quantizeFloats[F float32 | float64](q *quantize, c conversion) error {
	var block [blockLen]F
	scale := roundConfig[F](q.scale, c.from)
	for at := 0; len(c.src) > 0; at += blockLen {
		b := block[:c.nextLen()]
		load(b, c.src, c.from)
		if c.from == numFloat16 {
			for i, v := range b {
				b[i] = roundToHalf(scale * v)
			}
		} else {
			for i, v := range b {
				b[i] = scale * v
			}
		}
		roundToIntegers(b)
		for i, v := range b {
			b[i] = v / scale
		}
		if err := storeChecked(c, b, at); err != nil {
			return fmt.Errorf("rounded to %d fractional bits: %w", math.Ilogb(q.scale), err)
		}
		c.advance(len(b))
	}
	return nil
}
