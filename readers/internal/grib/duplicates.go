package grib

import (
	"fmt"
	"maps"
	"slices"
)

// coordinates returns the coordinates of a field along the dimensions of a cube, and 0 for the other axes.
func (c *cube) coordinates(x *placedField) (out [axes]float64) {
	for a := range axes {
		if c.has[a] {
			out[a] = x.along(a)
		}
	}
	return out
}

// collisions counts the fields that have the coordinates of an earlier field.
func (c *cube) collisions() (n int) {
	seen := map[[axes]float64]bool{}
	for i := range c.fields {
		at := c.coordinates(&c.fields[i])
		if seen[at] {
			n++
		}
		seen[at] = true
	}
	return n
}

// separators lists keys by which fields with the same coordinates can differ: an analysis and step 0 of a forecast differ in marsType.
var separators = []string{"marsType", "marsStream", "typeOfGeneratingProcess", "generatingProcessIdentifier", "subCentre", "experimentVersionNumber", "typeOfEnsembleForecast"}

// separator returns the value of a key of separators as text.
func (f *Field) separator(key string) string {
	if b, ok := f.labels.Bytes(key); ok {
		return string(b)
	}
	n, _ := f.Int(key)
	return fmt.Sprint(n)
}

// splitCollisions splits each cube that has several fields with the same coordinates, if the fields differ in one of separators.
func (g *gridGroup) splitCollisions() {
	var out []*cube
	for _, c := range g.cubes {
		out = append(out, c.separate()...)
	}
	g.cubes = out
}

// separate splits a cube by the first key of separators that leaves no collision. It returns the cube itself if there is none.
func (c *cube) separate() []*cube {
	if c.collisions() == 0 {
		return []*cube{c}
	}
	for _, key := range separators {
		parts := map[string]*cube{}
		for _, x := range c.fields {
			v := x.separator(key)
			if parts[v] == nil {
				parts[v] = &cube{first: x.Field, kind: c.kind, levelType: c.levelType}
				parts[v].kind.qualifiers += " " + key + "=" + v
			}
			parts[v].fields = append(parts[v].fields, x)
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
