package codec

import (
	"errors"
	"fmt"
	"math"

	"varve/grid"
)

// unsupported keeps an error that says what the codec exists for and does not take.
func (c *config) unsupported(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("codec %q: %s: %w", c.codec, fmt.Sprintf(format, args...), errors.ErrUnsupported)
	}
}

// dtype reads a type string; absent is 0 where there must be one.
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

// notBig refuses a type string that calls the stored elements big-endian. What "bytes" has
// made elements of zarr-python then takes for words of the other byte order, whatever that
// codec says, and reads other values than anybody wrote.
func (c *config) notBig(field string) {
	var name string
	if err := unmarshal(c.fields[field], &name); err != nil {
		return
	}
	if n, ok := parseNumber(name); ok && n.size() > 1 && name[0] == '>' {
		c.unsupported("%s: %q turns the bytes of elements that \"bytes\" has put in order; spell it \"<%s\"", field, name, n.code())
	}
}

// has reports whether a field is given.
func (c *config) has(field string) bool {
	raw := c.fields[field]
	return raw != nil && string(raw) != "null"
}

// elements returns the number that the elements of in are.
func (c *config) elements(in Form) number {
	n, ok := numberOf(in.Type)
	if !ok {
		c.unsupported("elements of %v; it takes bool, integers and floats", in.Type)
	}
	return n
}

// declared reads the type string that repeats the type of the elements, which is also
// what it means where it is absent.
func (c *config) declared(field string, in Form) number {
	have := c.elements(in)
	n := c.dtype(field, have)
	if n != have {
		c.fail(field, "%v is not the type of the elements, %v", n, in.Type)
	}
	return n
}

// notBool refuses booleans, with which NumPy does not calculate as with numbers.
func (c *config) notBool(field string, n number) {
	if n == numBool {
		c.fail(field, "bool is not a type to calculate with; want an integer or a float")
	}
}

// convertFill returns the fill value as an element of another type. It is the fill
// value behind the codecs of numcodecs, since zarr-python compares what they encoded
// with the fill value as it is.
func convertFill(in Form, to number) []byte {
	from, ok := numberOf(in.Type)
	if in.Fill == nil || !ok {
		return nil
	}
	out := make([]byte, to.size())
	convert(out, to, in.Fill, from)
	return out
}

// encodedType returns the type of elements stored as n, which stays t where that is
// what they are anyway.
func encodedType(t Type, n number) Type {
	if have, ok := numberOf(t); ok && have == n {
		return t
	}
	return n.typ()
}

// elementwise is embedded by codecs that encode every element by itself.
type elementwise struct{}

func (elementwise) encodedRegion(r grid.Region) grid.Region { return r }

// loses implements lossy: each of them rounds, or has no place for some numbers.
func (elementwise) loses() bool { return true }

// misfit says that an element has no place in the type it is stored as. NumPy would
// store some other value and say nothing.
func misfit(at int, value any, to number) error {
	lo, hi := limits(to)
	return fmt.Errorf("element %d becomes %v, which %v, from %v to %v, does not hold", at, value, to, lo, hi)
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
