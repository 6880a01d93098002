// Package present converts regions of arrays to statistics, tables, pictures, and files for other programs.
// It supports selection by index and by coordinate, and decodes numbers by CF attributes.
package present

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
)

// Selection is a region of an array. Axes that were not selected are complete.
type Selection struct {
	Array *store.Array
	Axes  []Axis
	// Progress, if set, is called with the number of written elements.
	Progress func(done, total int64)
	// BlockBytes is the approximate size of a block, in which the selection is read; 0 means 32 MiB. Up to 8 times more are
	// read at once if that is needed to decode chunks only once.
	BlockBytes int64
}

// Axis is the selection along one dimension: From, From+Step, … before To. A negative Step
// counts down, and To is then at least -1.
type Axis struct {
	Dim            string
	From, To, Step int64
	List           []int64 // if not nil, the selected indices, in any order; From, To and Step are ignored
	Single         bool    // one index; the result has no axis for it

	narrowed bool
}

// Len returns the number of indices.
func (x Axis) Len() int64 {
	switch {
	case x.List != nil:
		return int64(len(x.List))
	case x.Step < 0 && x.From > x.To:
		return int64(uint64(x.From-x.To-1)/uint64(-x.Step)) + 1 // -x.Step may be 2^63
	case x.Step > 0 && x.From < x.To:
		return (x.To-x.From-1)/x.Step + 1
	}
	return 0
}

// At returns the selected index at a position, which is below Len.
func (x Axis) At(position int64) int64 {
	if x.List != nil {
		return x.List[position]
	}
	return x.From + position*x.Step
}

// part returns the axis with n positions only, from a position on.
func (x Axis) part(position, n int64) Axis {
	if x.List != nil {
		x.List = x.List[position : position+n]
		return x
	}
	end := x.To
	if position+n < x.Len() {
		end = x.At(position + n)
	}
	x.From, x.To = x.At(position), end
	return x
}

// every returns the axis with every n-th position only.
func (x Axis) every(n int64) Axis {
	if n == 1 || x.List == nil {
		x.Step *= n
		return x
	}
	var list []int64
	for i := int64(0); i < x.Len(); i += n {
		list = append(list, x.List[i])
	}
	x.List = list
	return x
}

// isList reports whether reading the axis needs a list of indices.
func (x Axis) isList() bool { return x.List != nil || x.Step < 0 }

// indices returns the selected indices.
func (x Axis) indices() []int64 {
	if x.List != nil {
		return x.List
	}
	list := make([]int64, x.Len())
	for i := range list {
		list[i] = x.At(int64(i))
	}
	return list
}

// Whole selects the whole array.
func Whole(a *store.Array) *Selection {
	shape := a.Grid().Shape()
	s := &Selection{Array: a, Axes: make([]Axis, len(shape))}
	for i, n := range shape {
		s.Axes[i] = Axis{Dim: a.Schema().Dim(i), To: n, Step: 1}
	}
	return s
}

// SelectAll selects the same part of several arrays, by the terms of ByIndex and ByCoordinate. A term narrows the arrays that have
// its dimension. If none has it, the error is that of the first array.
func SelectAll(ctx context.Context, st *store.Store, arrays []*store.Array, index, label []string) ([]*Selection, error) {
	isUsed := func(term string) bool {
		return slices.ContainsFunc(arrays, func(a *store.Array) bool { return hasDim(a, term) })
	}
	selections := make([]*Selection, len(arrays))
	for i, a := range arrays {
		others := func(term string) bool { return !hasDim(a, term) && isUsed(term) }
		selections[i] = Whole(a)
		err := selections[i].ByIndex(slices.DeleteFunc(slices.Clone(index), others))
		if err == nil {
			err = selections[i].ByCoordinate(ctx, st, slices.DeleteFunc(slices.Clone(label), others))
		}
		if err != nil {
			return nil, err
		}
	}
	return selections, nil
}

// hasDim reports whether an array has the dimension of a term.
func hasDim(a *store.Array, term string) bool {
	dim, _, _ := strings.Cut(term, "=")
	return slices.Contains(a.Schema().Dims(), dim)
}

// ByIndex narrows a selection by terms such as "time=0:10", "lat=3", "lat=::-1", "time=[1,5,30]", with
// Python's rules: indices start at 0, negative ones count from the end, the stop is excluded, and a negative
// step counts down. A list may be in any order and repeat indices. Each dimension can be narrowed once, here
// or by coordinate.
func (s *Selection) ByIndex(terms []string) error {
	for _, term := range terms {
		axis, text, err := s.find(term)
		if err == nil {
			err = axis.slice(text)
		}
		if err != nil {
			return &SelectionError{term, err}
		}
	}
	return nil
}

// SelectionError reports an invalid term of a selection.
type SelectionError struct {
	Term string
	Err  error
}

// Error returns the term and the reason.
func (e *SelectionError) Error() string { return e.Term + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *SelectionError) Unwrap() error { return e.Err }

// DimensionError reports a dimension that an array does not have.
type DimensionError struct {
	Array, Dim string
	Has        []string // the dimensions of the array
}

// Error names the array and its dimensions.
func (e *DimensionError) Error() string {
	if len(e.Has) == 0 {
		return e.Array + " is a scalar and has no dimensions"
	}
	noun := "dimensions are "
	if len(e.Has) == 1 {
		noun = "dimension is "
	}
	return fmt.Sprintf("%s has no dimension %q; its %s%s", e.Array, e.Dim, noun, strings.Join(e.Has, ", "))
}

// find returns the axis of a term, and the rest of the term.
func (s *Selection) find(term string) (*Axis, string, error) {
	dim, text, ok := strings.Cut(term, "=")
	if !ok || text == "" {
		return nil, "", errors.New("want DIM=VALUE or DIM=FROM:TO")
	}
	for i := range s.Axes {
		if s.Axes[i].Dim != dim {
			continue
		}
		if s.Axes[i].narrowed {
			return nil, "", fmt.Errorf("dimension %s is selected already", dim)
		}
		s.Axes[i].narrowed = true
		return &s.Axes[i], text, nil
	}
	return nil, "", s.noDimension(dim)
}

// noDimension returns a *DimensionError.
func (s *Selection) noDimension(name string) error {
	e := &DimensionError{Array: s.Array.Path(), Dim: name}
	for _, x := range s.Axes {
		e.Has = append(e.Has, x.Dim)
	}
	return e
}

// slice narrows a complete axis to an index, a list or a slice.
func (x *Axis) slice(text string) error {
	if strings.HasPrefix(text, "[") {
		return x.list(text)
	}
	parts := strings.Split(text, ":")
	if len(parts) == 1 {
		at, err := x.index(parts[0])
		if err != nil {
			return err
		}
		x.From, x.To, x.Single = at, at+1, true
		return nil
	}
	if len(parts) > 3 {
		return errors.New("want INDEX, [INDEX,…], START:STOP or START:STOP:STEP")
	}
	if len(parts) == 3 && parts[2] != "" {
		var err error
		if x.Step, err = strconv.ParseInt(parts[2], 10, 64); err != nil || x.Step == 0 {
			return fmt.Errorf("step %q: want an integer other than 0", parts[2])
		}
	}
	// As in Python: the ends of a slice that omits them, and the range to which other ends are clamped.
	n := x.To
	first, last, low, high := int64(0), n, int64(0), n
	if x.Step < 0 {
		first, last, low, high = n-1, -1, -1, n-1
	}
	from, err := parseIndex(parts[0], first, n)
	if err != nil {
		return err
	}
	to, err := parseIndex(parts[1], last, n)
	if err != nil {
		return err
	}
	x.From, x.To = min(max(from, low), high), min(max(to, low), high)
	if x.Len() == 0 {
		x.From = max(x.From, 0)
		x.To, x.Step = x.From, max(x.Step, 1)
	}
	return nil
}

// list narrows an axis to the indices of a list, [1,5,30].
func (x *Axis) list(text string) error {
	inner, ok := strings.CutSuffix(text[1:], "]")
	if !ok {
		return fmt.Errorf("list %s: want a closing bracket, as in [1,5,30]", text)
	}
	list := []int64{}
	for part := range strings.SplitSeq(inner, ",") {
		if inner == "" {
			break
		}
		at, err := x.index(strings.TrimSpace(part))
		if err != nil {
			return err
		}
		list = append(list, at)
	}
	x.List = list
	return nil
}

// index parses one index of a complete axis.
func (x *Axis) index(text string) (int64, error) {
	n := x.To
	at, err := parseIndex(text, n, n) // an empty text gives n, which is refused below
	if err != nil {
		return 0, err
	}
	if n == 0 {
		return 0, fmt.Errorf("dimension %s has no elements", x.Dim)
	}
	if at < 0 || at >= n {
		return 0, fmt.Errorf("index %s of dimension %s: want %d to %d", text, x.Dim, -n, n-1)
	}
	return at, nil
}

// parseIndex parses an index of an axis with n elements, or returns missing for an empty text. Negative
// indices count from the end.
func parseIndex(text string, missing, n int64) (int64, error) {
	if text == "" {
		return missing, nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, manifest.WithRemedy(fmt.Errorf("index %q is not an integer; to select by coordinate, use labels", text), "sel", "DIM=LABEL")
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// Shape returns the shape of the result.
func (s *Selection) Shape() []int64 {
	shape := []int64{}
	for _, x := range s.Axes {
		if !x.Single {
			shape = append(shape, x.Len())
		}
	}
	return shape
}

// Count returns the number of elements. The caller must ensure that it fits in an int64, because lists can
// repeat indices.
func (s *Selection) Count() int64 {
	n := int64(1)
	for _, x := range s.Axes {
		n *= x.Len()
	}
	return n
}

// Region returns the selection as a box; ok is false if a step is not 1, or there is a list.
func (s *Selection) Region() (grid.Region, bool) {
	r := grid.MakeRegion(len(s.Axes))
	for i, x := range s.Axes {
		if x.List != nil || x.Step != 1 && x.Len() > 1 {
			return r, false
		}
		r.Origin[i], r.Shape[i] = x.From, x.Len()
	}
	return r, true
}

// Indexer returns the indices with which the array is read.
func (s *Selection) Indexer() (*grid.Indexer, error) {
	selectors := make([]grid.Selector, len(s.Axes))
	for i, x := range s.Axes {
		switch {
		case x.Single:
			selectors[i] = grid.At(x.From)
		case x.isList():
			selectors[i] = grid.Indices(x.indices()...)
		default:
			selectors[i] = grid.Range(x.From, x.To).By(x.Step)
		}
	}
	return grid.Orthogonal(s.Array.Grid(), selectors...)
}
