package scan

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"varve/codec"
	"varve/readers"
)

// unfold returns a variable whose elements are not arrays. If the elements of v are arrays, their axes become
// the last axes of the variable, as in h5py. The stored bytes are unchanged.
func (e *entry) unfold() (*readers.Variable, error) {
	v, out := e.v, &e.out
	t, inner := flatten(v.Type)
	if len(inner) == 0 {
		return v, nil
	}
	_, endian, plain := t.Plain()
	if !plain || v.Storage.Layout == readers.Virtual {
		return nil, fmt.Errorf("elements of type %.200s have no counterpart in Zarr: %w", v.Type, errors.ErrUnsupported)
	}
	flat := *v
	flat.Type = t
	flat.Storage.ChunkShape = slices.Clone(v.Storage.ChunkShape)
	flat.Storage.Pipeline.Bytes = codec.InOrder(endian)
	for i, n := range inner {
		d := &readers.Dimension{Path: fmt.Sprintf("%s#%s_element_dim_%d", v.Path, v.Name, i), Length: uint64(n), Anonymous: true}
		e.addDimension(d)
		out.Dims, out.Shape = append(out.Dims, d.Path), append(out.Shape, int64(n))
		if v.Storage.Layout == readers.Chunked {
			flat.Storage.ChunkShape = append(flat.Storage.ChunkShape, uint64(n))
		}
	}
	fill := v.Fill.Value
	one := fill[:min(t.Size, len(fill))]
	if len(fill) > 0 && !bytes.Equal(fill, bytes.Repeat(one, len(fill)/len(one))) {
		return nil, fmt.Errorf("the fill value is an array with different elements, which Zarr cannot describe: %w", errors.ErrUnsupported)
	}
	flat.Fill.Value = one
	return &flat, nil
}

// flatten returns the element type of nested array types, and the lengths of all their axes.
func flatten(t *readers.Type) (*readers.Type, []int) {
	var inner []int
	for t.Class == readers.Array && t.InMemory == nil {
		inner, t = append(inner, t.Dims...), t.Base
	}
	return t, inner
}
