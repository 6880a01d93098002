package present

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/manifest/store"
)

// Part is a part of a dataset. Its zero value is the whole.
type Part struct {
	// Vars are patterns of path.Match for the paths of arrays without the first slash. The arrays that these need, such as
	// coordinates, are kept too. No patterns keep all arrays.
	Vars []string
	// Index and Label are terms as in Selection.ByIndex and Selection.ByCoordinate. A term narrows the arrays that have its
	// dimension. One selected index leaves a dimension of length 1.
	Index, Label []string
}

// IsWhole reports whether the part is the whole dataset.
func (p *Part) IsWhole() bool { return len(p.Vars)+len(p.Index)+len(p.Label) == 0 }

// mostRanges is the largest number of ranges of indices along a dimension, such as those of a step.
const mostRanges = 1 << 16

// Cut returns a store with a part of a dataset: see store.Store.Cut. It returns st itself for the whole.
func (p *Part) Cut(ctx context.Context, st *store.Store) (*store.Store, error) {
	if p.IsWhole() {
		return st, nil
	}
	arrays, err := p.arrays(st)
	if err != nil {
		return nil, err
	}
	selections, err := SelectAll(ctx, st, arrays, p.Index, p.Label)
	if err != nil {
		return nil, err
	}
	parts := make([]store.Part, len(arrays))
	for i, s := range selections {
		parts[i] = store.Part{Array: arrays[i], Ranges: make([][]store.Range, len(s.Axes))}
		for k, x := range s.Axes {
			if !x.narrowed {
				continue
			}
			if parts[i].Ranges[k], err = x.ranges(); err != nil {
				return nil, fmt.Errorf("%s: %w", arrays[i].Path(), err)
			}
		}
	}
	return st.Cut(ctx, parts)
}

// arrays returns the arrays of the part, in the order of the store.
func (p *Part) arrays(st *store.Store) ([]*store.Array, error) {
	if len(p.Vars) == 0 {
		return st.Arrays(), nil
	}
	kept := map[*store.Array]bool{}
	var keep func(a *store.Array)
	keep = func(a *store.Array) {
		if !kept[a] {
			kept[a] = true
			for _, b := range related(st, a) {
				keep(b)
			}
		}
	}
	for _, pattern := range p.Vars {
		isFound := false
		for _, a := range st.Arrays() {
			ok, err := path.Match(strings.Trim(pattern, "/"), strings.TrimPrefix(a.Path(), "/"))
			if err != nil {
				return nil, &SelectionError{pattern, err}
			}
			if ok {
				isFound = true
				keep(a)
			}
		}
		if !isFound {
			return nil, &SelectionError{pattern, store.ErrNoArray}
		}
	}
	return slices.DeleteFunc(slices.Clone(st.Arrays()), func(a *store.Array) bool { return !kept[a] }), nil
}

// ranges returns the selected indices as ranges.
func (x Axis) ranges() (list []store.Range, err error) {
	if x.List == nil && x.Step == 1 {
		return []store.Range{{From: x.From, To: max(x.From, x.To)}}, nil
	}
	for i := range x.Len() {
		at := x.At(i)
		if n := len(list); n > 0 && list[n-1].To == at {
			list[n-1].To++
			continue
		}
		if len(list) == mostRanges {
			return nil, fmt.Errorf("dimension %s: more than %d ranges of indices: %w; select a range without a step", x.Dim, mostRanges, errors.ErrUnsupported)
		}
		list = append(list, store.Range{From: at, To: at + 1})
	}
	if list == nil {
		list = []store.Range{{}}
	}
	return list, nil
}
