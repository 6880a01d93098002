// Package present turns regions of arrays into what people look at: statistics, tables,
// pictures, files that other programs read. It knows selections by index and by coordinate,
// and what CF attributes make of stored numbers.
package present

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"varve/grid"
	"varve/manifest/store"
)

// Selection is a region of an array, by the axes that a user named. An axis that is not named
// is taken whole.
type Selection struct {
	Array *store.Array
	Axes  []Axis
}

// Axis is what is taken along one dimension: From, From+Step, … below To.
type Axis struct {
	Dim            string
	From, To, Step int64
	Single         bool // one index, and not an axis of what comes out
}

// Len is the number of indices.
func (x Axis) Len() int64 {
	if x.To <= x.From {
		return 0
	}
	return (x.To-x.From-1)/x.Step + 1
}

// Whole takes all of an array.
func Whole(a *store.Array) *Selection {
	shape := a.Grid().Shape()
	s := &Selection{Array: a, Axes: make([]Axis, len(shape))}
	for i, n := range shape {
		s.Axes[i] = Axis{Dim: dimName(a, i), To: n, Step: 1}
	}
	return s
}

func dimName(a *store.Array, axis int) string {
	if names := a.Face().DimensionNames; axis < len(names) && names[axis].Named {
		return names[axis].Name
	}
	return fmt.Sprintf("dim_%d", axis)
}

// ByIndex narrows a selection by terms such as "time=0:10", "lat=3", "lon=::2", as Python
// counts: from 0 on, negative numbers from the end, the stop not included.
func (s *Selection) ByIndex(terms []string) error {
	for _, term := range terms {
		axis, text, err := s.find(term)
		if err != nil {
			return err
		}
		if err := axis.slice(text); err != nil {
			return fmt.Errorf("%s: %w", term, err)
		}
	}
	return nil
}

// find returns the axis that a term is about, and the rest of the term.
func (s *Selection) find(term string) (*Axis, string, error) {
	dim, text, ok := strings.Cut(term, "=")
	if !ok || text == "" {
		return nil, "", fmt.Errorf("%q: want DIM=INDEX or DIM=START:STOP", term)
	}
	for i := range s.Axes {
		if s.Axes[i].Dim == dim {
			return &s.Axes[i], text, nil
		}
	}
	names := make([]string, len(s.Axes))
	for i := range s.Axes {
		names[i] = s.Axes[i].Dim
	}
	return nil, "", fmt.Errorf("%s has no dimension %s, but %s", s.Array.Path(), dim, strings.Join(names, ", "))
}

// slice narrows an axis that is still whole.
func (x *Axis) slice(text string) error {
	n := x.To
	parts := strings.Split(text, ":")
	if len(parts) == 1 {
		at, err := parseIndex(parts[0], 0, n)
		if err != nil {
			return err
		}
		if at < 0 || at >= n {
			return fmt.Errorf("index %s is not among %d", text, n)
		}
		x.From, x.To, x.Single = at, at+1, true
		return nil
	}
	if len(parts) > 3 {
		return errors.New("want START:STOP or START:STOP:STEP")
	}
	from, err := parseIndex(parts[0], 0, n)
	if err != nil {
		return err
	}
	to, err := parseIndex(parts[1], n, n)
	if err != nil {
		return err
	}
	if len(parts) == 3 && parts[2] != "" {
		if x.Step, err = strconv.ParseInt(parts[2], 10, 64); err != nil || x.Step < 1 {
			return fmt.Errorf("step %q: want 1 or more", parts[2])
		}
	}
	x.From, x.To = min(max(from, 0), n), min(max(to, 0), n)
	return nil
}

// parseIndex reads an index of n; negative ones count from the end.
func parseIndex(text string, missing, n int64) (int64, error) {
	if text == "" {
		return missing, nil
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("index %q is no number", text)
	}
	if i < 0 {
		i += n
	}
	return i, nil
}

// Shape is the shape of what comes out.
func (s *Selection) Shape() []int64 {
	shape := []int64{}
	for _, x := range s.Axes {
		if !x.Single {
			shape = append(shape, x.Len())
		}
	}
	return shape
}

// Count is the number of elements.
func (s *Selection) Count() int64 {
	n := int64(1)
	for _, x := range s.Axes {
		n *= x.Len()
	}
	return n
}

// Indexer is the selection as the array is read with it.
func (s *Selection) Indexer() (*grid.Indexer, error) {
	selectors := make([]grid.Selector, len(s.Axes))
	for i, x := range s.Axes {
		if x.Single {
			selectors[i] = grid.At(x.From)
		} else {
			selectors[i] = grid.Range(x.From, max(x.To, x.From)).By(x.Step)
		}
	}
	return grid.Basic(s.Array.Grid(), selectors...)
}

// Blocks cuts the selection along its first axis of more than one index into selections of at
// most a number of elements each, unless one index alone has more. Cuts are at the edges of
// chunks, so that none is decoded twice, where chunks are small enough.
func (s *Selection) Blocks(most int64) []*Selection {
	axis := 0
	for axis < len(s.Axes) && s.Axes[axis].Len() <= 1 {
		axis++
	}
	if axis == len(s.Axes) || s.Count() <= most {
		return []*Selection{s}
	}
	x := s.Axes[axis]
	rows := max(most/max(s.Count()/x.Len(), 1), 1)
	var out []*Selection
	for from := x.From; from < x.To; {
		to := s.cut(axis, from, from+(rows-1)*x.Step+1)
		block := &Selection{Array: s.Array, Axes: append([]Axis(nil), s.Axes...)}
		block.Axes[axis].From, block.Axes[axis].To = from, to
		out = append(out, block)
		taken := (to-from-1)/x.Step + 1
		from += taken * x.Step
	}
	return out
}

// cut moves an end back to the edge of a chunk, if there is one behind from.
func (s *Selection) cut(axis int, from, to int64) int64 {
	x := s.Axes[axis]
	if to >= x.To {
		return x.To
	}
	d := s.Array.Grid().Dim(axis)
	chunk, err := d.Find(to)
	if err != nil {
		return to
	}
	if edge := d.Offset(chunk); edge > from {
		return edge
	}
	return to
}

// ByCoordinate narrows a selection by the values of coordinates: see labels.go.
func (s *Selection) ByCoordinate(ctx context.Context, st *store.Store, terms []string) error {
	for _, term := range terms {
		axis, text, err := s.find(term)
		if err != nil {
			return err
		}
		labels, err := labelsOf(ctx, st, s.Array, axis.Dim)
		if err == nil {
			err = labels.narrow(axis, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", term, err)
		}
	}
	return nil
}
