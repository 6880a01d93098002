package patches

import (
	"fmt"
	"slices"
	"testing"

	"varve/grid"
	"varve/manifest"
)

// TestKeptRanges checks where tiles are kept and moved alike.
func TestKeptRanges(t *testing.T) {
	old := []manifest.Tile{tile(0, 0, 3), tile(1, 3, 4), tile(2, 7, 3)}
	short := tile(1, 3, 4)
	short.Shape = []int64{2}
	member := func(file int, origin, member int64) manifest.Tile {
		return manifest.Tile{File: file, Origin: []int64{origin, member}, Start: []int64{0, 0}, Shape: []int64{3, 1}}
	}
	members := []manifest.Tile{member(0, 0, 0), member(1, 0, 1), member(2, 3, 0), member(3, 3, 1)}
	for name, test := range map[string]struct {
		old, now []manifest.Tile
		gone     []int // sources that were scanned again or removed
		want     string
	}{
		"same":                {old, old, nil, "[{0 10 0}]"},
		"replaced":            {old, old, []int{1}, "[{0 3 0} {7 10 0}]"},
		"first gone":          {old, []manifest.Tile{tile(1, 0, 4), tile(2, 4, 3)}, []int{0}, "[{3 10 -3}]"},
		"longer":              {old, []manifest.Tile{old[0], tile(1, 3, 6), tile(2, 9, 3)}, []int{1}, "[{0 3 0} {7 10 2}]"},
		"inserted":            {old, []manifest.Tile{old[0], tile(3, 3, 1), tile(1, 4, 4), tile(2, 8, 3)}, nil, "[{0 3 0} {3 10 1}]"},
		"another inside":      {old, append(slices.Clone(old), tile(3, 4, 1)), nil, "[{0 3 0} {7 10 0}]"},
		"another part":        {old, []manifest.Tile{old[0], short, tile(2, 5, 3)}, nil, "[{0 3 0} {7 10 -2}]"},
		"another order":       {old, []manifest.Tile{tile(2, 0, 3), tile(1, 3, 4), tile(0, 7, 3)}, nil, "[{0 3 7} {3 7 0} {7 10 -7}]"},
		"all gone":            {old, old, []int{0, 1, 2}, "[]"},
		"no tiles":            {nil, old, nil, "[]"},
		"a gap":               {[]manifest.Tile{old[0], old[2]}, []manifest.Tile{old[0], old[2]}, nil, "[{0 3 0} {7 10 0}]"},
		"members":             {members, members, nil, "[{0 6 0}]"},
		"a member replaced":   {members, members, []int{1}, "[{3 6 0}]"},
		"a member moved":      {members, []manifest.Tile{member(0, 0, 1), member(1, 0, 0), member(2, 3, 0), member(3, 3, 1)}, nil, "[{3 6 0}]"},
		"a member is added":   {members, append(slices.Clone(members), member(4, 0, 2)), nil, "[{3 6 0}]"},
		"a member is earlier": {members, []manifest.Tile{member(0, 0, 0), member(1, 1, 1), member(2, 3, 0), member(3, 4, 1)}, nil, "[]"},
	} {
		kept := func(row int) int {
			if slices.Contains(test.gone, row) {
				return -1
			}
			return row
		}
		if got := fmt.Sprint(keptRanges(test.old, test.now, kept)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestSpliceRange checks that older edges replace newer ones where all of their elements are kept.
func TestSpliceRange(t *testing.T) {
	ones := dimension(t, 8, 1, 1, 1, 1, 1, 1, 1, 1)
	for _, test := range []struct {
		name     string
		old, now grid.Dimension
		kept     keptRange
		want     string
	}{
		{"all", dimension(t, 8, 3, 3, 2), ones, keptRange{0, 8, 0}, "[{{3 3} 2} {{2 2} 1}]"},
		{"the end", dimension(t, 8, 3, 3, 2), ones, keptRange{1, 8, 0}, "[{{1 1} 3} {{3 3} 1} {{2 2} 1}]"},
		{"moved", dimension(t, 8, 3, 3, 2), ones, keptRange{3, 6, -2}, "[{{1 1} 1} {{3 3} 1} {{1 1} 4}]"},
		{"no whole chunk", dimension(t, 8, 3, 3, 2), ones, keptRange{1, 5, 0}, "[]"},
		{"no boundary", dimension(t, 8, 3, 3, 2), dimension(t, 8, 4, 4), keptRange{0, 3, 0}, "[]"},
		{"beyond the end", dimension(t, 8, 3, 3, 2), ones, keptRange{3, 8, 1}, "[]"},
		{"the last chunk extends beyond", dimension(t, 5, 3, 3), ones, keptRange{0, 5, 0}, "[{{3 3} 1} {{1 1} 5}]"},
	} {
		if got := fmt.Sprint(spliceRange(test.old, test.now, test.kept)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestHasSameAxes checks renamed dimensions.
func TestHasSameAxes(t *testing.T) {
	array := func(renamed map[string]string, dims ...string) *manifest.Array {
		return &manifest.Array{Dims: dims, Renamed: renamed}
	}
	for _, test := range []struct {
		name     string
		was, now *manifest.Array
		want     bool
	}{
		{"the same", array(nil, "/t", "/x"), array(nil, "/t", "/x"), true},
		{"renamed", array(nil, "/t", "/x"), array(map[string]string{"/t": "/time"}, "/time", "/x"), true},
		{"renamed again", array(map[string]string{"/t": "/a"}, "/a", "/x"), array(map[string]string{"/t": "/b"}, "/b", "/x"), true},
		{"and back", array(map[string]string{"/t": "/a"}, "/a", "/x"), array(nil, "/t", "/x"), true},
		{"exchanged names", array(nil, "/t", "/x"), array(map[string]string{"/t": "/x", "/x": "/t"}, "/x", "/t"), true},
		{"exchanged axes", array(nil, "/t", "/x"), array(nil, "/x", "/t"), false},
		{"another axis", array(map[string]string{"/t": "/a"}, "/a", "/x"), array(map[string]string{"/t": "/x"}, "/a", "/x"), false},
		{"fewer", array(nil, "/t", "/x"), array(nil, "/t"), false},
		{"twice", array(nil, "/x", "/x"), array(nil, "/x", "/y"), false},
	} {
		if got := hasSameAxes(test.was, test.now); got != test.want {
			t.Errorf("%s: %t", test.name, got)
		}
	}
}
