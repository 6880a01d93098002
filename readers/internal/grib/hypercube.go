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

// hypercube holds cubes that share their dimensions. It becomes a group.
type hypercube struct {
	grid   *gridGroup
	name   string
	cubes  []*cube
	along  [levelAxis][]float64 // the coordinates of members, times and steps
	levels map[string]*levelDim // by name
}

// levelDim is a dimension of levels.
type levelDim struct {
	levelType string
	list      [][2]float64 // the top and the bottom of each level
	bottoms   map[float64]float64
}

// leastFilled is the fraction of its chunks along members, times and steps that each variable of a hypercube must have.
const leastFilled = 0.5

// hypercubes puts the cubes of a grid into one hypercube, or into one for each set of members, times and steps if a variable of the one
// would have less than leastFilled of its chunks.
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

// values returns the coordinates of a cube along an axis in ascending order.
func (c *cube) values(a axis) []float64 {
	seen := map[float64]bool{}
	for i := range c.fields {
		seen[c.fields[i].along(a)] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// signature returns a string that is equal for cubes with equal members, times and steps.
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
	h := &hypercube{grid: g, cubes: cubes, levels: map[string]*levelDim{}}
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
		if c.has[levelAxis] {
			h.addLevels(c)
		}
	}
	for _, d := range h.levels {
		for top, bottom := range d.bottoms {
			d.list = append(d.list, [2]float64{top, bottom})
		}
		slices.SortFunc(d.list, levelOrder(d.levelType))
	}
	return h
}

// addLevels adds the levels of a cube to the dimension of their type. Layers with the top of a layer in another cube and another bottom
// belong to a second dimension of the type: a coordinate must not have a value twice.
func (h *hypercube) addLevels(c *cube) {
	for n := 1; ; n++ {
		c.levelDim = c.levelType
		if n > 1 {
			c.levelDim = fmt.Sprintf("%s_%d", c.levelType, n)
		}
		d := h.levels[c.levelDim]
		if d == nil {
			d = &levelDim{levelType: c.levelType, bottoms: map[float64]float64{}}
			h.levels[c.levelDim] = d
		}
		if slices.ContainsFunc(c.fields, func(x placedField) bool { bottom, ok := d.bottoms[x.top]; return ok && bottom != x.base }) {
			continue
		}
		for i := range c.fields {
			d.bottoms[c.fields[i].top] = c.fields[i].base
		}
		return
	}
}

// bounds returns the top and the bottom.
func (p *place) bounds() [2]float64 { return [2]float64{p.top, p.base} }

// compareLevels orders levels by their tops, and layers with the same top by their bottoms.
func compareLevels(a, b [2]float64) int {
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
}

// levelOrder returns the order of levels along the dimension of a type: from the ground up for pressures, else by ascending numbers.
func levelOrder(levelType string) func(a, b [2]float64) int {
	if levelType == "isobaricInhPa" || levelType == "isobaricInPa" {
		return func(a, b [2]float64) int { return compareLevels(b, a) }
	}
	return compareLevels
}

// filled returns the fraction of chunks that the emptiest variable has along members, times and steps.
func (h *hypercube) filled() float64 {
	least := 1.0
	for _, c := range h.cubes {
		places := map[[levelAxis]float64]bool{}
		for i := range c.fields {
			var at [levelAxis]float64
			for a := range levelAxis {
				if c.has[a] {
					at[a] = c.fields[i].along(a)
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

// index returns the positions of a field along the dimensions of its cube in front of the grid.
func (h *hypercube) index(c *cube, x *placedField) (out []uint64) {
	for a := range levelAxis {
		if c.has[a] {
			n, _ := slices.BinarySearch(h.along[a], x.along(a))
			out = append(out, uint64(n))
		}
	}
	if c.has[levelAxis] {
		n, _ := slices.BinarySearchFunc(h.levels[c.levelDim].list, x.bounds(), levelOrder(c.levelType))
		out = append(out, uint64(n))
	}
	return out
}

// title returns a name for the group of a grid: its type and size.
func (g *gridGroup) title() string {
	switch grid := g.first.Grid; {
	case grid.Spectral():
		return fmt.Sprintf("sh_T%d", grid.J())
	case grid.Regular():
		return fmt.Sprintf("%s_%dx%d", strings.ReplaceAll(grid.Type, "unknown", "grid"), grid.Nj, grid.Ni)
	default:
		return fmt.Sprintf("%s_%d", grid.Type, grid.Points)
	}
}
