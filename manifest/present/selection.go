// Package present converts regions of arrays to statistics, tables, pictures, and files for other programs.
// It supports selection by index and by coordinate, and decodes numbers by CF attributes.
package present

import (
	"errors"
	"fmt"
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
}

// Axis is the selection along one dimension: From, From+Step, … below To.
type Axis struct {
	Dim            string
	From, To, Step int64
	Single         bool // one index, which is no axis of the result

	narrowed bool
}

// Len returns the number of indices.
func (x Axis) Len() int64 {
	if x.To <= x.From {
		return 0
	}
	return (x.To-x.From-1)/x.Step + 1
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

// ByIndex narrows a selection by terms such as "time=0:10", "lat=3", "lon=::2", with Python's rules: indices
// start at 0, negative ones count from the end, and the stop is excluded. Each dimension can be narrowed
// once, here or by coordinate.
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

// find returns the axis of a term, and the rest of the term.
func (s *Selection) find(term string) (*Axis, string, error) {
	dim, text, ok := strings.Cut(term, "=")
	if !ok || text == "" {
		return nil, "", errors.New("want DIM=WHAT or DIM=FROM:TO")
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

// noDimension returns an error that lists the dimensions.
func (s *Selection) noDimension(name string) error {
	names := make([]string, len(s.Axes))
	for i, x := range s.Axes {
		names[i] = x.Dim
	}
	if len(names) == 0 {
		return fmt.Errorf("%s is one value and has no dimensions", s.Array.Path())
	}
	return fmt.Errorf("%s has no dimension %s; it has %s", s.Array.Path(), name, strings.Join(names, ", "))
}

// slice narrows an axis that is still complete.
func (x *Axis) slice(text string) error {
	n := x.To
	parts := strings.Split(text, ":")
	if len(parts) == 1 {
		at, err := parseIndex(parts[0], 0, n)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("dimension %s has no elements", x.Dim)
		}
		if at < 0 || at >= n {
			return fmt.Errorf("index %s of dimension %s: want %d to %d", text, x.Dim, -n, n-1)
		}
		x.From, x.To, x.Single = at, at+1, true
		return nil
	}
	if len(parts) > 3 {
		return errors.New("want INDEX, START:STOP or START:STOP:STEP")
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
			return fmt.Errorf("step %q: want a number from 1 on", parts[2])
		}
	}
	x.From, x.To = min(max(from, 0), n), min(max(to, 0), n)
	x.To = max(x.From, x.To)
	return nil
}

// parseIndex parses an index below n; negative ones count from the end.
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

// Count returns the number of elements.
func (s *Selection) Count() int64 {
	n := int64(1) // at most the number of the array's elements, which fits in an int64
	for _, x := range s.Axes {
		n *= x.Len()
	}
	return n
}

// Region returns the selection as a box; ok is false if a step is not 1.
func (s *Selection) Region() (grid.Region, bool) {
	r := grid.MakeRegion(len(s.Axes))
	for i, x := range s.Axes {
		if x.Step != 1 && x.Len() > 1 {
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
		if x.Single {
			selectors[i] = grid.At(x.From)
		} else {
			selectors[i] = grid.Range(x.From, x.To).By(x.Step)
		}
	}
	return grid.Basic(s.Array.Grid(), selectors...)
}
