package zarr

import (
	"errors"
	"math"
	"strings"

	"varve/manifest/internal/cf"
	"varve/manifest/store"
)

// Layout is the use for which chunk lengths are chosen.
type Layout string

// The layouts. A chunk has up to LayoutBytes.
const (
	// SeriesLayout has all times of a small area in a chunk.
	SeriesLayout Layout = "timeseries"
	// MapLayout has the whole area in a chunk, at as many times as fit.
	MapLayout Layout = "map"
	// CubeLayout lets a series and a map read about the same number of chunks.
	CubeLayout Layout = "cube"
)

// LayoutBytes is the size of a decoded chunk of a layout: large enough for few requests, and small enough to be read for a part.
const LayoutBytes = 4 << 20

// Edges returns the chunk lengths of the arrays that have a time axis and at least one axis of space. Other axes, such as levels,
// have chunks of length 1.
func (l Layout) Edges(s *store.Store) ([]Edges, error) {
	at := cf.Hierarchy[*store.Array](func(path string) (*store.Array, bool) {
		a, err := s.Array(path)
		return a, err == nil
	})
	var edges []Edges
	for _, a := range s.Arrays() {
		time, space := -1, []int{}
		for axis := range a.Schema().Shape {
			dim := a.Schema().Dim(axis)
			c, ok := at.Coordinate(a, dim)
			role := cf.OtherRole
			if ok && c != a {
				role = cf.RoleOf(c.Path(), c.Schema())
			}
			switch role {
			case cf.TimeRole:
				if time < 0 {
					time = axis
				}
			case cf.LongitudeRole, cf.LatitudeRole, cf.XRole, cf.YRole:
				space = append(space, axis)
			case cf.OtherRole, cf.ZRole:
			}
		}
		if len(space) == 0 { // no coordinate says it: the last two axes, or the last one
			for axis := max(time+1, len(a.Schema().Shape)-2); time >= 0 && axis < len(a.Schema().Shape); axis++ {
				space = append(space, axis)
			}
		}
		if time < 0 || len(space) == 0 {
			continue
		}
		unit := int64(a.Schema().DataType.Type().Size)
		if unit == 0 {
			unit = perElement
		}
		for axis, n := range l.lengths(a.Schema().Shape, unit, time, space) {
			edges = append(edges, Edges{Array: strings.TrimPrefix(a.Path(), "/"), Dim: a.Schema().Dim(axis), Sizes: []int64{n}})
		}
	}
	if len(edges) == 0 {
		return nil, errors.New(`no array has another axis and a time axis, whose coordinate has units such as "days since 2000-01-01"`)
	}
	return edges, nil
}

// lengths returns the chunk lengths of an array with elements of unit bytes.
func (l Layout) lengths(shape []int64, unit int64, time int, space []int) []int64 {
	lengths := make([]int64, len(shape))
	for axis := range lengths {
		lengths[axis] = 1
	}
	room, area := float64(max(LayoutBytes/unit, 1)), 1.0
	for _, axis := range space {
		area *= float64(max(shape[axis], 1))
	}
	times := float64(max(shape[time], 1))
	inTime := 1.0 // the times of a chunk
	switch l {
	case SeriesLayout:
		inTime = times
	case MapLayout:
		inTime = room / area
	case CubeLayout:
		inTime = math.Sqrt(times * room / area) // times/inTime chunks for a series, and area·inTime/room for a map
	}
	inTime = min(max(inTime, 1), times, room)
	lengths[time] = even(shape[time], inTime)
	// The axes of space are cut by the same factor, so that areas have the proportions of the whole.
	share := math.Pow(min(room/float64(lengths[time])/area, 1), 1/float64(len(space)))
	for _, axis := range space {
		lengths[axis] = even(shape[axis], float64(shape[axis])*share)
	}
	return lengths
}

// even returns a length of at most `most` that cuts an axis into parts of about equal length.
func even(length int64, most float64) int64 {
	n := max(int64(most), 1)
	parts := max((length+n-1)/n, 1)
	return max((length+parts-1)/parts, 1)
}
