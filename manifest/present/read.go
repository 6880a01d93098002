package present

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest/store"
)

// Sel selects part of an array. Dimensions that it does not name are complete.
type Sel struct {
	// Label selects by coordinate, as Selection.ByCoordinate: "time": "2010-02", "lat": "-5:5".
	Label map[string]string
	// Index selects by index, as Selection.ByIndex: "time": "0:10", "lat": "::-1", "lon": "[1,5,30]".
	Index map[string]string
}

// Value is the type of decoded elements. Missing numbers are NaN. Times are numbers in their units if they are
// read as floats, and dates if they are read as strings.
type Value interface{ float32 | float64 | string }

// Values are the decoded elements of a selection.
type Values[T Value] struct {
	Dims  []string // the dimensions, without those along which one index is selected
	Shape []int64
	Data  []T // in C order
}

// mostValues is the largest number of values that Read returns. Go cannot allocate slices that are much longer.
const mostValues int64 = 1 << 40

// Read reads and decodes part of an array of a store. It applies scale_factor, add_offset, fill values and,
// for strings, the units of times.
func Read[T Value](ctx context.Context, st *store.Store, array string, sel Sel) (*Values[T], error) {
	a, err := st.Array(array)
	if err != nil {
		return nil, err
	}
	s := Whole(a)
	if err := s.ByIndex(termsOf(sel.Index)); err != nil {
		return nil, err
	}
	if err := s.ByCoordinate(ctx, st, termsOf(sel.Label)); err != nil {
		return nil, err
	}
	d, err := NewDecoder(a, nil)
	if err != nil {
		return nil, err
	}
	n, err := grid.Elements(s.Shape())
	if err == nil && n > mostValues {
		err = fmt.Errorf("%d values are selected, but a result can have at most %d: %w", n, mostValues, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	}
	values := &Values[T]{Dims: []string{}, Shape: s.Shape(), Data: make([]T, n)}
	for _, x := range s.Axes {
		if !x.Single {
			values.Dims = append(values.Dims, x.Dim)
		}
	}
	decode, err := decoderTo(d, values.Data)
	if err != nil {
		return nil, err
	}
	return values, s.Each(ctx, decode)
}

// termsOf returns the terms of a map, in order.
func termsOf(sel map[string]string) []string {
	terms := make([]string, 0, len(sel))
	for _, dim := range slices.Sorted(maps.Keys(sel)) {
		terms = append(terms, dim+"="+sel[dim])
	}
	return terms
}

// decoderTo returns a function that decodes successive blocks to dst.
func decoderTo[T Value](d *Decoder, dst []T) (func(codec.Elems) error, error) {
	count := func(elems codec.Elems) int {
		if d.typ.Varies() {
			return len(elems.Var)
		}
		return len(elems.Fixed) / d.typ.Size
	}
	switch dst := any(dst).(type) {
	case []float64:
		return func(elems codec.Elems) error {
			n := count(elems)
			d.Float64s(dst[:n], elems.Fixed)
			dst = dst[n:]
			return nil
		}, d.IsNumeric()
	case []float32:
		var wide []float64
		return func(elems codec.Elems) error {
			n := count(elems)
			wide = slices.Grow(wide[:0], n)[:n]
			d.Float64s(wide, elems.Fixed)
			for i, v := range wide {
				dst[i] = float32(v)
			}
			dst = dst[n:]
			return nil
		}, d.IsNumeric()
	case []string:
		return func(elems codec.Elems) error {
			n := count(elems)
			for i := range n {
				text, err := d.Text(d.element(elems, int64(i)))
				if err != nil {
					return fmt.Errorf("%s: %w", d.array.Path(), err)
				}
				dst[i] = text
			}
			dst = dst[n:]
			return nil
		}, nil
	}
	return nil, fmt.Errorf("%s: no values of this type", d.array.Path()) // Value has no other types
}
