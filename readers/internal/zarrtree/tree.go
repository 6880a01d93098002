// Package zarrtree makes datasets of Zarr hierarchies, wherever their documents and chunks
// come from: a folder, a set of references, an Icechunk repository.
//
//	documents of nodes ─ Dataset ─┬─ groups, dimensions, attributes
//	                              └─ variables ── storage ── refs ── Chunks
//
// A node is described by its documents, of format 3 or 2, which package zarrjson reads.
// A node whose documents cannot be read is among the dataset's problems; an array whose
// codecs varve does not know is a variable that says so.
//
// Dimensions are what arrays of one group call alike, as xarray has it, and those of coordinates
// in groups above it. An array whose length differs from that of the others, or that has no names,
// has dimensions of its own.
//
// The chunks of a sharded array are the innermost that can be read on their own: their
// refs come out of the indexes of the shards.
package zarrtree

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"varve/readers"
	"varve/readers/source"
	"varve/zarrjson"
)

// Node is a group or an array by its documents.
type Node struct {
	Path string // names joined by slashes; "" is the root

	Zarr                []byte // zarr.json, which goes before the others
	Array, Group, Attrs []byte // .zarray, .zgroup, .zattrs

	Err error // why documents could not be had
}

// Chunks finds and opens what is stored of arrays.
type Chunks interface {
	// Refs streams the stored chunks of an array by their place in a.Grid.
	Refs(ctx context.Context, a *Array) iter.Seq2[*readers.Ref, error]
	// Open opens the source that a ref names.
	Open(ctx context.Context, o *readers.Other) (*source.Source, error)
}

// Tree is a hierarchy.
type Tree struct {
	Source *source.Source
	Format string
	Index  string // how refs are found, in the format's words
	Chunks Chunks
}

// maxNesting is how deep groups may lie in one another.
const maxNesting = 128

// Dataset makes a dataset of nodes, which are in any order. Groups that are only implied
// by what is in them need no node.
func (t *Tree) Dataset(nodes []Node) *readers.Dataset {
	b := &builder{tree: t, groups: map[string]*readers.Group{}, arrays: map[string]bool{}}
	b.out = &readers.Dataset{Source: t.Source, Format: t.Format, Root: &readers.Group{Path: "/"}}
	b.groups[""] = b.out.Root
	nodes = slices.Clone(nodes)
	slices.SortStableFunc(nodes, func(x, y Node) int { return strings.Compare(x.Path, y.Path) })
	b.nc = len(nodes) > 0 && nodes[0].Path == "" && nodes[0].isNCZarr()
	for i := range nodes {
		if err := b.add(&nodes[i]); err != nil {
			b.problem("/"+nodes[i].Path, err)
		}
	}
	shareDimensions(b.out.Root, nil)
	return b.out
}

type builder struct {
	tree   *Tree
	out    *readers.Dataset
	groups map[string]*readers.Group
	arrays map[string]bool
	nc     bool // netCDF-C wrote the hierarchy
}

func (b *builder) problem(at string, err error) {
	var located *readers.Error
	if !errors.As(err, &located) {
		err = &readers.Error{Source: b.tree.Source.Name(), Path: at, Offset: -1, Err: err}
	}
	b.out.Problems = append(b.out.Problems, readers.Problem{Path: at, Err: err})
}

func (b *builder) add(n *Node) error {
	if n.Err != nil {
		return n.Err
	}
	doc, err := n.parse(b.nc)
	if err != nil {
		return err
	}
	if err := CheckPath(n.Path); err != nil {
		return err
	}
	if doc.array == nil {
		g, err := b.group(n.Path)
		if err != nil {
			return err
		}
		g.Attributes = attributes(doc.attributes)
		return nil
	}
	return b.variable(n.Path, doc)
}

// CheckPath refuses paths that are not names joined by slashes.
func CheckPath(p string) error {
	if p == "" {
		return nil
	}
	if strings.Count(p, "/") >= maxNesting {
		return fmt.Errorf("a path of more than %d names: %w", maxNesting, errors.ErrUnsupported)
	}
	for name := range strings.SplitSeq(p, "/") {
		if strings.Trim(name, ".") == "" {
			return readers.Corruptf("the path %.80q has the name %q", p, name)
		}
	}
	return nil
}

// group returns the group of a path, and makes it and those above it if need be.
func (b *builder) group(p string) (*readers.Group, error) {
	if g, ok := b.groups[p]; ok {
		return g, nil
	}
	if b.arrays[p] {
		return nil, readers.Corruptf("%q is an array, and cannot have nodes in it", "/"+p)
	}
	above, name := split(p)
	parent, err := b.group(above)
	if err != nil {
		return nil, err
	}
	g := &readers.Group{Name: name, Path: "/" + p}
	parent.Groups = append(parent.Groups, g)
	b.groups[p] = g
	return g, nil
}

// split returns the path above a path, and the last name.
func split(p string) (above, name string) {
	if cut := strings.LastIndexByte(p, '/'); cut >= 0 {
		return p[:cut], p[cut+1:]
	}
	return "", p
}

func (b *builder) variable(p string, doc *document) error {
	above, name := split(p)
	if p == "" {
		name = path.Base(b.tree.Source.Name())
	}
	g, err := b.group(above)
	if err != nil {
		return err
	}
	if _, ok := b.groups[p]; p != "" && ok || b.arrays[p] {
		return readers.Corruptf("another node has the same path")
	}
	b.arrays[p] = true
	shown := strings.TrimSuffix(g.Path, "/") + "/" + name
	a, err := b.tree.newArray(p, shown, doc)
	if a == nil {
		return err
	}
	if err != nil {
		b.problem(shown, err)
	}
	v, err := a.variable(name)
	g.Variables = append(g.Variables, v)
	return err
}

// scope is the coordinates of a group, which are the variables that are named like their only
// dimension, within those of the groups above it.
type scope struct {
	above *scope
	dims  map[string]*readers.Dimension
}

// find returns the dimension of the nearest coordinate of a name.
func (s *scope) find(name string) *readers.Dimension {
	for ; s != nil; s = s.above {
		if d, ok := s.dims[name]; ok {
			return d
		}
	}
	return nil
}

// shareDimensions gives the variables of a group, and of those in it, their dimensions. One that
// is as long as the nearest coordinate of its name, in the group or above it, is that one's, as
// netCDF has it and as xarray takes it: Zarr knows names only. Of others the first variable says
// how long they are.
func shareDimensions(g *readers.Group, above *scope) {
	known, in := map[string]*readers.Dimension{}, &scope{above, map[string]*readers.Dimension{}}
	add := func(d *readers.Dimension) {
		d.Path = strings.TrimSuffix(g.Path, "/") + "/" + d.Name
		known[d.Name] = d
		g.Dimensions = append(g.Dimensions, d)
	}
	for _, v := range g.Variables {
		if len(v.Dims) == 1 && v.Dims[0].Name == v.Name && !v.Dims[0].Anonymous {
			add(v.Dims[0])
			in.dims[v.Name] = v.Dims[0]
		}
	}
	for _, v := range g.Variables {
		for i, d := range v.Dims {
			if d.Anonymous {
				continue
			}
			if c := in.find(d.Name); c != nil && c.Length == d.Length {
				v.Dims[i] = c
			} else if same, ok := known[d.Name]; !ok {
				add(d)
			} else if same.Length == d.Length {
				v.Dims[i] = same
			}
		}
	}
	for _, sub := range g.Groups {
		shareDimensions(sub, in)
	}
}

// dimensions returns dimensions that only one variable knows.
func dimensions(shown, name string, doc *zarrjson.Array) []*readers.Dimension {
	var dims []*readers.Dimension
	for i, n := range doc.Shape {
		d := &readers.Dimension{Length: uint64(n)}
		if i < len(doc.DimensionNames) {
			d.Name = doc.DimensionNames[i].Name
		}
		if d.Name == "" {
			d.Name, d.Anonymous = fmt.Sprintf("%s_dim_%d", name, i), true
		}
		d.Path = shown + "#" + d.Name
		dims = append(dims, d)
	}
	return dims
}
