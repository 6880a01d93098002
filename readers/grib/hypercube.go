package grib

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// hypercube are cubes that share their dimensions. It becomes a group.
type hypercube struct {
	grid  *gridGroup
	name  string
	cubes []*cube
	along [axes][]float64 // the coordinates of the dimensions that are not of levels
	// Levels are the coordinates of dimensions of levels by their type, with the bottoms of layers.
	levels map[string][][2]float64
}

// leastFilled is how much of what a hypercube would hold has to be there, in each variable, for its fields to be put into one.
const leastFilled = 0.5

// hypercubes puts the cubes of a grid into as few hypercubes as leave no variable mostly empty along members and times.
func (g *gridGroup) hypercubes() []*hypercube {
	whole := newHypercube(g, g.cubes)
	if whole.filled() >= leastFilled {
		return []*hypercube{whole}
	}
	parts := map[string][]*cube{}
	for _, c := range g.cubes {
		key := c.signature()
		parts[key] = append(parts[key], c)
	}
	var out []*hypercube
	names := map[string]int{}
	for _, key := range slices.SortedFunc(maps.Keys(parts), func(a, b string) int {
		return cmp.Or(cmp.Compare(parts[a][0].kind.statistic, parts[b][0].kind.statistic), cmp.Compare(a, b))
	}) {
		h := newHypercube(g, parts[key])
		h.name = h.cubes[0].kind.statistic
		if names[h.name]++; names[h.name] > 1 {
			h.name = fmt.Sprintf("%s_%d", h.name, names[h.name])
		}
		out = append(out, h)
	}
	return out
}

// values are the coordinates of a cube along an axis, in order.
func (c *cube) values(a axis) []float64 {
	seen := map[float64]bool{}
	for i := range c.cells {
		seen[c.cells[i].along(a)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

func (c *cube) signature() string {
	var b []byte
	for a := range levelAxis {
		if c.has[a] {
			for _, v := range c.values(a) {
				b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
			}
		}
		b = append(b, '/')
	}
	return string(b)
}

func newHypercube(g *gridGroup, cubes []*cube) *hypercube {
	h := &hypercube{grid: g, cubes: cubes, levels: map[string][][2]float64{}}
	for a := range levelAxis {
		seen := map[float64]bool{}
		for _, c := range cubes {
			if c.has[a] {
				for _, v := range c.values(a) {
					seen[v] = true
				}
			}
		}
		h.along[a] = slices.Sorted(maps.Keys(seen))
	}
	for _, c := range cubes {
		if !c.has[levelAxis] {
			continue
		}
		for i := range c.cells {
			at := [2]float64{c.cells[i].top, c.cells[i].base}
			list := h.levels[c.levelType]
			if n, found := slices.BinarySearchFunc(list, at, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) }); !found {
				h.levels[c.levelType] = slices.Insert(list, n, at)
			}
		}
	}
	for t, list := range h.levels {
		if descends[t] {
			slices.Reverse(list)
		}
	}
	return h
}

// descends are the types of levels that are given from the ground up, so with falling numbers.
var descends = map[string]bool{"isobaricInhPa": true, "isobaricInPa": true}

// filled is how full the emptiest variable is, along members and times.
func (h *hypercube) filled() float64 {
	least := 1.0
	for _, c := range h.cubes {
		places := map[[levelAxis]float64]bool{}
		for i := range c.cells {
			var at [levelAxis]float64
			for a := range levelAxis {
				if c.has[a] {
					at[a] = c.cells[i].along(a)
				}
			}
			places[at] = true
		}
		all := 1
		for a := range levelAxis {
			if c.has[a] {
				all *= len(h.along[a])
			}
		}
		least = min(least, float64(len(places))/float64(all))
	}
	return least
}

// index is where a cell lies along the dimensions of its cube.
func (h *hypercube) index(c *cube, x *cell) (out []uint64) {
	for a := range levelAxis {
		if c.has[a] {
			n, _ := slices.BinarySearch(h.along[a], x.along(a))
			out = append(out, uint64(n))
		}
	}
	if c.has[levelAxis] {
		list := h.levels[c.levelType]
		out = append(out, uint64(slices.IndexFunc(list, func(l [2]float64) bool { return l[0] == x.top })))
	}
	return out
}

// name is a name for the group of a grid: its type and size.
func (g *gridGroup) title() string {
	f := g.first
	if f.Grid == nil {
		return "grid"
	}
	switch grid := f.Grid; {
	case grid.Spectral():
		return fmt.Sprintf("sh_T%d", grid.J())
	case grid.Regular():
		return fmt.Sprintf("%s_%dx%d", strings.ReplaceAll(grid.Type, "unknown", "grid"), grid.Nj, grid.Ni)
	default:
		return fmt.Sprintf("%s_%d", grid.Type, grid.Points)
	}
}
