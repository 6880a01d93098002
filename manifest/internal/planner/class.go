package planner

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// class holds the files with one header, or with headers that differ only in values of attributes that may vary: see
// varying. The options are applied to it: dropped variables are absent, and renamed variables have their new names.
type class struct {
	file    *manifest.FileHeader // of the first file
	header  *manifest.Header     // the same, expanded
	differ  []bool               // for each variable of the header, whether its attributes differ between files; nil if none does
	vars    []planVar
	spare   []planVar                     // coordinates with names of dimensions that no selected variable has
	dims    map[string]manifest.Dimension // by new path
	unnamed map[string]bool               // paths, in the header, of dimensions without a name in the files
	loose   []planVar                     // scalars that are not selected, but may place the files
	virtual map[string]virtualAxis        // by dimension
	like    map[string][]string           // by new path of an unnamed dimension: named dimensions with the same length that it may be, before renaming
	files   []int32
	others  int64          // the number of files of earlier plans that have this header and are not in files
	coords  map[string]int // for each dimension, the index in vars of its coordinate
	parents cf.Parents     // the variables that bounds take their units from
}

// planVar is a variable of a class with the options applied to its names.
type planVar struct {
	at   int // in the header
	v    *manifest.Variable
	path string   // the new path
	dims []string // the new paths; may include dimensions of other classes
	aux  bool     // another variable names it as a coordinate, bounds or grid mapping
}

// weight returns the number of files of the class.
func (c *class) weight() int64 { return int64(len(c.files)) + c.others }

// makeClasses groups files by header and makes a class for each group.
func (p *survey) makeClasses() error {
	known := map[*manifest.FileHeader]int32{}
	byID := map[string]int32{}
	varying, byKey := newVarying(p.env), map[classKey]int32{}
	p.classOf = make([]int32, len(p.env.files))
	for i, f := range p.env.files {
		p.classOf[i] = -1
		if f.Hidden {
			continue
		}
		c, ok := known[f.Header]
		if !ok && f.Header.ID != "" {
			c, ok = byID[f.Header.ID]
		}
		if !ok {
			key := classKey{f.Header.Base(), varying.keyOf(f.Header)}
			if c, ok = byKey[key]; ok {
				p.classes[c].addDifferences(f.Header)
			} else {
				made, err := p.env.look(f)
				if err != nil {
					return err
				}
				c = int32(len(p.classes))
				p.classes = append(p.classes, made)
				byKey[key] = c
			}
			byID[f.Header.ID] = c
		}
		known[f.Header] = c
		p.classOf[i] = c
		p.classes[c].files = append(p.classes[c].files, int32(i))
		p.classes[c].others += p.env.earlier.others(int32(i))
	}
	return nil
}

// classKey identifies a class.
type classKey struct {
	base *manifest.Header
	key  string // see varying.keyOf
}

// check returns an error for a variable that no correct reader returns. Scans may come from files
// that someone else wrote, so the planner does not rely on their shapes.
func check(v *manifest.Variable) error {
	if len(v.Dims) != len(v.Shape) {
		return fmt.Errorf("%s: %w: %d dimensions for %d axes", v.Path, codec.ErrCorrupt, len(v.Dims), len(v.Shape))
	}
	if v.Unreadable != "" { // its shape is only shown, so it may be of any size
		if slices.ContainsFunc(v.Shape, func(n int64) bool { return n < 0 }) {
			return fmt.Errorf("%s: %w: shape %v", v.Path, codec.ErrCorrupt, v.Shape)
		}
		return nil
	}
	if n, err := grid.Elements(v.Shape); err != nil || v.Type.Size > 0 && n > math.MaxInt64/int64(v.Type.Size) {
		return fmt.Errorf("%s: %w: shape %v has more bytes than can be counted", v.Path, codec.ErrCorrupt, v.Shape)
	}
	if v.Storage.Layout == manifest.Chunked {
		if _, err := v.Grid(); err != nil {
			return fmt.Errorf("%s: %w: %w", v.Path, codec.ErrCorrupt, err)
		}
	}
	return nil
}

// look applies the options to the header of a file and returns its class.
func (p *env) look(f *manifest.File) (*class, error) {
	h := f.Header.Expand()
	for i := range h.Variables {
		if err := check(h.Variables[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", f.URL, err)
		}
	}
	c := &class{file: f.Header, header: h, vars: make([]planVar, 0, len(h.Variables)), dims: map[string]manifest.Dimension{}, unnamed: unnamedIn(h), parents: cf.ParentsOf(h)}
	renamer := p.renamer()
	used := p.usedBy(h, renamer)
	p.useTimes(h, c.parents, used)
	named := references(h)
	taken := map[string]string{}
	for i := range h.Variables {
		v := h.Variables[i]
		isSeen := p.isSeen(v, renamer, used[v.Path])
		// An unwanted scalar may be the position of its file along a dimension of other files.
		if !isSeen && len(v.Dims) == 0 && p.notDropped(v.Path) {
			x := p.viewOf(renamer, v)
			x.at = i
			c.loose = append(c.loose, x)
			continue
		}
		if !isSeen && (c.unnamed == nil || len(v.Dims) != 1 || !p.notDropped(v.Path)) {
			continue
		}
		x := p.viewOf(renamer, v)
		c.number(&x, renamer)
		if x.at = i; !isSeen {
			c.spare = append(c.spare, x)
			continue
		}
		// Two variables cannot share a path; only a rename or a flattened group causes this.
		if other, ok := taken[x.path]; ok {
			return nil, fmt.Errorf("%s: %s and %s would both be called %s", p.label(f.URL), other, v.Path, x.path)
		}
		taken[x.path] = v.Path
		x.aux = named[v.Path] || used[v.Path]
		c.vars = append(c.vars, x)
	}
	if err := c.settleDims(renamer); err != nil {
		return nil, fmt.Errorf("%s: %w", p.label(f.URL), err)
	}
	slices.SortFunc(c.vars, func(a, b planVar) int { return cmp.Compare(a.path, b.path) })
	c.findCoords()
	return c, nil
}

// unnamedIn returns the paths of a header's unnamed dimensions, or nil if there are none.
func unnamedIn(h *manifest.Header) (unnamed map[string]bool) {
	for _, d := range h.Dimensions {
		if d.Anonymous && unnamed == nil {
			unnamed = map[string]bool{}
		}
		if d.Anonymous {
			unnamed[d.Path] = true
		}
	}
	return unnamed
}

// number sets unnamed dimensions to their generated paths, without renaming. Rename options apply
// later, when all files have the same generated name.
func (c *class) number(x *planVar, renamer naming.Renamer) {
	if len(renamer.Renames) == 0 || c.unnamed == nil {
		return
	}
	x.dims = slices.Clone(x.dims)
	for k, d := range x.v.Dims {
		if c.unnamed[d] {
			x.dims[k] = renamer.Number(d)
		}
	}
}

// findCoords indexes the coordinate variables of dimensions.
func (c *class) findCoords() {
	c.coords = map[string]int{}
	for i, x := range c.vars {
		if len(x.dims) == 1 && x.dims[0] == x.path && x.v.Unreadable == "" {
			c.coords[x.path] = i
		}
	}
}

// all yields the variables, including spare ones that may still be included.
func (c *class) all() iter.Seq[*planVar] {
	return func(yield func(*planVar) bool) {
		for _, list := range [][]planVar{c.vars, c.spare} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// usedBy returns the dimensions of the variables that the options select.
func (p *env) usedBy(h *manifest.Header, renamer naming.Renamer) map[string]bool {
	used := map[string]bool{}
	for i := range h.Variables {
		v := h.Variables[i]
		if _, ok := renamer.Path(v.Path); !ok || !p.wanted(v.Path) {
			continue
		}
		for _, d := range v.Dims {
			used[d] = true
		}
	}
	return used
}

// isSeen reports whether a variable is selected, or needed as the coordinate of a used dimension.
func (p *env) isSeen(v *manifest.Variable, renamer naming.Renamer, used bool) bool {
	if used {
		return p.notDropped(v.Path)
	}
	_, within := renamer.Path(v.Path)
	return within && p.wanted(v.Path)
}

// nameKey identifies the path and the dimensions of a variable. Headers share the lists of dimensions of variables that
// differ only in attributes.
type nameKey struct {
	path string
	dims *string
	n    int
}

// viewOf returns a variable with its new names, which are cached.
func (p *env) viewOf(renamer naming.Renamer, v *manifest.Variable) planVar {
	key := nameKey{path: v.Path, n: len(v.Dims)}
	if key.n > 0 {
		key.dims = &v.Dims[0]
	}
	if x, ok := p.named[key]; ok {
		x.v = v
		return x
	}
	x := planVar{v: v, dims: make([]string, len(v.Dims))}
	var within bool
	if x.path, within = renamer.Path(v.Path); !within {
		x.path = renamer.Outer(v.Path)
	}
	for k, d := range v.Dims {
		x.dims[k] = renamer.Dim(d)
	}
	if p.named == nil {
		p.named = map[nameKey]planVar{}
	}
	p.named[key] = x
	return x
}

// settleDims collects the dimensions by their new names: first the dimensions of variables, because a
// header may omit their lengths, and then the others. Two dimensions may get one name if they have the
// same length.
func (c *class) settleDims(renamer naming.Renamer) error {
	known, was := map[string]manifest.Dimension{}, map[string]string{}
	for _, d := range c.header.Dimensions {
		known[d.Path] = d
	}
	for _, x := range c.vars {
		for k, now := range x.dims {
			if k >= len(x.v.Shape) {
				break
			}
			d, ok := known[x.v.Dims[k]]
			if !ok {
				d.Length = x.v.Shape[k]
			}
			there, ok := c.dims[now]
			if ok && there.Length != d.Length && was[now] != x.v.Dims[k] {
				return fmt.Errorf("the dimensions %s (length %d) and %s (length %d) would both be called %s", was[now], there.Length, x.v.Dims[k], d.Length, now)
			}
			if !ok {
				d.Path, was[now] = now, x.v.Dims[k]
				c.dims[now] = d
			}
		}
	}
	for _, d := range c.header.Dimensions {
		if d.Anonymous {
			d.Path = renamer.Number(d.Path) // renamed later, when all files agree on what it is
			c.addLike(d, renamer)
		} else {
			d.Path = renamer.Dim(d.Path)
		}
		if _, ok := c.dims[d.Path]; !ok {
			c.dims[d.Path] = d
		}
	}
	return nil
}

// addLike records which named dimensions an unnamed one may be.
func (c *class) addLike(d manifest.Dimension, renamer naming.Renamer) {
	for _, other := range d.Like {
		if c.like == nil {
			c.like = map[string][]string{}
		}
		c.like[d.Path] = append(c.like[d.Path], renamer.Number(other))
	}
}

// meaning returns a variable of the header; bounds of times get the units of their parent variable.
func (c *class) meaning(at int) *manifest.Variable { return c.parents.Bounds(c.header.Variables[at]) }

func (p *env) renamer() naming.Renamer {
	group := strings.Trim(p.opts.Group, "/")
	if group != "" {
		group += "/"
	}
	return naming.Renamer{Group: "/" + group, Renames: p.opts.Rename}
}

// wanted reports whether the selection options select a variable.
func (p *env) wanted(at string) bool {
	return (len(p.opts.Vars) == 0 || naming.Matches(p.opts.Vars, at)) && p.notDropped(at)
}

func (p *env) notDropped(at string) bool { return !naming.Matches(p.opts.Drop, at) }

// Choice says which variables of a source the options select. It is a scan.Choice.
type Choice struct{ Options *plan.Options }

// Wanted reports whether the options select a variable of a source by itself, and not only because
// another variable needs it.
func (c Choice) Wanted(at string) bool {
	p := env{opts: c.Options.Curated()}
	_, within := p.renamer().Path(at)
	return within && p.wanted(at)
}

// Dropped reports whether the options exclude a path of a source, even if another variable needs it.
// The path is that of a variable, of a group, or of a group attribute in the form of
// manifest.AttributePath.
func (c Choice) Dropped(at string) bool {
	opts := c.Options.Curated()
	group, dir := (&env{opts: opts}).renamer().Group, strings.TrimSuffix(path.Dir(at), "/")+"/"
	if !strings.HasPrefix(dir, group) && !strings.HasPrefix(group, dir) {
		return true // neither in the group nor in one of its parents
	}
	if isAttribute(at) {
		return naming.Matches(attributePatterns(opts), at)
	}
	return naming.Matches(opts.Drop, at)
}

// attributePatterns returns the patterns that exclude attributes.
func attributePatterns(o *plan.Options) []string {
	return slices.DeleteFunc(slices.Clone(o.Drop), func(g string) bool { return !isAttribute("/" + g) })
}

// isAttribute reports whether a path names an attribute.
func isAttribute(at string) bool { return strings.Contains(at, "/@") }

// newNames returns a variable whose attributes (such as coordinates and bounds) name other
// variables by their new names.
func (p *survey) newNames(class int32, v *manifest.Variable) *manifest.Variable {
	if len(p.env.opts.Rename) == 0 {
		// The common case allocates nothing.
		return v
	}
	paths, now := map[string]bool{}, map[string]string{}
	for _, x := range p.classes[class].vars {
		paths[x.v.Path], now[x.v.Path] = true, x.path
	}
	out := *v
	out.Attributes = slices.Clone(v.Attributes)
	for i := range out.Attributes {
		a := &out.Attributes[i]
		if !slices.Contains(cf.ReferenceAttributes, a.Name) {
			continue
		}
		a.Texts = slices.Clone(a.Texts)
		for k, text := range a.Texts {
			words := strings.Split(text, " ")
			for n, word := range words {
				name := strings.TrimSuffix(word, ":")
				if found := naming.Resolve(paths, v.Path, name); found != "" && report.Base(now[found]) != report.Base(found) {
					words[n] = strings.TrimSuffix(name, report.Base(found)) + report.Base(now[found]) + word[len(name):]
				}
			}
			a.Texts[k] = strings.Join(words, " ")
		}
	}
	return &out
}

// references returns the paths of variables that attributes of other variables name, and that CF
// readers need to interpret the data. Ancillary variables are excluded.
func references(h *manifest.Header) map[string]bool {
	named, paths := map[string]bool{}, map[string]bool{}
	for i := range h.Variables {
		paths[h.Variables[i].Path] = true
	}
	for i := range h.Variables {
		v := h.Variables[i]
		for _, a := range v.Attributes {
			// Ancillary variables such as quality flags are data, not coordinates.
			if a.Name == cf.Ancillary || !slices.Contains(cf.ReferenceAttributes, a.Name) {
				continue
			}
			for _, text := range a.Texts {
				for _, word := range strings.Fields(text) {
					if found := naming.Resolve(paths, v.Path, strings.TrimSuffix(word, ":")); found != "" {
						named[found] = true
					}
				}
			}
		}
	}
	return named
}

// find returns the index in c.vars of the variable at a path, or -1.
func (c *class) find(at string) int {
	if i, ok := c.search(at); ok {
		return i
	}
	return -1
}

func (c *class) search(at string) (int, bool) {
	return slices.BinarySearchFunc(c.vars, at, func(x planVar, at string) int { return cmp.Compare(x.path, at) })
}

// groupAttributes returns the attributes of the groups of a file, or nil.
func groupAttributes(f *manifest.File) *manifest.GroupAttributes {
	if f.Groups == nil {
		return nil
	}
	return f.Groups.Expand()
}

// groupsOf returns the groups of a file.
func groupsOf(f *manifest.File) []manifest.Group {
	if all := groupAttributes(f); all != nil {
		return all.Groups
	}
	return nil
}

// useTimes marks as used the times along used dimensions without a coordinate, even if the user did
// not select them, because they place the files. Damaged variables count: they may hold times.
func (p *env) useTimes(h *manifest.Header, parents cf.Parents, used map[string]bool) {
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
		delete(along, v.Path) // this dimension has a coordinate
		if v.Damaged && len(v.Dims) == 1 && used[v.Dims[0]] {
			used[v.Path] = true
		}
	}
	for _, found := range along {
		if at := found.placing(); at != "" && !p.wanted(at) {
			used[at] = true
		}
	}
}
