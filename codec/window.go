package codec

import "varve/grid"

// window is a box of a chunk and its elements, in C order.
type window struct {
	Elems
	region grid.Region
	unit   int // bytes per element, or varying
}

// varying is the unit of elements of varying length.
const varying = -1

func (t Type) unit() int {
	if t.Varies() {
		return varying
	}
	return t.Size
}

// windowOf returns the window of a whole chunk.
func windowOf(e Elems, f Form) window {
	return window{e, grid.Whole(f.Shape), f.Type.unit()}
}

// copyFrom copies the elements of r from another window.
func (w window) copyFrom(from window, r grid.Region) error {
	if w.unit == varying {
		return grid.Copy(grid.Window[[]byte]{Data: w.Var, Region: w.region}, grid.Window[[]byte]{Data: from.Var, Region: from.region}, r, 1)
	}
	if w.unit == 0 {
		return nil // elements without bytes
	}
	return grid.Copy(grid.Window[byte]{Data: w.Fixed, Region: w.region}, grid.Window[byte]{Data: from.Fixed, Region: from.region}, r, int64(w.unit))
}

// slice returns the elements of r if they are contiguous in w. They are if r spans every
// axis after the first one along which it is longer than 1.
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

// extract returns the elements of r as a chunk of their own: a slice of w if they are
// contiguous, otherwise a copy.
func (w window) extract(r grid.Region, room *scratch, f Form) (Elems, error) {
	if e, ok := w.slice(r); ok {
		return e, nil
	}
	e := room.elems(f)
	return e, window{e, r, w.unit}.copyFrom(w, r)
}
