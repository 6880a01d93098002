package codec

import (
	"fmt"
	"math/big"
)

// scaleOffset stores elements with an offset taken off and scaled, in their own type.
//
// Specification: zarr-extensions, codecs/scale_offset.
//
//	{"name": "scale_offset", "configuration": {"offset": 5, "scale": 0.1}}
//
// Encoding is (x − offset) · scale, decoding x / scale + offset, in the arithmetic of
// the elements' type; both numbers are spelt as a fill value of it, and are 0 and 1 by
// default. What an integer type does not hold is an error, and so is a stored integer
// that the scale does not divide. The fill value is encoded too.
type scaleOffset struct {
	elementwise
	n      number
	whole  *affine // for integers
	floats scaling
	key    string
}

func newZarrScaleOffset(c *config, in Form) (Codec, error) {
	n := c.elements(in)
	if c.err == nil && (n == numBool || in.Type.Kind == DateTime || in.Type.Kind == TimeDelta) {
		c.unsupported("elements of %v; it takes integers and floats", in.Type)
	}
	if c.err != nil {
		return nil, c.err
	}
	offset, scale := c.scalar("offset", n, "0"), c.scalar("scale", n, "1")
	if c.err == nil && isZeroScalar(scale, n) {
		c.fail("scale", "0 cannot be divided by")
	}
	if c.err != nil {
		return nil, c.err
	}
	s := &scaleOffset{n: n, key: fmt.Sprintf("scale_offset:%v:%x:%x", n, offset, scale)}
	if n.isFloat() {
		s.floats = scaling{scale: floatValue(scale, n), offset: floatValue(offset, n)}
		return s, nil
	}
	s.whole = newAffine(n, bigWord(offset, n), bigWord(scale, n))
	return s, nil
}

// isZeroScalar reports whether a number is 0 of either sign.
func isZeroScalar(b []byte, n number) bool {
	if n.isFloat() {
		return floatValue(b, n) == 0
	}
	return wordOf(b, n) == 0
}

func bigWord(b []byte, n number) *big.Int {
	v := wordOf(b, n)
	if n.isSigned() {
		return big.NewInt(int64(v))
	}
	return new(big.Int).SetUint64(v)
}

func (s *scaleOffset) DecodeKey() string {
	if s.whole != nil && s.whole.isIdentity() {
		return ""
	}
	return s.key
}

func (s *scaleOffset) Encoded(in Form) (Form, error) {
	fill := in.Fill
	if fill == nil {
		fill = make([]byte, in.Type.Size)
	}
	out := make([]byte, len(fill))
	if err := s.Encode(Elems{Fixed: out}, Elems{Fixed: fill}, in); err != nil {
		return in, fmt.Errorf("fill value: %w", err)
	}
	in.Fill = out
	return in, nil
}

func (s *scaleOffset) Encode(dst, src Elems, _ Form) error {
	if s.whole != nil {
		return s.whole.encode(dst.Fixed, src.Fixed, 0)
	}
	return s.floats.encode(dst.Fixed, s.n, src.Fixed, s.n)
}

func (s *scaleOffset) Decode(dst, src Elems, _ Form) error {
	if s.whole != nil {
		return s.whole.decode(dst.Fixed, src.Fixed)
	}
	s.floats.decode(dst.Fixed, s.n, src.Fixed, s.n)
	return nil
}
