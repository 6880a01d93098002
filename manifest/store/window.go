package store

import (
	"varve/codec"
	"varve/grid"
)

// window is a region of an array together with its elements.
type window struct {
	codec.Elems
	region grid.Region
	unit   int // bytes of an element; 0 for elements of varying length
}

func newWindow(e codec.Elems, r grid.Region, t codec.Type) window {
	if t.Varies() {
		return window{e, r, 0}
	}
	return window{e, r, t.Size}
}

// copyFrom copies the elements of box, which both windows contain.
func (w *window) copyFrom(src *window, box grid.Region) error {
	if w.unit == 0 {
		return grid.Copy(grid.Window[[]byte]{Data: w.Var, Region: w.region}, grid.Window[[]byte]{Data: src.Var, Region: src.region}, box, 1)
	}
	return grid.Copy(grid.Window[byte]{Data: w.Fixed, Region: w.region}, grid.Window[byte]{Data: src.Fixed, Region: src.region}, box, int64(w.unit))
}

// slice returns the elements of a box in the window, if they are contiguous.
func (w *window) slice(box grid.Region) (codec.Elems, bool) {
	at, n, ok := contiguousRange(w.region, box)
	if !ok {
		return codec.Elems{}, false
	}
	return w.run(at, n), true
}

// contiguousRange returns the position of a box's n elements among the elements of a region that contains it, if they
// are contiguous.
func contiguousRange(region, box grid.Region) (at, n int64, ok bool) {
	n = 1
	for k, length := range region.Shape {
		if n > 1 && box.Shape[k] != length {
			return 0, 0, false
		}
		at = at*length + box.Origin[k] - region.Origin[k]
		n *= box.Shape[k]
	}
	return at, n, true
}

// run returns n elements from position at.
func (w *window) run(at, n int64) codec.Elems {
	if w.unit == 0 {
		return codec.Elems{Var: w.Var[at : at+n : at+n]}
	}
	unit := int64(w.unit)
	return codec.Elems{Fixed: w.Fixed[at*unit : (at+n)*unit : (at+n)*unit]}
}

// fill sets every element of a box, which the window contains, to the value.
func (w *window) fill(box grid.Region, value []byte) {
	if box.IsEmpty() {
		return
	}
	if e, ok := w.slice(box); ok {
		fillElems(e, value)
		return
	}
	// Recurse over the first long axis: its slices may be contiguous.
	inner := grid.Region{Origin: append([]int64(nil), box.Origin...), Shape: append([]int64(nil), box.Shape...)}
	k := 0
	for inner.Shape[k] == 1 {
		k++
	}
	inner.Shape[k] = 1
	for range box.Shape[k] {
		w.fill(inner, value)
		inner.Origin[k]++
	}
}

// fillElems sets every element to the value; nil means zeros.
func fillElems(e codec.Elems, value []byte) {
	for i := range e.Var {
		e.Var[i] = value
	}
	if isZero(value) {
		clear(e.Fixed)
		return
	}
	// Double the filled part with each copy.
	for n := copy(e.Fixed, value); n < len(e.Fixed); n *= 2 {
		copy(e.Fixed[n:], e.Fixed[:n])
	}
}

func isZero(value []byte) bool {
	for _, b := range value {
		if b != 0 {
			return false
		}
	}
	return true
}
