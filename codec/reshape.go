package codec

import (
	"encoding/json"
	"fmt"
)

// reshape gives a chunk another shape. The elements and their order stay the same.
//
// Specification: zarr-extensions, codecs/reshape. A member of shape is a length, or a list of axes of the chunk that become
// one axis. One member may be -1: then its length follows from the others.
//
//	{"name": "reshape", "configuration": {"shape": [[0, 1], 10, -1]}}
type reshape struct {
	axes []reshapedAxis
	text string // the configured shape
}

// reshapedAxis is an axis of the reshaped chunk.
type reshapedAxis struct {
	from   []int // axes of the chunk that it is made of; nil if length says how long it is
	length int64 // -1: it follows from the others
}

func newReshape(c *config, in Form) (Codec, error) {
	raw := c.take("shape")
	var list []json.RawMessage
	if raw == nil || unmarshal(raw, &list) != nil || list == nil {
		c.fail("shape", "want a list of lengths and of lists of axes")
		return nil, c.err
	}
	r := &reshape{text: string(raw)}
	last, rest := -1, 0
	for i, item := range list {
		a := reshapedAxis{}
		switch {
		case unmarshal(item, &a.length) == nil && (a.length > 0 || a.length == -1):
			if a.length == -1 {
				rest++
			}
		case len(item) > 0 && item[0] == '[' && unmarshal(item, &a.from) == nil:
			a.from = append([]int{}, a.from...) // not nil, even if it is empty
			for _, axis := range a.from {
				if axis <= last || axis >= len(in.Shape) {
					c.fail("shape", "axis %d of member %d: axes must ascend from 0 to at most %d", axis, i, len(in.Shape)-1)
				}
				last = axis
			}
		default:
			c.fail("shape", "member %d is neither a positive length, nor -1, nor a list of axes: %s", i, abbreviate(item))
		}
		r.axes = append(r.axes, a)
	}
	if rest > 1 {
		c.fail("shape", "more than one member is -1")
	}
	if len(r.axes) == 0 {
		c.unsupported("a shape without axes")
	}
	return r, c.err
}

func (r *reshape) DecodeKey() string { return "reshape" + r.text }

// Encoded implements ArrayToArray.
func (r *reshape) Encoded(in Form) (Form, error) {
	shape := make([]int64, len(r.axes))
	rest := -1
	for i, a := range r.axes {
		switch {
		case a.from == nil && a.length == -1:
			rest = i
		case a.from == nil:
			shape[i] = a.length
		default:
			shape[i] = 1
			for _, axis := range a.from {
				shape[i] *= in.Shape[axis]
			}
		}
	}
	whole := count(in.Shape)
	if rest >= 0 {
		shape[rest] = 1
		others := count(shape)
		if others <= 0 || whole%others != 0 {
			return in, fmt.Errorf("shape %s: chunks of shape %v cannot be divided by the other axes", r.text, in.Shape)
		}
		shape[rest] = whole / others
	}
	if whole < 0 || count(shape) != whole {
		return in, fmt.Errorf("shape %s: chunks of shape %v would have another number of elements, as %v", r.text, in.Shape, shape)
	}
	// An axis that is made of axes must be at the same place among the elements.
	for i, a := range r.axes {
		if len(a.from) == 0 {
			continue
		}
		if begin, end := a.from[0], a.from[len(a.from)-1]+1; count(shape[:i]) != count(in.Shape[:begin]) || count(shape[i+1:]) != count(in.Shape[end:]) {
			return in, fmt.Errorf("shape %s: chunks of shape %v would be transposed, as %v", r.text, in.Shape, shape)
		}
	}
	in.Shape = shape
	return in, nil
}

// count returns the number of elements of a shape, or a negative number if there are too many.
func count(shape []int64) int64 { return int64(Form{Shape: shape}.Count()) }

func (r *reshape) Encode(dst, src Elems, _ Form) error {
	copy(dst.Fixed, src.Fixed)
	copy(dst.Var, src.Var)
	return nil
}

func (r *reshape) Decode(dst, src Elems, in Form) error { return r.Encode(dst, src, in) }
