package store

import (
	"sync"
	"sync/atomic"

	"varve/codec"
	"varve/grid"
)

// target is a box of the array that is being filled, by any number of goroutines, each of
// them with parts of its own: the output of a selection that is a box, else what a selection
// takes of one declared chunk.
type target struct {
	window
	form codec.Form // of the window

	once   sync.Once
	fills  bool // cells are in no tile: all are made fill first
	left   atomic.Int64
	finish func() error // when all parts are in their places; may be nil
	room   *buffer
}

// begin makes the window's memory, if it is the target's own.
func (t *target) begin(a *Array) {
	t.once.Do(func() {
		if t.Fixed == nil && t.Var == nil {
			t.Elems, t.room = a.store.elems(t.form)
		}
		if t.fills {
			t.window.fill(t.region, a.fill())
		}
	})
}

// done says that n parts are in their places.
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

// elems returns room for the elements of a form. What is in it is anything.
func (s *Store) elems(f codec.Form) (codec.Elems, *buffer) {
	if f.Type.Varies() {
		return codec.NewElems(f), nil
	}
	room := s.buffers.get(f.Bytes())
	return codec.Elems{Fixed: room.bytes}, room
}

// holds reports whether elements are as many as a form has.
func holds(e codec.Elems, f codec.Form) bool {
	if f.Type.Varies() {
		return len(e.Var) == f.Count()
	}
	return f.Bytes() >= 0 && len(e.Fixed) == f.Bytes()
}

// boxOf is the region that an indexer selects, if that is a box whose elements come in order.
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
