package cf

import (
	"testing"

	"varve/zarrjson"
)

type placed struct {
	path   string
	schema *zarrjson.Array
}

func (p *placed) Path() string            { return p.path }
func (p *placed) Schema() *zarrjson.Array { return p.schema }

// TestCoordinate checks that only the nearest array of a dimension's name can be its coordinate.
func TestCoordinate(t *testing.T) {
	all := map[string]*placed{}
	at := Hierarchy[*placed](func(path string) (*placed, bool) { p, ok := all[path]; return p, ok })
	add := func(path string, shape []int64, dims ...string) {
		all[path] = &placed{path, &zarrjson.Array{Shape: shape, DimensionNames: zarrjson.Names(dims...)}}
	}
	add("/time", []int64{8}, "time")
	add("/lat", []int64{4}, "lat")
	add("/x", []int64{5}, "cells")
	add("/v", []int64{8, 4, 5}, "time", "lat", "x")
	add("/g/lat", []int64{4, 5}, "lat", "x")
	add("/g/h/v", []int64{8, 4, 5}, "time", "lat", "x")
	add("/s/time", []int64{3}, "time")
	add("/s/v", []int64{3, 4}, "time", "lat")
	add("/s/longer", []int64{8}, "time")
	add("/square", []int64{4, 3}, "lat", "lat")
	for _, c := range []struct{ array, dim, want string }{
		{"/v", "time", "/time"},
		{"/v", "lat", "/lat"},
		{"/v", "x", ""}, // /x has another dimension
		{"/v", "y", ""},
		{"/lat", "lat", "/lat"},
		{"/g/h/v", "time", "/time"},
		{"/g/h/v", "lat", ""}, // /g/lat is nearer than /lat, and is no coordinate
		{"/s/v", "time", "/s/time"},
		{"/s/longer", "time", ""},
		{"/square", "lat", ""},
	} {
		got := ""
		if a, ok := at.Coordinate(all[c.array], c.dim); ok {
			got = a.path
		}
		if got != c.want {
			t.Errorf("the coordinate of %s along %s is %q, want %q", c.array, c.dim, got, c.want)
		}
	}
}
