package grid

import (
	"errors"
	"fmt"
)

// Selector picks indices along one axis. Make one with [At], [Range], [From], [To],
// [All], [Indices], [Where] or [Ellipsis].
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

// At picks one index; the axis does not appear in the output. Negative indices count
// from the end, here and in every other selector.
func At(index int64) Selector { return Selector{kind: selectIndex, start: index} }

// Range picks start up to stop, stop excluded. As in Python, what lies past the axis is
// left out.
func Range(start, stop int64) Selector { return Selector{start: start, stop: stop, step: 1} }

// From picks start and all that follow.
func From(start int64) Selector { return Selector{start: start, step: 1, openStop: true} }

// To picks all before stop.
func To(stop int64) Selector { return Selector{stop: stop, step: 1, openStart: true} }

// All picks the whole axis.
func All() Selector { return Selector{step: 1, openStart: true, openStop: true} }

// By picks only every step-th of a slice. A negative step is refused when the
// indexer is made, as zarr-python does.
func (s Selector) By(step int64) Selector {
	s.step = step
	return s
}

// Indices picks some indices, in any order and any number of times. The list is kept
// and must not change.
func Indices(indices ...int64) Selector {
	return Selector{kind: selectIndices, indices: indices}
}

// Where picks the indices at which mask, which is as long as the axis, is true.
func Where(mask []bool) Selector { return Selector{kind: selectMask, mask: mask} }

// Ellipsis stands for as many whole axes as are not named otherwise.
func Ellipsis() Selector { return Selector{kind: selectEllipsis} }

// NewAxis would add an axis of length 1 to the output. It exists so that a caller who
// translates selections can have it refused by name.
func NewAxis() Selector { return Selector{kind: selectNewAxis} }

// spread replaces an ellipsis and appends whole axes, so that there is one selector
// for each of rank axes.
func expandSelectors(selectors []Selector, rank int) ([]Selector, error) {
	named, at := 0, -1
	for i, s := range selectors {
		switch {
		case s.kind == selectNewAxis:
			return nil, fmt.Errorf("selector %d: a new axis in a selection: %w", i, errors.ErrUnsupported)
		case s.kind != selectEllipsis:
			named++
		case at >= 0:
			return nil, fmt.Errorf("selectors %d and %d: a selection can have one ellipsis only", at, i)
		default:
			at = i
		}
	}
	if named > rank {
		return nil, fmt.Errorf("%d selectors for an array of %d axes", named, rank)
	}
	if at < 0 {
		at = len(selectors)
	}
	all := make([]Selector, 0, rank)
	all = append(all, selectors[:at]...)
	for range rank - named {
		all = append(all, All())
	}
	return append(all, selectors[min(at+1, len(selectors)):]...), nil
}

// index is the place that At names on an axis of n.
func (s Selector) index(n int64) (int64, error) { return wrap(s.start, n) }

// wrap counts a negative index from the end and checks it.
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

// slice is what a slice picks of an axis of n: count indices from start on.
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

// ends clamps a slice's ends to 0 … n.
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
