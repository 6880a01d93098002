package store

import (
	"sync"
	"sync/atomic"

	"varve/codec"
	"varve/grid"
)

// target is a box of the array that several goroutines fill, each with other parts. It is the output of a
// selection that is a box, or the selected part of one declared chunk.
type target struct {
	window
	form codec.Form // of the window

	once    sync.Once
	hasGaps bool         // some elements have no tile, so begin with the fill value
	left    atomic.Int64 // number of parts that are not complete
	finish  func() error // called when all parts are complete; may be nil
	room    *buffer
}

// begin allocates the window, if the caller did not provide it, and fills it if needed. Only the first
// call has an effect.
func (t *target) begin(a *Array) {
	t.once.Do(func() {
		if t.Fixed == nil && t.Var == nil {
			t.Elems, t.room = a.store.elems(t.form)
		}
		if t.hasGaps {
			t.window.fill(t.region, a.fill())
		}
	})
}

// done counts n parts as complete. After the last one it calls finish and releases room.
func (t *target) done(n int64) error {
	if t.left.Add(-n) > 0 {
		return nil
	}
	var err error
	if t.finish != nil {
		err = t.finish()
	}
	t.room.release()
	return err
}

// elems returns memory for the elements of a form. Its content is undefined.
func (s *Store) elems(f codec.Form) (codec.Elems, *buffer) {
	if f.Type.Varies() {
		return codec.NewElems(f), nil
	}
	room := s.buffers.get(f.Bytes())
	return codec.Elems{Fixed: room.bytes}, room
}

// matchesForm reports whether e has the number of elements of the form.
func matchesForm(e codec.Elems, f codec.Form) bool {
	if f.Type.Varies() {
		return len(e.Var) == f.Count()
	}
	return f.Bytes() >= 0 && len(e.Fixed) == f.Bytes()
}

// boxOf returns the region that an indexer selects, if it is a box with its elements in order.
func boxOf(p *grid.Projection, shape []int64) (grid.Region, bool) {
	if p.Axes == nil {
		return grid.Region{}, false
	}
	r, out := grid.MakeRegion(len(p.Axes)), 0
	for k := range p.Axes {
		a := &p.Axes[k]
		length := int64(1)
		if !a.Dropped {
			length = shape[out]
			out++
		}
		if a.Index != nil || a.Place != nil || a.Step != 1 && length > 1 {
			return r, false
		}
		r.Origin[k], r.Shape[k] = p.Origin[k]+a.Start, length
	}
	return r, true
}
