package codec

import (
	"fmt"
	"slices"
)

// transpose stores the axes of a chunk in another order.
//
// Specification: Zarr v3, codecs/transpose. Axis i of the stored chunk is axis
// order[i] of the chunk. The old spellings "C" and "F" are refused, as clients do.
//
//	{"name": "transpose", "configuration": {"order": [1, 0]}}
type transpose struct {
	order   []int
	inverse []int
}

func newTranspose(c *config, in Form) (Codec, error) {
	order := c.integers("order", 0)
	if c.err != nil {
		return nil, c.err
	}
	inverse := make([]int, len(order))
	for i := range inverse {
		inverse[i] = slices.Index(order, i)
		if inverse[i] < 0 {
			c.fail("order", "%v does not hold every axis from 0 to %d once", order, len(order)-1)
		}
	}
	if len(order) != len(in.Shape) {
		c.fail("order", "%v has %d axes, the array %d", order, len(order), len(in.Shape))
	}
	return &transpose{order, inverse}, nil
}

func (t *transpose) DecodeKey() string {
	if slices.IsSorted(t.order) {
		return ""
	}
	return fmt.Sprint("transpose", t.order)
}

func (t *transpose) Encoded(in Form) (Form, error) {
	in.Shape = permuted(in.Shape, t.order)
	return in, nil
}

func (t *transpose) Encode(dst, src Elems, in Form) error {
	transposeElems(dst, src, in, t.order)
	return nil
}

func (t *transpose) Decode(dst, src Elems, in Form) error {
	stored := in
	stored.Shape = permuted(in.Shape, t.order)
	transposeElems(dst, src, stored, t.inverse)
	return nil
}

func (t *transpose) encodedRegion(origin, shape []int) ([]int, []int) {
	return permuted(origin, t.order), permuted(shape, t.order)
}

func permuted(s, order []int) []int {
	out := make([]int, len(order))
	for i, o := range order {
		out[i] = s[o]
	}
	return out
}

// transposeElems fills dst so that its axis i is axis order[i] of src.
func transposeElems(dst, src Elems, in Form, order []int) {
	strides := make([]int, len(in.Shape))
	n := 1
	for i := len(strides) - 1; i >= 0; i-- {
		strides[i] = n
		n *= in.Shape[i]
	}
	if n == 0 {
		return
	}
	w := newWalk(permuted(in.Shape, order), permuted(strides, order))
	if in.Type.Varies() {
		w.each(func(to, from, count, step int) {
			for i := range count {
				dst.Var[to+i] = src.Var[from+i*step]
			}
		})
		return
	}
	size := in.Type.Size
	w.each(func(to, from, count, step int) {
		copyStrided(dst.Fixed[to*size:(to+count)*size], src.Fixed[from*size:], size, step*size)
	})
}
