package serve

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"varve/grid"
)

// A slice can be selected by dates, too: time=2020-01-31 and time=2020-01:2020-03 name positions of a time coordinate, the
// second as a range with both ends. A date without a day or time means the first position within it.
var dates = regexp.MustCompile(`^\d{4,}-\d\d(-\d\d([ T]\d\d(:\d\d){0,2})?)?$`)

// positions returns a query in which dates are replaced by positions.
func (s *site) positions(ctx context.Context, a array, query url.Values) (url.Values, error) {
	out := url.Values{}
	for key, values := range query {
		out[key] = values
		axis := slices.Index(a.Schema().Dims(), key)
		if axis < 0 || len(values) == 0 {
			continue
		}
		first, last, isRange := strings.Cut(values[0], ":")
		switch {
		case dates.MatchString(values[0]): // a time of the day has colons
			first, last, isRange = values[0], values[0], false
		case isRange && dates.MatchString(first) && dates.MatchString(last):
		default:
			continue
		}
		from, to, err := s.between(ctx, a, key, first, last)
		if err != nil {
			return nil, err
		}
		out[key] = []string{strconv.FormatInt(from, 10)}
		if isRange {
			out[key] = []string{strconv.FormatInt(from, 10) + ":" + strconv.FormatInt(to, 10)}
		}
	}
	return out, nil
}

// between returns the positions of the times from a first to a last date, which are in ascending order.
func (s *site) between(ctx context.Context, a array, dim, first, last string) (from, to int64, err error) {
	c := s.coordinate(a, dim)
	if c == nil || momentNames(c) == nil {
		return 0, 0, badSlice("%s=%.40q is a date, but %s has no times", dim, first, dim)
	}
	write, n := momentNames(c), c.Grid().Shape()[0]
	if n > maxSlice {
		return 0, 0, badSlice("%s has more than %d times; give a position", dim, maxSlice)
	}
	values, err := s.readNumbers(ctx, c, grid.Region{Origin: []int64{0}, Shape: []int64{n}})
	if err != nil {
		return 0, 0, err
	}
	if !slices.IsSorted(values) {
		return 0, 0, badSlice("the times of %s do not ascend; give a position", dim)
	}
	// Dates in ISO form ascend as texts do.
	at := func(i int, date string) string { return cut(write(values[i]), len(date)) }
	begin, end := sort.Search(len(values), func(i int) bool { return at(i, first) >= space(first) }), sort.Search(len(values), func(i int) bool { return at(i, last) > space(last) })
	if begin >= end {
		return 0, 0, badSlice("%s has no time from %.40q to %.40q; it has %s to %s", dim, first, last, write(values[0]), write(values[len(values)-1]))
	}
	return int64(begin), int64(end), nil
}

// space writes a time as momentNames does.
func space(date string) string { return strings.Replace(date, "T", " ", 1) }

// cut returns the first n bytes of a time; a date alone is its midnight.
func cut(moment string, n int) string {
	if len(moment) < n {
		moment += " 00:00:00"
	}
	return moment[:min(n, len(moment))]
}

// numberNames returns a function that formats the elements of a coordinate.
func numberNames(a array) func(float64) string {
	if write := momentNames(a); write != nil {
		return write
	}
	return func(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
}
