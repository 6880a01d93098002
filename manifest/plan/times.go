package plan

import (
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
)

// timesAlong finds the variable of times along a dimension that has no coordinate: a swath's
// lines are at times, but the dimension has another name. The two ends of one time, which are its
// bounds, are no course of times.
func (p *survey) timesAlong(d *dim) string {
	found := times{}
	for _, n := range d.classes {
		c := p.classes[n]
		for _, x := range c.vars {
			if len(x.dims) == 1 && x.dims[0] == d.path {
				found.add(x.path, x.v, c.parents)
			}
		}
	}
	return found.that()
}

// useTimes adds, of dimensions that are used and have no coordinate, the times along them that nobody
// asked for: they say where files lie. What is damaged may be some.
func (p *inquiry) useTimes(h *manifest.Header, parents cf.Parents, used map[string]bool) {
	if len(p.opts.Vars) == 0 {
		return
	}
	along := map[string]times{}
	for _, v := range h.Variables {
		if len(v.Dims) != 1 || !used[v.Dims[0]] {
			continue
		}
		if along[v.Dims[0]] == nil {
			along[v.Dims[0]] = times{}
		}
		along[v.Dims[0]].add(v.Path, v, parents)
	}
	for _, v := range h.Variables {
		delete(along, v.Path) // which has a coordinate
		if v.Damaged && len(v.Dims) == 1 && used[v.Dims[0]] {
			used[v.Path] = true
		}
	}
	for _, found := range along {
		if at := found.that(); at != "" && !p.wanted(at) {
			used[at] = true
		}
	}
}

// times are variables of times along one dimension, by their paths.
type times map[string][]*manifest.Variable

// add adds a variable along the dimension, if it is of times and no bounds of others.
func (t times) add(at string, v *manifest.Variable, parents cf.Parents) {
	if v.Unreadable == "" && parents[v.Path] == nil && natureOf(v) == instant {
		t[at] = append(t[at], v)
	}
}

// that is the path of those that say where a file lies: of several, such as times and the same by
// atomic clocks, the one that CF marks, or that is called so.
func (t times) that() string {
	for _, marked := range []func(at string, v *manifest.Variable) bool{
		func(string, *manifest.Variable) bool { return true },
		func(_ string, v *manifest.Variable) bool { return textOf(v, "axis") == "T" },
		func(_ string, v *manifest.Variable) bool { return textOf(v, "standard_name") == "time" },
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
