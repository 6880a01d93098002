package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"varve/grid"
	"varve/manifest/internal/cf"
)

// slice is a part of an array with one axis or two.
type slice struct {
	array  array
	names  []string // of the dimensions
	region grid.Region
	x, y   int // axes; y is -1 where there is one only
}

// maxSlice bounds the elements of a slice, which is drawn from memory.
const maxSlice = 4 << 20

func badSlice(format string, args ...any) error {
	return &fault{Status: http.StatusBadRequest, Kind: "no such slice", Reason: fmt.Sprintf(format, args...)}
}

// parseSlice reads a slice from a query: across and up name dimensions, of which up can be
// "-" for none; for each dimension that is called by its name "5" is an index and "3:10" a
// range. Without them the last axes are
// drawn, at the first index of all others.
func parseSlice(a array, query url.Values) (*slice, error) {
	if !cf.IsDrawable(a.Schema().DataType.Type()) {
		return nil, badSlice("%s holds %s, and only numbers can be drawn", a.Path(), a.Schema().DataType.Name())
	}
	shape := a.Grid().Shape()
	s := &slice{array: a, names: a.Schema().Dims(), region: grid.Whole(shape).Clone(), x: -1, y: -1}
	if len(shape) == 0 {
		return nil, badSlice("%s is one value", a.Path())
	}
	if err := s.pickAxes(query); err != nil {
		return nil, err
	}
	for axis := range shape {
		if err := s.narrow(axis, query.Get(s.names[axis])); err != nil {
			return nil, err
		}
	}
	return s, s.clip(query)
}

func (s *slice) pickAxes(query url.Values) error {
	for key, axis := range map[string]*int{"across": &s.x, "up": &s.y} {
		name := query.Get(key)
		if name == "" || name == "-" {
			continue
		}
		if *axis = slices.Index(s.names, name); *axis < 0 {
			return badSlice("%s=%.80q is none of the dimensions %s", key, name, strings.Join(s.names, ", "))
		}
	}
	rank := len(s.names)
	if s.x < 0 {
		s.x = rank - 1
		if s.y == s.x {
			s.x = max(rank-2, 0)
		}
	}
	if s.y < 0 && query.Get("up") == "" && rank > 1 {
		s.y = rank - 2
		if s.y == s.x {
			s.y = rank - 1
		}
	}
	if s.x == s.y {
		return badSlice("across and up are both %s", s.names[s.x])
	}
	return nil
}

// narrow takes one index of an axis or, if it is drawn, a range.
func (s *slice) narrow(axis int, text string) error {
	n := s.region.Shape[axis]
	drawn := axis == s.x || axis == s.y
	if text == "" {
		if !drawn {
			s.region.Shape[axis] = min(n, 1)
		}
		return nil
	}
	first, last, ranged := strings.Cut(text, ":")
	from, okFrom := position(first, 0, n)
	to, okTo := position(last, n, n)
	if !ranged {
		to, okTo = from+1, true
	}
	if !okFrom || !okTo || from >= to || to > n {
		return badSlice("%s=%.80q is no index and no range of %d", s.names[axis], text, n)
	}
	if ranged && !drawn && to-from > 1 {
		return badSlice("%s=%.80q is a range of an axis that is not drawn", s.names[axis], text)
	}
	s.region.Origin[axis], s.region.Shape[axis] = from, to-from
	return nil
}

// position reads an index, counted from the end if it is negative.
func position(text string, otherwise, n int64) (int64, bool) {
	if text == "" {
		return otherwise, true
	}
	i, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, false
	}
	if i < 0 {
		i += n
	}
	return i, i >= 0
}

// clip shortens axes of which nobody said how much of them to draw.
func (s *slice) clip(query url.Values) error {
	if s.region.IsEmpty() {
		return badSlice("%s has no elements", s.array.Path())
	}
	for _, axis := range []int{s.y, s.x} {
		if axis < 0 {
			continue
		}
		others := int64(1)
		if other := s.x + s.y - axis; s.y >= 0 {
			others = min(s.region.Shape[other], 2048)
		}
		if query.Get(s.names[axis]) == "" {
			s.region.Shape[axis] = min(s.region.Shape[axis], max(maxSlice/others, 1))
		}
	}
	if n, err := s.region.Elements(); err != nil || n > maxSlice {
		return badSlice("the slice has more than the %d elements that are drawn at most; give a range of each axis, such as %s=0:100", maxSlice, s.names[s.x])
	}
	return nil
}
