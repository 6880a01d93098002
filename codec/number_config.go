package codec

import (
	"errors"
	"fmt"
	"math"

	"varve/grid"
)

// unsupported keeps an error for elements that the codec does not accept.
func (c *config) unsupported(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("codec %q: %s: %w", c.codec, fmt.Sprintf(format, args...), errors.ErrUnsupported)
	}
}

// dtype reads a type string. An absent of 0 means that the field is required.
func (c *config) dtype(field string, absent number) number {
	name := c.text(field, "")
	if name == "" {
		if absent == 0 {
			c.fail(field, "missing; want a type string such as \"<f4\"")
		}
		return absent
	}
	n, ok := parseNumber(name)
	if !ok {
		c.fail(field, "%q is not one of bool, int8 … int64, uint8 … uint64, float16 … float64, nor of b1, i1 … i8, u1 … u8, f2 … f8, plain or after <, > or |", name)
	}
	return n
}

// refuseBigEndian refuses a type string with big-endian order. The codec "bytes" has
// already swapped the bytes when zarr-python reads elements as this type, so that it
// would swap them again and read wrong values.
func (c *config) refuseBigEndian(field string) {
	var name string
	if err := unmarshal(c.fields[field], &name); err != nil {
		return
	}
	if n, ok := parseNumber(name); ok && n.size() > 1 && name[0] == '>' {
		c.unsupported("%s: %q would swap the bytes again that \"bytes\" has swapped; use \"<%s\"", field, name, n.code())
	}
}

// has reports whether a field is present and not null.
func (c *config) has(field string) bool {
	raw := c.fields[field]
	return raw != nil && string(raw) != "null"
}

// elements returns the number of the elements of in.
func (c *config) elements(in Form) number {
	n, ok := numberOf(in.Type)
	if !ok {
		c.unsupported("elements of %v; it takes bool, integers and floats", in.Type)
	}
	return n
}

// elementType reads a type string that must equal the type of the elements, which is also
// its default.
func (c *config) elementType(field string, in Form) number {
	have := c.elements(in)
	n := c.dtype(field, have)
	if n != have {
		c.fail(field, "%v is not the type of the elements, %v", n, in.Type)
	}
	return n
}

// refuseBool refuses booleans, for which NumPy's arithmetic is logic.
func (c *config) refuseBool(field string, n number) {
	if n == numBool {
		c.fail(field, "bool is not a type to calculate with; want an integer or a float")
	}
}

// convertFill returns the fill value as an element of another type. zarr-python compares
// encoded elements with the unencoded fill value, so the codecs of numcodecs do not
// encode it.
func convertFill(in Form, to number) []byte {
	from, ok := numberOf(in.Type)
	if in.Fill == nil || !ok {
		return nil
	}
	out := make([]byte, to.size())
	convert(out, to, in.Fill, from)
	return out
}

// encodedType returns the type of elements stored as n: t itself if it is n already.
func encodedType(t Type, n number) Type {
	if have, ok := numberOf(t); ok && have == n {
		return t
	}
	return n.typ()
}

// elementwise is embedded by codecs that encode each element independently.
type elementwise struct{}

func (elementwise) encodedRegion(r grid.Region) grid.Region { return r }

// isLossy implements lossReporter: each of them rounds, or cannot encode some numbers.
func (elementwise) isLossy() bool { return true }

// rangeError returns the error for an element that the stored type cannot hold. NumPy
// would store another value silently.
func rangeError(at int, value any, to number) error {
	lo, hi := limits(to)
	return fmt.Errorf("element %d is encoded as %v, out of the range of %v (%v to %v)", at, value, to, lo, hi)
}

func limits(n number) (lo, hi any) {
	switch n {
	case numFloat16:
		return -65504, 65504
	case numFloat32:
		return float32(-math.MaxFloat32), float32(math.MaxFloat32)
	case numFloat64:
		return -math.MaxFloat64, math.MaxFloat64
	}
	return n.integerRange()
}
