package planner

import (
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
)

// timesAlong returns the path of the time variable along a dimension without a coordinate, or "". For
// example, the lines of a swath have times, but the dimension is not called time. It ignores bounds.
func (p *alignment) timesAlong(d *dim) string {
	found := times{}
	for _, n := range d.classes {
		c := p.survey.classes[n]
		for _, x := range c.vars {
			if len(x.dims) == 1 && x.dims[0] == d.path {
				found.add(x.path, x.v, c.parents)
			}
		}
	}
	return found.placing()
}

// times holds the time variables along one dimension, by path.
type times map[string][]*manifest.Variable

// add adds a variable if it holds times and is not the bounds of another.
func (t times) add(at string, v *manifest.Variable, parents cf.Parents) {
	if v.Unreadable == "" && parents[v.Path] == nil && coord.NatureOf(v) == coord.Instant {
		t[at] = append(t[at], v)
	}
}

// placing returns the path of the variable that places files, or "". If there are several, for
// example UTC and atomic time, it returns the one that CF attributes mark, or the one called time.
func (t times) placing() string {
	for _, marked := range []func(at string, v *manifest.Variable) bool{
		func(string, *manifest.Variable) bool { return true },
		func(_ string, v *manifest.Variable) bool { return coord.TextOf(v, "axis") == "T" },
		func(_ string, v *manifest.Variable) bool { return coord.TextOf(v, "standard_name") == "time" },
		func(at string, _ *manifest.Variable) bool { return strings.EqualFold(path.Base(at), "time") },
	} {
		var found []string
		for at, list := range t {
			if slices.ContainsFunc(list, func(v *manifest.Variable) bool { return marked(at, v) }) {
				found = append(found, at)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
	}
	return ""
}
