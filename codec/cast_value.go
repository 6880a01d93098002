package codec

import (
	"encoding/json"
	"fmt"

	"varve/codec/internal/corrupt"
)

// castValue stores elements as another type. Its configuration has rules for values that
// this type cannot hold.
//
// Specification: zarr-extensions, codecs/cast_value; zarr-python uses cast-value-rs for
// it.
//
//	{"name": "cast_value", "configuration": {"data_type": "int16", "rounding": "nearest-even",
//	  "out_of_range": "clamp", "scalar_map": {"encode": [["NaN", -1]], "decode": [[-1, "NaN"]]}}}
//
// A value in "scalar_map" is replaced by its counterpart; the first matching entry wins.
// Any other value is rounded and, if it is out of range, clamped, wrapped or refused.
// Decoding applies the same rules in the other direction. Infinities and NaN become
// integers by the map only: like cast-value-rs, varve does not clamp infinities. The fill
// value is encoded too.
type castValue struct {
	elementwise
	encode, decode cast
}

// cast converts elements from one type to another.
type cast struct {
	to, from   number
	rounding   rounding
	outOfRange outOfRange
	pairs      []castPair
}

// outOfRange is the rule for values out of range.
type outOfRange int

const (
	clampValues outOfRange = iota
	wrapValues
	failOnValues
)

// castPair is an entry of the scalar map.
type castPair struct {
	word  uint64  // the value to replace, for integers
	float float64 // the value to replace, for floats
	to    []byte
}

// maxPairs limits the number of comparisons per element that a configuration can ask for.
const maxPairs = 256

func newCastValue(c *config, in Form) (Codec, error) {
	decoded := c.elements(in)
	if c.err == nil && (decoded == numBool || in.Type.Kind == DateTime || in.Type.Kind == TimeDelta) {
		c.unsupported("elements of %v; it takes integers and floats", in.Type)
	}
	stored := c.castType("data_type")
	round := rounding(c.choice("rounding", 0, "nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away"))
	out := outOfRange(c.choice("out_of_range", int(failOnValues), "clamp", "wrap"))
	if c.err == nil && out == wrapValues && stored.isFloat() {
		c.fail("out_of_range", "\"wrap\" is for integers, and data_type is %v", stored)
	}
	if c.err != nil {
		return nil, c.err
	}
	v := &castValue{encode: cast{to: stored, from: decoded, rounding: round, outOfRange: out}}
	v.decode = cast{to: decoded, from: stored, rounding: round, outOfRange: out}
	c.scalarMap(v)
	return v, c.err
}

// castType reads the type that elements are stored as: a name, or an object with a name.
func (c *config) castType(field string) number {
	raw := c.take(field)
	var name string
	var named struct{ Name string }
	if json.Unmarshal(raw, &name) != nil && json.Unmarshal(raw, &named) == nil {
		name = named.Name
	}
	for n := numInt8; n <= numFloat64; n++ {
		if n.String() == name {
			return n
		}
	}
	const allowed = "one of int8 … int64, uint8 … uint64, float16 … float64"
	if raw == nil {
		c.fail(field, "missing; want %s", allowed)
	}
	c.fail(field, "%s is not %s", abbreviate(raw), allowed) // fail keeps the first error
	return 0
}

// scalarMap reads the pairs of both directions.
func (c *config) scalarMap(v *castValue) {
	raw := c.take("scalar_map")
	if raw == nil {
		return
	}
	var fields map[string]json.RawMessage
	if err := unmarshal(raw, &fields); err != nil {
		c.fail("scalar_map", "%s is not an object with \"encode\" and \"decode\"", abbreviate(raw))
	}
	for field, list := range fields {
		switch field {
		case "encode":
			c.castPairs("scalar_map.encode", list, &v.encode)
		case "decode":
			c.castPairs("scalar_map.decode", list, &v.decode)
		default:
			c.fail("scalar_map."+field, "unknown configuration; want \"encode\" or \"decode\"")
		}
	}
}

func (c *config) castPairs(field string, raw []byte, to *cast) {
	var list [][]json.RawMessage
	if err := unmarshal(raw, &list); err != nil {
		c.fail(field, "%s is not a list of pairs", abbreviate(raw))
	}
	if len(list) > maxPairs {
		c.fail(field, "%d pairs; at most %d are allowed", len(list), maxPairs)
	}
	for i, pair := range list {
		if len(pair) != 2 {
			c.fail(field, "entry %d has %d values; want 2", i, len(pair))
		}
		if c.err != nil {
			return
		}
		from := c.scalarOf(field, pair[0], to.from)
		value := c.scalarOf(field, pair[1], to.to)
		if c.err != nil {
			return
		}
		p := castPair{to: value}
		if to.from.isFloat() {
			p.float = floatValue(from, to.from)
		} else {
			p.word = wordOf(from, to.from)
		}
		to.pairs = append(to.pairs, p)
	}
}

func (v *castValue) DecodeKey() string {
	d := v.decode
	if len(d.pairs) == 0 && d.to.canHold(d.from) {
		return castKey(d.to, d.from)
	}
	key := fmt.Sprintf("cast_value:%v:%v:%d:%d", d.to, d.from, d.rounding, d.outOfRange)
	for _, p := range d.pairs {
		key += fmt.Sprintf(":%x=%v=%x", p.word, p.float, p.to)
	}
	return key
}

func (v *castValue) Encoded(in Form) (Form, error) {
	fill := in.Fill
	if fill == nil {
		fill = make([]byte, in.Type.Size)
	}
	out := make([]byte, v.encode.to.size())
	if err := v.encode.run(out, fill); err != nil {
		return in, fmt.Errorf("fill value: %w", err)
	}
	in.Fill, in.Type = out, v.encode.to.typ()
	return in, nil
}

func (v *castValue) Encode(dst, src Elems, _ Form) error {
	return v.encode.run(dst.Fixed, src.Fixed)
}

func (v *castValue) Decode(dst, src Elems, _ Form) error {
	if err := v.decode.run(dst.Fixed, src.Fixed); err != nil {
		return corrupt.Errorf("%w", err)
	}
	return nil
}
