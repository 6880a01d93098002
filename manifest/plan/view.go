package plan

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
	"varve/manifest/report"
)

// class is all files with one header, seen through the options: what is left out is not in
// it, and what is renamed has its new name.
type class struct {
	header  *manifest.Header
	vars    []lensed
	spare   []lensed                      // coordinates of no dimension that is wanted, as far as names tell
	dims    map[string]manifest.Dimension // by new path
	unnamed map[string]bool               // dimensions that the files have no name for, by path in the header
	loose   []lensed                      // scalars that nobody asked for
	scalars map[string]*manifest.Variable // those that are coordinates, of one element each, by dimension
	given   map[string]bool               // dimensions along which an option says where the files lie, beside others that have them
	like    map[string][]string           // those of them that may be others, which are as long, by new path; these have no new names yet
	files   []int32
	first   int32 // of the files, once they are ranked
	ranked  bool
	coords  map[string]int // the place in vars of the coordinate of a dimension
	parents cf.Parents     // of the header
}

// lensed is a variable of a class.
type lensed struct {
	at   int // in the header
	v    *manifest.Variable
	path string   // the new one
	dims []string // the new ones; of other classes, too
	aux  bool     // another variable names it: a coordinate, bounds, a mapping
}

// classify sorts files by their headers.
func (p *survey) classify() error {
	known := map[*manifest.Header]int32{}
	byID := map[string]int32{}
	p.classOf = make([]int32, len(p.files))
	for i, f := range p.files {
		p.classOf[i] = -1
		if f.Hidden {
			continue
		}
		c, ok := known[f.Header]
		if !ok && f.Header.ID != "" {
			c, ok = byID[f.Header.ID]
		}
		if !ok {
			made, err := p.look(f)
			if err != nil {
				return err
			}
			c = int32(len(p.classes))
			p.classes = append(p.classes, made)
			byID[f.Header.ID] = c
		}
		known[f.Header] = c
		p.classOf[i] = c
		p.classes[c].files = append(p.classes[c].files, int32(i))
	}
	return nil
}

// check reports what is wrong with a variable that no reader gives out.
func check(v *manifest.Variable) error {
	if len(v.Dims) != len(v.Shape) {
		return fmt.Errorf("%s: %w: %d dimensions for %d axes", v.Path, codec.ErrCorrupt, len(v.Dims), len(v.Shape))
	}
	if v.Unreadable != "" { // for whatever its shape is
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

// look makes the class of a file's header.
func (p *inquiry) look(f *manifest.File) (*class, error) {
	h := f.Header
	for i := range h.Variables {
		if err := check(h.Variables[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", f.URL, err)
		}
	}
	c := &class{header: h, vars: make([]lensed, 0, len(h.Variables)), dims: map[string]manifest.Dimension{}, unnamed: unnamedIn(h), parents: cf.ParentsOf(h)}
	lens := p.lens()
	used := p.usedBy(h, lens)
	p.useTimes(h, c.parents, used)
	named := references(h)
	taken := map[string]string{}
	for i := range h.Variables {
		v := h.Variables[i]
		isSeen := p.isSeen(v, lens, used[v.Path])
		if !isSeen && len(v.Dims) == 0 && p.notDropped(v.Path) {
			x := p.through(lens, v)
			x.at = i
			c.loose = append(c.loose, x)
			continue
		}
		if !isSeen && (c.unnamed == nil || len(v.Dims) != 1 || !p.notDropped(v.Path)) {
			continue
		}
		x := p.through(lens, v)
		c.number(&x, lens)
		if x.at = i; !isSeen {
			c.spare = append(c.spare, x)
			continue
		}
		if other, ok := taken[x.path]; ok {
			return nil, fmt.Errorf("%s: %s and %s would both be called %s", p.label(f.URL), other, v.Path, x.path)
		}
		taken[x.path] = v.Path
		x.aux = named[v.Path] || used[v.Path]
		c.vars = append(c.vars, x)
	}
	if err := c.settleDims(lens); err != nil {
		return nil, fmt.Errorf("%s: %w", p.label(f.URL), err)
	}
	slices.SortFunc(c.vars, func(a, b lensed) int { return cmp.Compare(a.path, b.path) })
	c.findCoords()
	return c, nil
}

// unnamedIn are the dimensions of a header that its files have no name for, by path; nil if there are none.
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

// number gives a variable the dimensions that its file has no name for.
func (c *class) number(x *lensed, lens lens) {
	if len(lens.rename) == 0 || c.unnamed == nil {
		return
	}
	x.dims = slices.Clone(x.dims)
	for k, d := range x.v.Dims {
		if c.unnamed[d] {
			x.dims[k] = lens.number(d)
		}
	}
}

// findCoords finds the coordinates of dimensions among the variables.
func (c *class) findCoords() {
	c.coords = map[string]int{}
	for i, x := range c.vars {
		if len(x.dims) == 1 && x.dims[0] == x.path && x.v.Unreadable == "" {
			c.coords[x.path] = i
		}
	}
}

// all are the variables, and those that may become some.
func (c *class) all() iter.Seq[*lensed] {
	return func(yield func(*lensed) bool) {
		for _, list := range [][]lensed{c.vars, c.spare} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// usedBy are the dimensions of the variables that are wanted.
func (p *inquiry) usedBy(h *manifest.Header, lens lens) map[string]bool {
	used := map[string]bool{}
	for i := range h.Variables {
		v := h.Variables[i]
		if _, ok := lens.path(v.Path); !ok || !p.wanted(v.Path) {
			continue
		}
		for _, d := range v.Dims {
			used[d] = true
		}
	}
	return used
}

// isSeen reports whether a variable is wanted, or needed as the coordinate of a dimension that is used.
func (p *inquiry) isSeen(v *manifest.Variable, lens lens, used bool) bool {
	if used {
		return p.notDropped(v.Path)
	}
	_, within := lens.path(v.Path)
	return within && p.wanted(v.Path)
}

// through is a variable with its new names. Those that headers have in common have their names in
// common, too.
func (p *inquiry) through(lens lens, v *manifest.Variable) lensed {
	if x, ok := p.named[v]; ok {
		return x
	}
	x := lensed{v: v, dims: make([]string, len(v.Dims))}
	var within bool
	if x.path, within = lens.path(v.Path); !within {
		x.path = lens.outer(v.Path)
	}
	for k, d := range v.Dims {
		x.dims[k] = lens.dim(d)
	}
	if p.named == nil {
		p.named = map[*manifest.Variable]lensed{}
	}
	p.named[v] = x
	return x
}

// setCoord makes a variable the coordinate of its dimension, beside the others or in the place
// of the one of its path.
func (c *class) setCoord(x lensed) {
	at, there := c.search(x.path)
	if there {
		c.vars[at] = x
	} else {
		c.vars = slices.Insert(c.vars, at, x)
		for dim, i := range c.coords {
			if i >= at {
				c.coords[dim]++
			}
		}
	}
	c.dims[x.dims[0]] = manifest.Dimension{Path: x.dims[0], Length: 1}
	if x.path == x.dims[0] {
		c.coords[x.path] = at
	}
}

// settleDims finds the dimensions by their new names: those of variables, of which only they may
// know the length, and then the others. What two are called they are together, if they are as long.
func (c *class) settleDims(lens lens) error {
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
				return fmt.Errorf("the dimensions %s, of %d, and %s, of %d, would both be called %s", was[now], there.Length, x.v.Dims[k], d.Length, now)
			}
			if !ok {
				d.Path, was[now] = now, x.v.Dims[k]
				c.dims[now] = d
			}
		}
	}
	for _, d := range c.header.Dimensions {
		if d.Anonymous {
			d.Path = lens.number(d.Path) // which is renamed once it is known what it is in all files
			c.addLike(d, lens)
		} else {
			d.Path = lens.dim(d.Path)
		}
		if _, ok := c.dims[d.Path]; !ok {
			c.dims[d.Path] = d
		}
	}
	return nil
}

// addLike notes what a dimension may be.
func (c *class) addLike(d manifest.Dimension, lens lens) {
	for _, other := range d.Like {
		if c.like == nil {
			c.like = map[string][]string{}
		}
		c.like[d.Path] = append(c.like[d.Path], lens.number(other))
	}
}

// meaning is a variable of the header; bounds of times have the units of what they bound.
func (c *class) meaning(at int) *manifest.Variable { return c.parents.Bounds(c.header.Variables[at]) }

// lens is how paths of sources become paths of arrays.
type lens struct {
	group  string // with a slash at the end
	rename []Rename
}

func (p *inquiry) lens() lens {
	group := strings.Trim(p.opts.Group, "/")
	if group != "" {
		group += "/"
	}
	return lens{"/" + group, p.opts.Rename}
}

// path is that of an array, or false for what is outside of the group.
func (l lens) path(at string) (string, bool) {
	rest, ok := strings.CutPrefix(at, l.group)
	return l.renamed("/" + rest), ok
}

// dim is the path of a dimension; those of the groups around the chosen one are its own.
func (l lens) dim(at string) string {
	if moved, ok := l.path(at); ok {
		return moved
	}
	return l.outer(at)
}

// number is the path of a dimension that a file has no name for, before it is renamed.
func (l lens) number(at string) string { return lens{group: l.group}.dim(at) }

func (l lens) outer(at string) string { return l.renamed("/" + path.Base(at)) }

func (l lens) renamed(at string) string {
	for _, r := range l.rename {
		if dir, _ := path.Split(at); !r.means(at) {
			continue
		} else if !strings.Contains(r.New, "/") {
			return dir + r.New
		}
		return "/" + strings.TrimLeft(r.New, "/")
	}
	return at
}

// wanted reports whether the globs choose a variable.
func (p *inquiry) wanted(at string) bool {
	return (len(p.opts.Vars) == 0 || matches(p.opts.Vars, at)) && p.notDropped(at)
}

func (p *inquiry) notDropped(at string) bool { return !matches(p.opts.Drop, at) }

// Wanted reports whether a variable of a source is asked for by itself, and not only as others need it.
func (o *Options) Wanted(at string) bool {
	p := inquiry{opts: o}
	_, within := p.lens().path(at)
	return within && p.wanted(at)
}

// Dropped reports whether what is at a path of a source is left out, whatever else needs it: a variable, a group,
// or an attribute of a group, as manifest.AttributePath has it.
func (o *Options) Dropped(at string) bool {
	group, dir := (&inquiry{opts: o}).lens().group, strings.TrimSuffix(path.Dir(at), "/")+"/"
	if !strings.HasPrefix(dir, group) && !strings.HasPrefix(group, dir) {
		return true // neither in the group nor in one around it
	}
	if isAttribute(at) {
		return matches(o.dropAttributes(), at)
	}
	return matches(o.Drop, at)
}

// dropAttributes are the globs of attributes to leave out.
func (o *Options) dropAttributes() []string {
	return slices.DeleteFunc(slices.Clone(o.Drop), func(g string) bool { return !isAttribute("/" + g) })
}

// isAttribute reports whether a path is that of an attribute, and no variable's.
func isAttribute(at string) bool { return strings.Contains(at, "/@") }

// matches reports whether a path, or its last element, fits one of some globs.
func matches(globs []string, at string) bool {
	for _, g := range globs {
		if ok, _ := path.Match(g, path.Base(at)); ok || g == path.Base(at) {
			return true
		}
		if ok, _ := path.Match("/"+strings.TrimLeft(g, "/"), at); ok {
			return true
		}
	}
	return false
}

// newNames is a variable of a class whose attributes name others as the arrays are called.
func (p *survey) newNames(class int32, v *manifest.Variable) *manifest.Variable {
	if len(p.opts.Rename) == 0 {
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
		if !slices.Contains(cf.Naming, a.Name) {
			continue
		}
		a.Texts = slices.Clone(a.Texts)
		for k, text := range a.Texts {
			words := strings.Split(text, " ")
			for n, word := range words {
				name := strings.TrimSuffix(word, ":")
				if found := resolve(paths, v.Path, name); found != "" && report.Base(now[found]) != report.Base(found) {
					words[n] = strings.TrimSuffix(name, report.Base(found)) + report.Base(now[found]) + word[len(name):]
				}
			}
			a.Texts[k] = strings.Join(words, " ")
		}
	}
	return &out
}

// references returns the paths of variables that others name in their attributes, and say less
// without.
func references(h *manifest.Header) map[string]bool {
	named, paths := map[string]bool{}, map[string]bool{}
	for i := range h.Variables {
		paths[h.Variables[i].Path] = true
	}
	for i := range h.Variables {
		v := h.Variables[i]
		for _, a := range v.Attributes {
			if a.Name == cf.Ancillary || !slices.Contains(cf.Naming, a.Name) {
				continue
			}
			for _, text := range a.Texts {
				for _, word := range strings.Fields(text) {
					if found := resolve(paths, v.Path, strings.TrimSuffix(word, ":")); found != "" {
						named[found] = true
					}
				}
			}
		}
	}
	return named
}

// resolve finds, among paths, that of the variable that a name means which the one at from uses.
func resolve(paths map[string]bool, from, name string) string {
	if strings.HasPrefix(name, "/") {
		if paths[name] {
			return name
		}
		return ""
	}
	for dir := path.Dir(from); ; dir = path.Dir(dir) {
		if at := path.Join(dir, name); paths[at] {
			return at
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}
