package grib

import (
	"fmt"
	"maps"
	"slices"
)

// coordinates are what tells the cells of a cube apart: its place, without what the cube has no dimension for.
func (c *cube) coordinates(x *cell) (out [axes]float64) {
	for a := range axes {
		if c.has[a] {
			out[a] = x.along(a)
		}
	}
	return out
}

// collisions counts the cells that lie in the place of one before them.
func (c *cube) collisions() (n int) {
	seen := map[[axes]float64]bool{}
	for i := range c.cells {
		at := c.coordinates(&c.cells[i])
		if seen[at] {
			n++
		}
		seen[at] = true
	}
	return n
}

// separators are keys by which fields in the same place differ, such as the analysis and the first step of a forecast.
var separators = []string{"marsType", "marsStream", "typeOfGeneratingProcess", "generatingProcessIdentifier", "subCentre", "experimentVersionNumber", "typeOfEnsembleForecast"}

func (f *Field) separator(key string) string {
	if b, ok := f.labels.Bytes(key); ok {
		return string(b)
	}
	n, _ := f.Int(key)
	return fmt.Sprint(n)
}

// splitCollisions makes several cubes of one in which fields lie in the same place, if there is a key that tells them apart.
func (g *gridGroup) splitCollisions() {
	var out []*cube
	for _, c := range g.cubes {
		out = append(out, c.separate()...)
	}
	g.cubes = out
}

func (c *cube) separate() []*cube {
	if c.collisions() == 0 {
		return []*cube{c}
	}
	for _, key := range separators {
		parts := map[string]*cube{}
		for _, x := range c.cells {
			v := x.separator(key)
			if parts[v] == nil {
				parts[v] = &cube{first: x.Field, kind: c.kind, levelType: c.levelType}
				parts[v].kind.qualifiers += " " + key + "=" + v
			}
			parts[v].cells = append(parts[v].cells, x)
		}
		if len(parts) == 1 {
			continue
		}
		left, list := 0, []*cube(nil)
		for _, v := range slices.Sorted(maps.Keys(parts)) {
			parts[v].shape()
			left += parts[v].collisions()
			list = append(list, parts[v])
		}
		if left == 0 {
			return list
		}
	}
	return []*cube{c}
}
