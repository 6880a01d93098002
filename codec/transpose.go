package codec

import (
	"fmt"
	"slices"

	"varve/grid"
)

// transpose stores the axes of a chunk in another order.
//
// Specification: Zarr v3, codecs/transpose. Axis i of the stored chunk is axis order[i]
// of the chunk. Drafts also had the orders "C" and "F". Clients refuse them, so package
// zarrjson converts them.
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
	in.Shape = permute(in.Shape, t.order)
	return in, nil
}

func (t *transpose) Encode(dst, src Elems, in Form) error {
	return transposeElems(dst, src, in, t.order)
}

func (t *transpose) Decode(dst, src Elems, in Form) error {
	stored := in
	stored.Shape = permute(in.Shape, t.order)
	return transposeElems(dst, src, stored, t.inverse)
}

func (t *transpose) encodedRegion(r grid.Region) grid.Region {
	return grid.Region{Origin: permute(r.Origin, t.order), Shape: permute(r.Shape, t.order)}
}

// permute returns s in the given order.
func permute(s []int64, order []int) []int64 {
	out := make([]int64, len(order))
	for i, o := range order {
		out[i] = s[o]
	}
	return out
}

// transposeElems fills dst so that its axis i is axis order[i] of src.
func transposeElems(dst, src Elems, in Form, order []int) error {
	if in.Type.Varies() {
		return grid.Transpose(dst.Var, src.Var, in.Shape, order, 1)
	}
	return grid.Transpose(dst.Fixed, src.Fixed, in.Shape, order, int64(in.Type.Size))
}
