package codec

import (
	"fmt"
	"math/big"
)

// scaleOffset subtracts an offset from the elements and scales them, in their own type.
//
// Specification: zarr-extensions, codecs/scale_offset.
//
//	{"name": "scale_offset", "configuration": {"offset": 5, "scale": 0.1}}
//
// Encoding is (x − offset) · scale, decoding x / scale + offset, in the arithmetic of the
// elements' type. Both numbers are written like a fill value of that type; the defaults are
// 0 and 1. A result that an integer type cannot hold is an error, and so is a stored
// integer that the scale does not divide. The fill value is encoded too.
type scaleOffset struct {
	elementwise
	n        number
	integers *affine // for integers; nil for floats
	floats   scaling
	key      string
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
		c.fail("scale", "must not be 0")
	}
	if c.err != nil {
		return nil, c.err
	}
	s := &scaleOffset{n: n, key: fmt.Sprintf("scale_offset:%v:%x:%x", n, offset, scale)}
	if n.isFloat() {
		s.floats = scaling{scale: floatValue(scale, n), offset: floatValue(offset, n)}
		return s, nil
	}
	s.integers = newAffine(n, bigWord(offset, n), bigWord(scale, n))
	return s, nil
}

// isZeroScalar reports whether a number is 0 or −0.
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
	if s.integers != nil && s.integers.isIdentity() {
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
	if s.integers != nil {
		return s.integers.encode(dst.Fixed, src.Fixed, 0)
	}
	return s.floats.encode(dst.Fixed, s.n, src.Fixed, s.n)
}

func (s *scaleOffset) Decode(dst, src Elems, _ Form) error {
	if s.integers != nil {
		return s.integers.decode(dst.Fixed, src.Fixed)
	}
	s.floats.decode(dst.Fixed, s.n, src.Fixed, s.n)
	return nil
}
