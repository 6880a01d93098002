package engine

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"

	"varve/codec"
	"varve/grid"
	"varve/manifest/store"
)

const (
	selectOrthogonal = 0
	selectPoints     = 1
)

const (
	axisAt      = 0
	axisSlice   = 1
	axisIndices = 2
)

// read answers with the elements of a selection.
func (s *Server) read(ctx context.Context, l *link, b *body, done func()) error {
	at, err := s.datasets.get(ctx, b.u32())
	if err != nil {
		done()
		return s.fail(l, err)
	}
	defer s.datasets.release(at)
	sel, err := parseSelection(at.store, b)
	if err != nil {
		done()
		return s.fail(l, err)
	}
	form := sel.array.Schema().Form(sel.shape)
	switch {
	case form.Type.Varies():
		return s.readVarying(ctx, l, sel, form, done)
	case sel.staged:
		done() // readStaged itself notices if the client closes the connection
		return s.readStaged(ctx, l, sel, form)
	}
	return s.readPacked(ctx, l, sel, form, done)
}

// rooms has the memory of earlier answers, up to largestRoom bytes each, for reuse.
var rooms = sync.Pool{New: func() any { return new([]byte) }}

const largestRoom = 4 << 20

func (s *Server) readPacked(ctx context.Context, l *link, sel *selection, form codec.Form, done func()) error {
	n := form.Bytes()
	if n < 0 {
		done()
		return s.fail(l, fmt.Errorf("%w: the selection is too large for memory", errRequest))
	}
	room := rooms.Get().(*[]byte)
	if cap(*room) < n {
		*room = make([]byte, n)
	}
	elems := (*room)[:n]
	err := sel.read(ctx, codec.Elems{Fixed: elems})
	done()
	if err != nil {
		err = s.fail(l, err)
	} else {
		err = l.answer(statusDone, elems)
	}
	if cap(*room) <= largestRoom {
		rooms.Put(room)
	}
	return err
}

func (s *Server) readVarying(ctx context.Context, l *link, sel *selection, form codec.Form, done func()) error {
	elems := codec.NewElems(form)
	err := sel.read(ctx, elems)
	done()
	if err != nil {
		return s.fail(l, err)
	}
	lengths := make([]byte, 4*len(elems.Var))
	all := make([]byte, 0, len(elems.Var)*8)
	for i, e := range elems.Var {
		if len(e) > math.MaxUint32 {
			return s.fail(l, fmt.Errorf("%s: an element has %d bytes, more than the protocol carries", sel.array.Path(), len(e)))
		}
		binary.LittleEndian.PutUint32(lengths[4*i:], uint32(len(e)))
		all = append(all, e...)
	}
	return l.answer(statusDone, lengths, all)
}

// selection is the part of an array that a client reads.
type selection struct {
	array  *store.Array
	shape  []int64       // of the output
	region grid.Region   // used if index is nil: the selection is a box
	index  *grid.Indexer // nil for a box
	staged bool          // the client wants the elements in shared memory
}

func (s *selection) read(ctx context.Context, dst codec.Elems) error {
	if s.index != nil {
		return s.array.Read(ctx, s.index, dst)
	}
	return s.array.ReadRegion(ctx, s.region, dst)
}

// parseSelection reads the rest of a read request.
func parseSelection(st *store.Store, b *body) (*selection, error) {
	number, kind, rank := b.u32(), b.u8(), int(b.u8())
	sel := &selection{staged: b.u8() == 1}
	b.u8()
	if b.err != nil {
		return nil, b.err
	}
	arrays := st.Arrays()
	if int64(number) >= int64(len(arrays)) {
		return nil, fmt.Errorf("%w: no array %d", errRequest, number)
	}
	sel.array = arrays[number]
	if rank != sel.array.Grid().Rank() {
		return nil, fmt.Errorf("%w: a selection of %d axes from %s, which has %d", errRequest, rank, sel.array.Path(), sel.array.Grid().Rank())
	}
	if kind == selectPoints {
		return sel, sel.points(b, rank)
	}
	return sel, sel.orthogonal(b, rank)
}

// orthogonal reads one selector for each axis. It makes no indexer for a box, because making one takes longer
// than reading a small box.
func (s *selection) orthogonal(b *body, rank int) error {
	s.region = grid.Region{Origin: make([]int64, rank), Shape: make([]int64, rank)}
	s.shape = make([]int64, 0, rank)
	selectors := make([]grid.Selector, rank)
	isBox := true
	for k := range rank {
		switch b.u8() {
		case axisAt:
			at := b.i64()
			s.region.Origin[k], s.region.Shape[k] = at, 1
			selectors[k] = grid.At(at)
		case axisSlice:
			start, count, step := b.i64(), b.i64(), b.i64()
			if count < 0 || step < 1 || count > 0 && (count-1) > (math.MaxInt64-max(start, 0)-1)/step {
				return fmt.Errorf("%w: %d elements from %d on by %d", errRequest, count, start, step)
			}
			s.region.Origin[k], s.region.Shape[k] = start, count
			s.shape = append(s.shape, count)
			isBox = isBox && (step == 1 || count <= 1)
			stop := start
			if count > 0 {
				stop = start + (count-1)*step + 1
			}
			selectors[k] = grid.Range(start, stop).By(step)
		case axisIndices:
			indices := b.list(b.i64())
			selectors[k] = grid.Indices(indices...)
			s.shape = append(s.shape, int64(len(indices)))
			isBox = false
		default:
			return fmt.Errorf("%w: axis %d has no known selector", errRequest, k)
		}
	}
	if err := b.end(); err != nil || isBox {
		return err
	}
	var err error
	if s.index, err = grid.Orthogonal(s.array.Grid(), selectors...); err != nil {
		return fmt.Errorf("%s: %w", s.array.Path(), err)
	}
	return s.checkShape()
}

// points reads n indices for each axis.
func (s *selection) points(b *body, rank int) (err error) {
	n := b.i64()
	arrays := make([]grid.Array, rank)
	for k := range arrays {
		arrays[k] = grid.Line(b.list(n)...)
	}
	if err := b.end(); err != nil {
		return err
	}
	s.shape = []int64{n}
	if s.index, err = grid.Coordinate(s.array.Grid(), arrays...); err != nil {
		return fmt.Errorf("%s: %w", s.array.Path(), err)
	}
	return s.checkShape()
}

// checkShape returns an error if the selection does not have the shape that the client expects. A slice that
// ends after the end of the axis selects fewer elements.
func (s *selection) checkShape() error {
	got := s.index.Shape()
	for k, n := range s.shape {
		if k >= len(got) || got[k] != n {
			return fmt.Errorf("%s: %w: the selection has shape %v instead of %v", s.array.Path(), grid.ErrOutOfBounds, got, s.shape)
		}
	}
	return nil
}
