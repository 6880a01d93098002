package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/manifest"
	"varve/readers"
	"varve/readers/source"
)

// opened is an open source with its dataset and the files that it names.
type opened struct {
	*scanner
	ctx   context.Context
	url   string // the name stored in the manifest
	src   *source.Source
	data  *readers.Dataset // nil if only bytes are needed
	names spelling         // UTF-8 names for paths of data

	trail     trail
	near      map[string]*opened // files of virtual datasets and links, by the names in the source
	here      *opened            // the same source again, for virtual datasets that name it
	described map[string]*described

	groups    map[string]*readers.Group // objects of data by path, filled by find
	variables map[string]*readers.Variable
}

// trail describes the files through which virtual datasets and links led to a source.
type trail struct {
	depth   int      // number of these files
	folders []string // the folders of these files; files in them may be opened
	count   *int     // number of variables that mappings named, in all files of the trail

	named *[]manifest.Source // all files that were opened because others named them; nil if nobody asks
}

// on returns the trail of a file that the last file of the trail names.
func (t *trail) on(folders ...string) trail {
	if t.count == nil {
		t.count = new(int)
	}
	return trail{depth: t.depth + 1, folders: append(slices.Clip(t.folders), folders...), count: t.count, named: t.named}
}

// described is a variable that one or more mappings name.
type described struct {
	v     *manifest.Variable
	f     *found
	shape []uint64 // the shape for mappings
}

// from opens the file that a mapping names, or returns nil if it does not exist.
func (o *opened) from(name string) (*opened, error) {
	if name != "." {
		return o.neighbour(name)
	}
	if o.here == nil {
		o.here = &opened{scanner: o.scanner, ctx: o.ctx, url: o.url, src: o.src, data: o.data, names: o.names, trail: o.trail.on()}
	}
	return o.here, nil
}

// load reads the dataset of the source.
func (o *opened) load() (err error) {
	if o.data, err = o.Readers.Open(o.ctx, o.src); err == nil {
		o.names = spellPaths(o.data)
	}
	var remedied readers.Remedied
	if errors.As(err, &remedied) {
		option, value := remedied.Remedy()
		err = manifest.WithRemedy(err, option, value)
	}
	return err
}

// neighbour opens a file that the source names, or returns nil if it does not exist.
func (o *opened) neighbour(name string) (*opened, error) {
	if n, ok := o.near[name]; ok {
		return n, nil
	}
	// Virtual datasets may name thousands of files; keep few open.
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
	n := &opened{scanner: o.scanner, ctx: o.ctx, url: URLOf(src.Name(), o.KeepQuery...), src: src, trail: o.trail.on(besides(o.src.Name()))}
	if err = n.load(); err != nil {
		return nil, errors.Join(err, src.Close())
	}
	if o.trail.named != nil {
		*o.trail.named = append(*o.trail.named, identity(n.url, src, ""))
	}
	if o.near == nil {
		o.near = map[string]*opened{}
	}
	o.near[name] = n
	return n, nil
}

// closeNeighbours closes the files that the source named.
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

// openBeside opens a file by a name relative to the source's folder.
func (o *opened) openBeside(name string) (*source.Source, error) {
	o.ledOn.Store(true)
	return source.OpenBeside(o.src.Name(), name, func(place string) (*source.Source, error) { return o.openNamed(o.ctx, place) })
}

// mapped returns the variable that a mapping names, with refs and parts, or nil if it does not exist. The
// result is shared.
func (o *opened) mapped(name string) (*described, error) {
	if d := o.described[name]; d != nil {
		return d, nil
	}
	if *o.trail.count++; *o.trail.count > maxParts {
		return nil, fmt.Errorf("is composed of more than %d variables, directly or indirectly: %w", maxParts, errors.ErrUnsupported)
	}
	v, in, err := o.locateMapped(name)
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

// describe returns an entry for a variable, with refs and parts, in a new account.
func (o *opened) describe(v *readers.Variable, in *opened) (*entry, error) {
	if o.trail.depth > maxNesting {
		return nil, fmt.Errorf("virtual datasets are nested more than %d deep: %w", maxNesting, errors.ErrUnsupported)
	}
	e := newAccount(o, request{indexes: true}).entry(v, in, nil)
	return e, e.store()
}

// find returns the variable or group at a path.
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

// linked opens the file of a link, or returns nil if it does not exist.
func (o *opened) linked(l readers.Link) (*opened, error) {
	n, err := o.neighbour(l.File)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, fmt.Errorf("links to %s of %q: %w", l.Target, l.File, err)
	case n == nil || err != nil:
		return nil, err
	case n.trail.depth > maxNesting:
		return nil, fmt.Errorf("links are nested more than %d deep: %w", maxNesting, errors.ErrUnsupported)
	}
	return n, nil
}

// locate returns the variable at a path and the file that contains it, which is another file than o if the
// path contains a link. v is nil if it does not exist.
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

// locateMapped is like locate, for a name in a mapping.
func (o *opened) locateMapped(name string) (v *readers.Variable, in *opened, err error) {
	if o.data.LookupVirtual == nil {
		return o.locate("/" + strings.Trim(name, "/"))
	}
	v, l, err := o.data.LookupVirtual(name)
	switch {
	case err != nil:
		return nil, nil, err
	case l != nil:
		return o.beyond(l, l.Target, (*opened).locateMapped)
	case v == nil:
		return nil, nil, nil
	}
	return v, o, o.problemOf(v)
}

// problemOf returns the reason why a variable cannot be read, or nil.
func (o *opened) problemOf(v *readers.Variable) error {
	for _, p := range o.data.Problems {
		if p.Path == v.Path {
			return p.Err
		}
	}
	return nil
}

// beyond calls locate with the target of a link, and returns the variable with the path of the link.
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

// onward returns the link on a path, or nil, and the path in the link's file.
func (o *opened) onward(at string) (l *readers.Link, target string) {
	for i := range o.data.Links {
		if l = &o.data.Links[i]; isWithin(at, l.Path) {
			m := mount{at: l.Target, target: l.Path}
			return l, m.path(at)
		}
	}
	return nil, ""
}
