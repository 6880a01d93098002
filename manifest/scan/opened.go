package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/manifest"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// opened is a source that is open, with what is in it and what it leads to.
type opened struct {
	*scanner
	ctx   context.Context
	url   string // by which it is kept
	src   *source.Source
	data  *readers.Dataset // nil where only bytes are wanted
	names spelling         // of paths of data

	trail     trail
	near      map[string]*opened // the files that virtual datasets and links of it name, by these names
	here      *opened            // the same source, where it is named by itself
	described map[string]*described

	groups    map[string]*readers.Group // what is in data, by path, once somebody asked
	variables map[string]*readers.Variable
}

// trail is how virtual datasets and links led to a source.
type trail struct {
	depth   int      // how many of them
	folders []string // those of the files that led here, which may name what is in them
	count   *int     // variables that mappings named, here and wherever they lead
}

// on is the trail to what is named at the end of a trail.
func (t *trail) on(folders ...string) trail {
	if t.count == nil {
		t.count = new(int)
	}
	return trail{depth: t.depth + 1, folders: append(slices.Clip(t.folders), folders...), count: t.count}
}

// described is a variable that a mapping named, of which there may be more.
type described struct {
	v     *manifest.Variable
	f     *found
	shape []uint64 // that mappings are of
}

// from opens the file that a mapping of the source names. There need not be one.
func (o *opened) from(name string) (*opened, error) {
	if name != "." {
		return o.neighbour(name)
	}
	if o.here == nil {
		o.here = &opened{scanner: o.scanner, ctx: o.ctx, url: o.url, src: o.src, data: o.data, names: o.names, trail: o.trail.on()}
	}
	return o.here, nil
}

// load reads what is in the source.
func (o *opened) load() (err error) {
	if o.data, err = formats.Open(o.ctx, o.src, o.Allow...); err == nil {
		o.names = spellPaths(o.data)
	}
	return err
}

// neighbour opens a file that the source names. There need not be one.
func (o *opened) neighbour(name string) (*opened, error) {
	if n, ok := o.near[name]; ok {
		return n, nil
	}
	if len(o.near) >= maxOpen {
		if err := o.closeNeighbours(); err != nil {
			return nil, err
		}
	}
	src, err := o.openBeside(name)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n := &opened{scanner: o.scanner, ctx: o.ctx, url: absolute(src.Name()), src: src, trail: o.trail.on(besides(o.src.Name()))}
	if err = n.load(); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	if o.near == nil {
		o.near = map[string]*opened{}
	}
	o.near[name] = n
	return n, nil
}

// closeNeighbours closes what the source led to.
func (o *opened) closeNeighbours() error {
	var failed error
	for _, n := range o.near {
		failed = errors.Join(failed, n.closeNeighbours(), n.src.Close())
	}
	clear(o.near)
	if o.here != nil {
		failed = errors.Join(failed, o.here.closeNeighbours())
	}
	return failed
}

// openBeside opens a file that the source names, by a path from its own folder.
func (o *opened) openBeside(name string) (*source.Source, error) {
	o.ledOn.Store(true)
	return source.OpenBeside(o.src.Name(), name, func(place string) (*source.Source, error) { return o.openNamed(o.ctx, place) })
}

// mapped is describe of what a mapping names, with its refs and its own parts; nil if there is
// nothing of the name. All who name it get the same.
func (o *opened) mapped(name string) (*described, error) {
	if d := o.described[name]; d != nil {
		return d, nil
	}
	if *o.trail.count++; *o.trail.count > maxParts {
		return nil, fmt.Errorf("is made of more than %d others, or these of others: %w", maxParts, errors.ErrUnsupported)
	}
	v, in, err := o.named(name)
	if v == nil || err != nil {
		return nil, err
	}
	e, err := o.describe(v, in)
	if err != nil {
		return nil, err
	}
	if o.described == nil {
		o.described = map[string]*described{}
	}
	d := &described{v: &e.out, f: e.found, shape: v.Shape}
	if v.Storage.Declared != nil {
		d.shape = v.Storage.Declared
	}
	o.described[name] = d
	return d, nil
}

// describe makes a variable of one that was located, with its refs and its own parts in an account
// that has nothing else.
func (o *opened) describe(v *readers.Variable, in *opened) (*entry, error) {
	if o.trail.depth > maxNesting {
		return nil, fmt.Errorf("virtual datasets lead to others more than %d times: %w", maxNesting, errors.ErrUnsupported)
	}
	e := newAccount(o, request{indexes: true}).entry(v, in, nil)
	return e, e.store()
}

// find returns what is at a path of the source, a variable or a group.
func (o *opened) find(at string) (*readers.Variable, *readers.Group) {
	if o.groups == nil {
		o.groups, o.variables = map[string]*readers.Group{}, map[string]*readers.Variable{}
		o.data.Root.Walk(func(g *readers.Group) bool {
			o.groups[g.Path] = g
			for _, v := range g.Variables {
				o.variables[v.Path] = v
			}
			return true
		})
	}
	return o.variables[at], o.groups[at]
}

// linked opens the file that a link leads into. There need not be one.
func (o *opened) linked(l readers.Link) (*opened, error) {
	n, err := o.neighbour(l.File)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, fmt.Errorf("is %s of %q: %w", l.Target, l.File, err)
	case n == nil || err != nil:
		return nil, err
	case n.trail.depth > maxNesting:
		return nil, fmt.Errorf("links lead to others more than %d times: %w", maxNesting, errors.ErrUnsupported)
	}
	return n, nil
}

// locate returns the variable at a path, and the file that it is in, which is another if links
// lead there. There need not be one.
func (o *opened) locate(at string) (v *readers.Variable, in *opened, err error) {
	at = o.names.path(at)
	if v, _ = o.find(at); v != nil {
		return v, o, o.problemOf(v)
	}
	if l, target := o.onward(at); l != nil {
		return o.beyond(l, target, (*opened).locate)
	}
	return nil, nil, nil
}

// named is locate of what a mapping names.
func (o *opened) named(name string) (v *readers.Variable, in *opened, err error) {
	if o.data.LookupVirtual == nil {
		return o.locate("/" + strings.Trim(name, "/"))
	}
	v, l, err := o.data.LookupVirtual(name)
	switch {
	case err != nil:
		return nil, nil, err
	case l != nil:
		return o.beyond(l, l.Target, (*opened).named)
	case v == nil:
		return nil, nil, nil
	}
	return v, o, o.problemOf(v)
}

// problemOf returns why a variable cannot be read.
func (o *opened) problemOf(v *readers.Variable) error {
	for _, p := range o.data.Problems {
		if p.Path == v.Path {
			return p.Err
		}
	}
	return nil
}

// beyond returns what locate finds at a path of the file that a link leads into.
func (o *opened) beyond(l *readers.Link, target string, locate func(*opened, string) (*readers.Variable, *opened, error)) (v *readers.Variable, in *opened, err error) {
	n, err := o.linked(*l)
	if n == nil || err != nil {
		return nil, nil, err
	}
	if v, in, err = locate(n, target); v == nil || err != nil {
		return nil, nil, err
	}
	return (&mount{from: n, at: l.Path, target: n.names.path(l.Target)}).variable(v), in, nil
}

// onward returns the link that is on a path, if there is one, and where it leads on to.
func (o *opened) onward(at string) (l *readers.Link, target string) {
	for i := range o.data.Links {
		if l = &o.data.Links[i]; isWithin(at, l.Path) {
			m := mount{at: l.Target, target: l.Path}
			return l, m.path(at)
		}
	}
	return nil, ""
}

// holdsChunks reports whether chunks are in the source itself.
func (o *opened) holdsChunks() bool {
	f := o.data.Format
	return strings.HasPrefix(f, "HDF5") || strings.HasPrefix(f, "netCDF") || f == "FITS" || f == "HDF4"
}
