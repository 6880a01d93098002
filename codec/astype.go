package codec

// asType stores elements as another type.
//
// Specification: numcodecs.astype,
// https://numcodecs.readthedocs.io/en/stable/filter/astype.html.
//
//	{"name": "numcodecs.astype", "configuration": {"encode_dtype": "<f4", "decode_dtype": "<f8"}}
//
// The default of "decode_dtype" is the type of the elements. Decoding converts values as
// NumPy does: floats are truncated to integers, and a value out of range becomes an
// arbitrary one. Encoding refuses values out of range.
type asType struct {
	elementwise
	stored, decoded number
}

func newAsType(c *config, in Form) (Codec, error) {
	return &asType{decoded: c.elementType("decode_dtype", in), stored: c.dtype("encode_dtype", 0)}, c.err
}

func (a *asType) DecodeKey() string { return castKey(a.decoded, a.stored) }

func (a *asType) Encoded(in Form) (Form, error) {
	in.Fill = convertFill(in, a.stored)
	in.Type = encodedType(in.Type, a.stored)
	return in, nil
}

func (a *asType) Encode(dst, src Elems, _ Form) error {
	return convertExactly(dst.Fixed, a.stored, src.Fixed, a.decoded)
}

func (a *asType) Decode(dst, src Elems, _ Form) error {
	convert(dst.Fixed, a.decoded, src.Fixed, a.stored)
	return nil
}
