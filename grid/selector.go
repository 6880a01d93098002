package grid

import (
	"errors"
	"fmt"
)

// Selector selects indices along one axis. [At], [Range], [From], [To], [All], [Indices],
// [Where] and [Ellipsis] return one.
type Selector struct {
	kind              selectorKind
	start, stop, step int64
	openStart         bool
	openStop          bool
	indices           []int64
	mask              []bool
}

type selectorKind uint8

const (
	selectSlice selectorKind = iota
	selectIndex
	selectIndices
	selectMask
	selectEllipsis
	selectNewAxis
)

func (k selectorKind) String() string {
	return [...]string{"a slice", "an index", "a list of indices", "a mask", "an ellipsis", "a new axis"}[k]
}

// At selects one index; the output does not have the axis. Negative indices count from
// the end, here and in every other selector.
func At(index int64) Selector { return Selector{kind: selectIndex, start: index} }

// Range selects start … stop−1. As in Python, indices outside the axis are ignored.
func Range(start, stop int64) Selector { return Selector{start: start, stop: stop, step: 1} }

// From selects start and all indices after it.
func From(start int64) Selector { return Selector{start: start, step: 1, openStop: true} }

// To selects all indices before stop.
func To(stop int64) Selector { return Selector{stop: stop, step: 1, openStart: true} }

// All selects the whole axis.
func All() Selector { return Selector{step: 1, openStart: true, openStop: true} }

// By selects only every step-th index of a slice. As in zarr-python, making an indexer
// with a negative step is an error.
func (s Selector) By(step int64) Selector {
	s.step = step
	return s
}

// Indices selects the given indices, in any order and with repetitions. It keeps the
// list, which the caller must not change.
func Indices(indices ...int64) Selector {
	return Selector{kind: selectIndices, indices: indices}
}

// Where selects the indices at which mask is true. The mask has the length of the axis.
func Where(mask []bool) Selector { return Selector{kind: selectMask, mask: mask} }

// Ellipsis selects all axes that have no other selector.
func Ellipsis() Selector { return Selector{kind: selectEllipsis} }

// NewAxis is always refused: no indexer adds an axis to the output. It exists so that a
// caller who translates selections gets an error that names it.
func NewAxis() Selector { return Selector{kind: selectNewAxis} }

// expandSelectors replaces an ellipsis and appends whole axes, so that the result has one
// selector for each of rank axes.
func expandSelectors(selectors []Selector, rank int) ([]Selector, error) {
	count, ellipsis := 0, -1
	for i, s := range selectors {
		switch {
		case s.kind == selectNewAxis:
			return nil, fmt.Errorf("selector %d: a new axis in a selection: %w", i, errors.ErrUnsupported)
		case s.kind != selectEllipsis:
			count++
		case ellipsis >= 0:
			return nil, fmt.Errorf("selectors %d and %d: a selection can have one ellipsis only", ellipsis, i)
		default:
			ellipsis = i
		}
	}
	if count > rank {
		return nil, fmt.Errorf("%d selectors for an array of %d axes", count, rank)
	}
	if ellipsis < 0 {
		ellipsis = len(selectors) // whole axes go last
	}
	all := make([]Selector, 0, rank)
	all = append(all, selectors[:ellipsis]...)
	for range rank - count {
		all = append(all, All())
	}
	return append(all, selectors[min(ellipsis+1, len(selectors)):]...), nil
}

// index returns the index that At selects on an axis of length n.
func (s Selector) index(n int64) (int64, error) { return wrap(s.start, n) }

// wrap counts a negative index from the end and checks its bounds.
func wrap(index, n int64) (int64, error) {
	at := index
	if at < 0 {
		at += n
	}
	switch {
	case at >= 0 && at < n:
		return at, nil
	case n == 0:
		return 0, fmt.Errorf("index %d: %w: the axis has length 0", index, ErrOutOfBounds)
	}
	return 0, fmt.Errorf("index %d: %w: %d to %d is allowed", index, ErrOutOfBounds, -n, n-1)
}

// slice returns the indices that a slice selects on an axis of length n: count of them,
// from start on.
func (s Selector) slice(n int64) (start, count int64, err error) {
	if s.step < 0 {
		return 0, 0, fmt.Errorf("step %d: a negative step: %w; read forwards and reverse the result", s.step, errors.ErrUnsupported)
	}
	if s.step == 0 {
		return 0, 0, errors.New("step 0: must be at least 1")
	}
	start, stop := s.ends(n)
	if stop <= start {
		return start, 0, nil
	}
	return start, ceilDiv(stop-start, s.step), nil
}

// ends returns a slice's start and stop, clamped to 0 … n.
func (s Selector) ends(n int64) (start, stop int64) {
	start, stop = clamp(s.start, n), clamp(s.stop, n)
	if s.openStart {
		start = 0
	}
	if s.openStop {
		stop = n
	}
	return start, stop
}

func clamp(index, n int64) int64 {
	if index < 0 {
		index += n
	}
	return max(0, min(index, n))
}
