package codec

import "varve/grid"

// window is the elements of a box of a chunk, in C order.
type window struct {
	Elems
	region grid.Region
	unit   int // bytes an element, or varying
}

// varying is the unit of elements that have lengths of their own.
const varying = -1

func (t Type) unit() int {
	if t.Varies() {
		return varying
	}
	return t.Size
}

// windowOf is the window that holds all of a chunk.
func windowOf(e Elems, f Form) window {
	return window{e, grid.Whole(f.Shape), f.Type.unit()}
}

// put copies the elements of r from another window.
func (w window) put(from window, r grid.Region) error {
	if w.unit == varying {
		return grid.Copy(grid.Window[[]byte]{Data: w.Var, Region: w.region}, grid.Window[[]byte]{Data: from.Var, Region: from.region}, r, 1)
	}
	if w.unit == 0 {
		return nil // elements without bytes
	}
	return grid.Copy(grid.Window[byte]{Data: w.Fixed, Region: w.region}, grid.Window[byte]{Data: from.Fixed, Region: from.region}, r, int64(w.unit))
}

// slice returns the elements of r, if they lie side by side in w. That is so where
// every axis behind the first one of r longer than 1 is spanned.
func (w window) slice(r grid.Region) (Elems, bool) {
	first := 0
	for first < len(r.Shape) && r.Shape[first] == 1 {
		first++
	}
	at, n := int64(0), int64(1)
	for k, length := range w.region.Shape {
		if k > first && r.Shape[k] != length {
			return Elems{}, false
		}
		at = at*length + r.Origin[k] - w.region.Origin[k]
		n *= r.Shape[k]
	}
	if w.unit == varying {
		return Elems{Var: w.Var[at : at+n]}, true
	}
	unit := int64(w.unit)
	return Elems{Fixed: w.Fixed[at*unit : (at+n)*unit]}, true
}

// take returns the elements of r as a chunk of their own: as they lie in w, or copied.
func (w window) take(r grid.Region, room *scratch, f Form) (Elems, error) {
	if e, ok := w.slice(r); ok {
		return e, nil
	}
	e := room.elems(f)
	return e, window{e, r, w.unit}.put(w, r)
}
