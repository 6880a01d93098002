package planner

import (
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/report"
)

// pointers lists arrays whose values are indices into an array in the same group. AnnData, SciPy
// and pandas write sparse matrices and categories in this form.
var pointers = []struct {
	name   string
	beside []string // arrays that must exist in the group; the indices refer to the first
}{
	{"indptr", []string{"indices", "data"}},
	{"codes", []string{"categories"}},
}

// refusePointers refuses indices into an array or dimension along which files are concatenated: in
// the combined dataset, they would refer to elements of other files.
func (p *arrangement) refusePointers() {
	if len(p.flows) == 0 {
		return
	}
	at, into := p.arraysByPath(), p.pointed()
	p.targets = map[string]*array{}
	for _, a := range p.arrays {
		beside, along := p.pointsBeside(a, at), into[a.path]
		if beside == nil && len(along) == 0 {
			continue
		}
		target, reason := "", "concatenated"
		if beside != nil && slices.ContainsFunc(beside.dims, p.alignment.follows) {
			target = beside.path
		} else if i := slices.IndexFunc(along, p.alignment.follows); i >= 0 {
			target = along[i]
		} else if i := slices.IndexFunc(along, p.alignment.overruled); i >= 0 && a.where != nil {
			target, reason = along[i], "differs"
		}
		switch {
		case target != "":
			p.env.find(p.env.odd(report.Finding{Code: report.IndexAcrossFiles, Array: a.path, Effect: report.Refused, Remedies: withoutPointers(a),
				Args: report.Args{"target": target, "reason": reason}}, p.survey.filesHaving(a), a.files))
		case a.where != nil:
			p.addTargets(a, beside, along)
		}
	}
}

// withoutPointers returns the remedies if files differ in an array into which a has indices.
func withoutPointers(a *array) []report.Remedy {
	return []report.Remedy{separate, report.DropPath(a.path[1:])}
}

// overruled reports whether a dimension uses the first file's coordinate although others differ.
func (p *alignment) overruled(at string) bool { return p.dims[at] != nil && p.dims[at].overruled }

// addTargets records the arrays into which an array has indices. Each file has its own indices, so
// these arrays must be equal in all files, even with coords=first.
func (p *arrangement) addTargets(a, beside *array, along []string) {
	if beside != nil {
		p.targets[beside.path] = a
	}
	for _, b := range p.arrays {
		if b != a && slices.ContainsFunc(b.dims, func(d string) bool { return slices.Contains(along, d) }) {
			p.targets[b.path] = a
		}
	}
}

// pointsBeside returns the array of the same group into which a has indices, or nil.
func (p *arrangement) pointsBeside(a *array, at map[string]*array) *array {
	dir, name := path.Split(a.path)
	for _, x := range pointers {
		if x.name != name || slices.ContainsFunc(x.beside, func(name string) bool { return at[dir+name] == nil }) {
			continue
		}
		return at[dir+x.beside[0]]
	}
	return nil
}

// pointed returns, by array path, the dimensions along which the array's values are indices,
// according to attributes. It also reads the attributes of dropped variables.
func (p *arrangement) pointed() map[string][]string {
	out := map[string][]string{}
	for n := range p.survey.classes {
		at := conventions{p: p.survey, class: p.survey.classes[n]}
		for _, v := range at.class.header.Variables {
			for _, to := range at.pointers(v) {
				i := slices.IndexFunc(at.class.vars, func(x planVar) bool { return x.v == to.from })
				if i < 0 {
					continue
				}
				name := at.class.vars[i].path
				for _, d := range to.dims {
					if !slices.Contains(out[name], d) {
						out[name] = append(out[name], d)
					}
				}
			}
		}
	}
	return out
}

// pointing says that the values of a variable are indices along dimensions.
type pointing struct {
	from *manifest.Variable
	dims []string // new paths
}

// conventions reads the attributes of a class's variables according to CF and UGRID.
type conventions struct {
	p     *survey
	class *class
	paths map[string]bool // the paths of the header's variables, filled when first needed
}

// connects is the suffix of the attributes that name a mesh's connectivity: face_node_connectivity
// names a variable with indices of nodes.
const connects = "_connectivity"

// pointers returns the variables that have indices according to the attributes of one variable.
func (c *conventions) pointers(v *manifest.Variable) (out []pointing) {
	for i := range v.Attributes {
		a := &v.Attributes[i]
		if len(a.Texts) == 0 {
			continue
		}
		kind, isMesh := strings.CutSuffix(a.Name, connects)
		switch {
		case a.Name == "instance_dimension" || a.Name == "compress":
			out = append(out, pointing{v, c.dimsNamed(v, strings.Fields(a.Texts[0]))})
		case isMesh:
			for _, from := range c.variables(v, strings.Fields(a.Texts[0])) {
				out = append(out, pointing{from, c.elements(v, kind[strings.LastIndexByte(kind, '_')+1:])})
			}
		case a.Name == "cf_role" && a.Texts[0] == "location_index_set":
			for _, mesh := range c.variables(v, strings.Fields(coord.TextOf(v, "mesh"))) {
				out = append(out, pointing{v, c.elements(mesh, coord.TextOf(v, "location"))})
			}
		}
	}
	return out
}

// elements returns the dimensions of a mesh's nodes, edges, faces or volumes.
func (c *conventions) elements(mesh *manifest.Variable, kind string) []string {
	dims := c.dimsNamed(mesh, strings.Fields(coord.TextOf(mesh, kind+"_dimension")))
	for _, v := range c.variables(mesh, strings.Fields(coord.TextOf(mesh, kind+"_coordinates"))) {
		dims = append(dims, c.dims(v)...)
	}
	if len(dims) > 0 {
		return dims
	}
	for _, v := range c.variables(mesh, strings.Fields(coord.TextOf(mesh, kind+"_node"+connects))) {
		if all := c.dims(v); len(all) > 0 {
			dims = append(dims, all[0])
		}
	}
	return dims
}

// variables returns the variables that attributes of `from` name.
func (c *conventions) variables(from *manifest.Variable, names []string) (out []*manifest.Variable) {
	all := c.class.header.Variables
	if c.paths == nil && len(names) > 0 {
		c.paths = make(map[string]bool, len(all))
		for _, v := range all {
			c.paths[v.Path] = true
		}
	}
	for _, name := range names {
		if at := naming.Resolve(c.paths, from.Path, name); at != "" {
			out = append(out, all[slices.IndexFunc(all, func(v *manifest.Variable) bool { return v.Path == at })])
		}
	}
	return out
}

// dims returns the dimensions of a variable, even if it was dropped.
func (c *conventions) dims(v *manifest.Variable) []string {
	for i := range c.class.vars {
		if c.class.vars[i].v == v {
			return c.class.vars[i].dims
		}
	}
	return c.p.env.viewOf(c.p.env.renamer(), v).dims
}

// dimsNamed returns the dimensions that attributes of a variable name: those of its group, or of the
// nearest parent group that has one.
func (c *conventions) dimsNamed(from *manifest.Variable, names []string) (out []string) {
	for _, name := range names {
		for dir := path.Dir(from.Path); ; dir = path.Dir(dir) {
			at := path.Join(dir, name)
			if slices.ContainsFunc(c.class.header.Dimensions, func(d manifest.Dimension) bool { return d.Path == at }) {
				out = append(out, c.p.env.renamer().Dim(at))
				break
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return out
}

// follows reports whether files are concatenated along a dimension that they have themselves.
func (p *alignment) follows(at string) bool {
	d := p.dims[at]
	return d != nil && d.role == flowing && d.by != byOption && len(d.order) > 1
}
