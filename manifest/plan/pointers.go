package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/manifest/report"
)

// pointers are arrays of which the numbers are places in another one beside them: the rows of
// sparse matrices, and categories, as anndata, SciPy and pandas write them.
var pointers = []struct {
	name   string
	beside []string // all of these; places are in the first
}{
	{"indptr", []string{"indices", "data"}},
	{"codes", []string{"categories"}},
}

// refusePointers refuses numbers that are places in what their own file has, where files follow one
// another: put end to end they would point into other files.
func (p *layout) refusePointers() {
	at := make(map[string]*array, len(p.arrays))
	for _, a := range p.arrays {
		at[a.path] = a
	}
	for _, a := range p.arrays {
		into := p.pointsBeside(a, at)
		if into == "" {
			into = p.pointsAlong(a)
		}
		if into != "" {
			p.find(p.odd(report.Finding{Kind: report.Order, Array: a.path, Effect: report.Refused, Option: "a manifest for each file, or " + report.Drop(a.path[1:]),
				Says: fmt.Sprintf("%s holds places in what its own file has of %s, along which files follow one another", a.path, into)}, p.filesHaving(a), a.files))
		}
	}
}

// pointsBeside is the array beside one of pointers, if files follow one another along it.
func (p *layout) pointsBeside(a *array, at map[string]*array) string {
	dir, name := path.Split(a.path)
	for _, x := range pointers {
		if x.name != name || slices.ContainsFunc(x.beside, func(name string) bool { return at[dir+name] == nil }) {
			continue
		}
		if b := at[dir+x.beside[0]]; slices.ContainsFunc(b.dims, p.follows) {
			return b.path
		}
	}
	return ""
}

// pointsAlong is the dimension along which the numbers of an array are places, as CF says it, if
// files follow one another along it.
func (p *layout) pointsAlong(a *array) string {
	for _, m := range a.members {
		for _, says := range []string{"instance_dimension", "compress"} {
			for _, name := range strings.Fields(textOf(m.v, says)) {
				if d := p.dimNear(a.path, name); p.follows(d) {
					return d
				}
			}
		}
	}
	return ""
}

// dimNear is the path of the dimension that a variable means by a name: that of its group, or of the
// nearest around it.
func (p *directions) dimNear(at, name string) string {
	for dir := path.Dir(at); ; dir = path.Dir(dir) {
		if d := path.Join(dir, name); p.dims[d] != nil || dir == "/" {
			return d
		}
	}
}

// follows reports whether files follow one another along a dimension that they have themselves.
func (p *directions) follows(at string) bool {
	d := p.dims[at]
	return d != nil && d.role == flowing && !d.made && len(d.order) > 1
}
