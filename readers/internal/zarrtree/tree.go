// Package zarrtree makes datasets of Zarr hierarchies whose documents and chunks come from any
// storage: a folder, a set of references, an Icechunk repository.
//
//	documents of nodes ─ Dataset ─┬─ groups, dimensions, attributes
//	                              └─ variables ── storage ── refs ── Chunks
//
// The documents of a node have format 3 or 2; package zarrjson reads them. A node with unreadable
// documents is a problem of the dataset; an array with unsupported codecs is a variable with
// Storage.Undecodable.
//
// Arrays of one group share dimensions by name, as in xarray, and also dimensions of coordinates in
// ancestors of the group. An array whose length differs, or that has no dimension names, has
// dimensions of its own.
//
// The chunks of a sharded array are the innermost chunks that can be read separately. Their refs
// come from the indexes of the shards.
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

// Node is a group or an array, given by its documents.
type Node struct {
	Path string // names joined by slashes; "" is the root

	Zarr                []byte // zarr.json, which has precedence
	Array, Group, Attrs []byte // .zarray, .zgroup, .zattrs

	Err error // why the documents are not available
}

// Chunks finds and opens the stored chunks of arrays.
type Chunks interface {
	// Refs streams the stored chunks of an array by their position in a.Grid.
	Refs(ctx context.Context, a *Array) iter.Seq2[*readers.Ref, error]
	// Open opens the source of a ref.
	Open(ctx context.Context, o *readers.Other) (*source.Source, error)
}

// Tree is a hierarchy.
type Tree struct {
	Source *source.Source
	Format string
	Index  string // how refs are found, in the format's words
	Chunks Chunks
	// KeepShards makes shards the chunks of sharded arrays, and not the chunks in the shards.
	KeepShards bool
}

// KeepShards is the option of all formats of Zarr arrays.
var KeepShards = readers.Option{
	Name: "keep-shards", Kind: readers.OptionSwitch, Scope: readers.ForManifest, Key: "KeepShards",
	Help: "keep the shards of Zarr sources whole, instead of referring to the chunks in them",
}

// maxNesting limits the nesting of groups.
const maxNesting = 128

// Dataset returns the dataset of nodes, which may be in any order. Ancestors of nodes need no node
// themselves.
func (t *Tree) Dataset(nodes []Node) *readers.Dataset {
	b := &builder{tree: t, groups: map[string]*readers.Group{}, arrays: map[string]bool{}}
	b.out = &readers.Dataset{Source: t.Source, Format: t.Format, Root: &readers.Group{Path: "/"}}
	b.groups[""] = b.out.Root
	nodes = slices.Clone(nodes)
	// Parents sort before the nodes below them.
	slices.SortStableFunc(nodes, func(x, y Node) int { return strings.Compare(x.Path, y.Path) })
	b.isNCZarr = len(nodes) > 0 && nodes[0].Path == "" && nodes[0].isNCZarr()
	for i := range nodes {
		if err := b.add(&nodes[i]); err != nil {
			b.addProblem("/"+nodes[i].Path, err)
		}
	}
	shareDimensions(b.out.Root, nil)
	return b.out
}

type builder struct {
	tree     *Tree
	out      *readers.Dataset
	groups   map[string]*readers.Group
	arrays   map[string]bool
	isNCZarr bool // netCDF-C wrote the hierarchy

	attributes, elements int // of all nodes so far
}

func (b *builder) addProblem(at string, err error) {
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
	doc, err := n.parse(b.isNCZarr)
	if err != nil {
		return err
	}
	if err := CheckPath(n.Path); err != nil {
		return err
	}
	if err := b.takeAttributes(doc); err != nil {
		return err
	}
	if doc.array == nil {
		g, err := b.group(n.Path)
		if err != nil {
			return err
		}
		g.Attributes = doc.typedAttributes()
		return nil
	}
	if err := doc.checkArray(); err != nil {
		return err
	}
	return b.variable(n.Path, doc)
}

// CheckPath returns an error for paths that are not names joined by slashes.
func CheckPath(p string) error {
	if p == "" {
		return nil
	}
	if strings.Count(p, "/") >= maxNesting {
		return fmt.Errorf("path of more than %d names: %w", maxNesting, errors.ErrUnsupported)
	}
	for name := range strings.SplitSeq(p, "/") {
		if strings.Trim(name, ".") == "" {
			return readers.Corruptf("path %.80q contains the name %q", p, name)
		}
	}
	return nil
}

// group returns the group at a path, and makes it and its ancestors if needed.
func (b *builder) group(p string) (*readers.Group, error) {
	if g, ok := b.groups[p]; ok {
		return g, nil
	}
	if b.arrays[p] {
		return nil, readers.Corruptf("%q is an array, so it cannot contain nodes", "/"+p)
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

// split returns the parent of a path and the last name.
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
		b.addProblem(shown, err)
	}
	v, err := a.variable(name)
	g.Variables = append(g.Variables, v)
	return err
}

// scope holds the coordinates of a group (variables with the name of their only dimension) and
// leads to the scope of its parent.
type scope struct {
	above *scope
	dims  map[string]*readers.Dimension
}

// find returns the dimension of the nearest coordinate with a name.
func (s *scope) find(name string) *readers.Dimension {
	for ; s != nil; s = s.above {
		if d, ok := s.dims[name]; ok {
			return d
		}
	}
	return nil
}

// shareDimensions sets the dimensions of the variables in a group and its subgroups. A dimension
// with the length of the nearest coordinate of its name, in the group or an ancestor, is that
// coordinate's, as in netCDF and xarray: Zarr stores only names. Otherwise the first variable with
// the name sets the length.
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
			// The nearest coordinate wins, even over an equal dimension of this group.
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

// dimensions returns dimensions that belong to one variable only.
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
