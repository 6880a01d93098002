package serve

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"varve/grid"
	"varve/manifest/internal/cf"
)

// slice is a region of an array that is drawn along one or two axes.
type slice struct {
	array  array
	names  []string // of the dimensions
	region grid.Region
	x, y   int // axes; y is -1 if only one is drawn
}

// maxSlice limits the number of elements of a slice, because all of them are in memory.
const maxSlice = 4 << 20

// pictureBytes is the approximate memory of a picture itself.
const pictureBytes = 8 << 20

// bytes returns the approximate memory that is needed to draw the slice: its elements, and as float64 twice, because
// coordinates are as long, or the elements are transposed.
func (s *slice) bytes() int64 {
	n, err := s.region.Elements()
	if err != nil {
		return maxSlice
	}
	return n*int64(s.array.Schema().DataType.Type().Size+8+8) + pictureBytes
}

func badSlice(format string, args ...any) error {
	return &fault{Status: http.StatusBadRequest, Kind: "no such slice", Reason: fmt.Sprintf(format, args...)}
}

// parseSlice reads a slice from a query. "across" and "up" name the axes to draw ("-" for no second axis). A
// dimension's name selects an index ("5") or a range ("3:10"). Without them, the last two axes are drawn, at
// index 0 of the others.
func parseSlice(a array, query url.Values) (*slice, error) {
	if !cf.IsDrawable(a.Schema().DataType.Type()) {
		return nil, badSlice("%s has the data type %s; only numbers can be drawn", a.Path(), a.Schema().DataType.Name())
	}
	shape := a.Grid().Shape()
	s := &slice{array: a, names: a.Schema().Dims(), region: grid.Whole(shape).Clone(), x: -1, y: -1}
	if len(shape) == 0 {
		return nil, badSlice("%s is a scalar, which has no axis to draw", a.Path())
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

// slice reads a slice from a query, which may select by dates.
func (s *site) slice(ctx context.Context, a array, query url.Values) (*slice, error) {
	query, err := s.positions(ctx, a, query)
	if err != nil {
		return nil, err
	}
	return parseSlice(a, query)
}

func (s *slice) pickAxes(query url.Values) error {
	for key, axis := range map[string]*int{"across": &s.x, "up": &s.y} {
		name := query.Get(key)
		if name == "" || name == "-" {
			continue
		}
		if *axis = slices.Index(s.names, name); *axis < 0 {
			return badSlice("%s=%.80q is not a dimension (%s)", key, name, strings.Join(s.names, ", "))
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
		return badSlice("across and up are both %s; name two dimensions", s.names[s.x])
	}
	return nil
}

// narrow applies an index or, for a drawn axis, a range to the region.
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
		return badSlice("%s=%.80q is not an index or range within 0:%d", s.names[axis], text, n)
	}
	if ranged && !drawn && to-from > 1 {
		return badSlice("%s=%.80q is a range, but the axis is not drawn; give one index", s.names[axis], text)
	}
	s.region.Origin[axis], s.region.Shape[axis] = from, to-from
	return nil
}

// position parses an index; a negative one counts from the end.
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

// clip shortens the axes for which the query has no range, so that the slice has at most maxSlice elements.
func (s *slice) clip(query url.Values) error {
	if s.region.IsEmpty() {
		return badSlice("%s has no elements", s.array.Path())
	}
	for _, axis := range []int{s.y, s.x} {
		if axis < 0 {
			continue
		}
		others := int64(1)
		// x + y - axis is the other drawn axis.
		if other := s.x + s.y - axis; s.y >= 0 {
			others = min(s.region.Shape[other], 2048)
		}
		if query.Get(s.names[axis]) == "" {
			s.region.Shape[axis] = min(s.region.Shape[axis], max(maxSlice/others, 1))
		}
	}
	if n, err := s.region.Elements(); err != nil || n > maxSlice {
		return badSlice("the slice has more than %d elements, the limit for drawing; select ranges, such as %s=0:100", maxSlice, s.names[s.x])
	}
	return nil
}
