package icechunk

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
	"varve/zarrjson"
)

// input is what is exported: a store, or what a test makes up.
type input struct {
	snapshot *manifest.Snapshot
	groups   []manifest.GroupSchema
	arrays   []inputArray
	source   func(ctx context.Context, row int64) (manifest.Source, error)
}

type inputArray struct {
	spec   *manifest.Array
	grid   *grid.Grid
	chunks chunkSource
}

// chunkSource is what an export asks of an array: *store.Array.
type chunkSource interface {
	Locations(ctx context.Context, chunks grid.Region) iter.Seq2[*store.Location, error]
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
}

func storeInput(s *store.Store) *input {
	in := &input{snapshot: s.Snapshot(), groups: s.Groups(), source: s.Source}
	for _, a := range s.Arrays() {
		in.arrays = append(in.arrays, inputArray{a.Spec(), a.Grid(), a})
	}
	return in
}

// snapshotInput is what a snapshot of a manifest would have exported, but for its chunks.
func snapshotInput(s *manifest.Snapshot) (*input, error) {
	in := &input{snapshot: s, groups: s.Groups}
	for i := range s.Arrays {
		a := &s.Arrays[i]
		g, err := a.Schema.Grid()
		if err != nil {
			return nil, fmt.Errorf("%s: the array as it was: %w", a.Path, err)
		}
		in.arrays = append(in.arrays, inputArray{spec: a, grid: g})
	}
	return in, nil
}

// target is a node as the export wants it.
type target struct {
	path  string
	doc   []byte
	array *inputArray // nil for a group
}

// targets returns all nodes, and a group wherever there is something below.
func (in *input) targets() ([]target, error) {
	groups := map[string]zarrjson.Attributes{"/": {}}
	for _, g := range in.groups {
		groups[g.Path] = g.Attributes
	}
	var out []target
	for i := range in.arrays {
		a := &in.arrays[i]
		doc, err := arrayDocument(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.spec.Path, err)
		}
		out = append(out, target{a.spec.Path, doc, a})
		addParents(groups, a.spec.Path)
	}
	for _, g := range in.groups {
		addParents(groups, g.Path)
	}
	for path, attributes := range groups {
		doc, err := (&zarrjson.Group{Attributes: attributes}).Encode(zarrjson.Indented)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, target{path: path, doc: doc})
	}
	slices.SortFunc(out, func(a, b target) int { return strings.Compare(a.path, b.path) })
	return out, checkPaths(out)
}

// addParents makes a group of everything that a path leads through.
func addParents(groups map[string]zarrjson.Attributes, path string) {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if _, ok := groups[path[:i]]; !ok {
			groups[path[:i]] = zarrjson.Attributes{}
		}
	}
}

// checkPaths refuses what Icechunk takes no node by.
func checkPaths(targets []target) error {
	for i, t := range targets {
		if i > 0 && targets[i-1].path == t.path {
			return fmt.Errorf("%s is an array and a group; Icechunk has room for one: rename one of them", t.path)
		}
		if t.path == "/" && t.array == nil {
			continue
		}
		for _, name := range strings.Split(strings.TrimPrefix(t.path, "/"), "/") {
			if !strings.HasPrefix(t.path, "/") || name == "" || name == "." || name == ".." {
				return fmt.Errorf("%q is no path of Icechunk, which is absolute and has no empty, . or .. in it: rename it", t.path)
			}
			if name == "zarr.json" {
				return fmt.Errorf("%s: zarr-python takes what has this name for a document, and finds no node: build with --rename OLD=NEW, or --drop it: %w", t.path, errors.ErrUnsupported)
			}
		}
	}
	return nil
}

// arrayDocument returns the zarr.json of an array as Icechunk wants it: chunks under the
// default keys, which are the only ones it knows, and a rectilinear grid as lists, since it
// takes no bare integer for an axis.
func arrayDocument(a *inputArray) ([]byte, error) {
	for axis, n := range a.grid.Counts() {
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("%d chunks along axis %d, of which Icechunk counts %d: ask for larger chunks", n, axis, uint32(math.MaxUint32))
		}
	}
	schema := *a.spec.Schema
	schema.Keys = zarrjson.KeyEncoding{}
	if schema.ChunkGrid.Name == zarrjson.Rectilinear && schema.ChunkGrid.Encoded == nil {
		described, err := zarrjson.DescribeGrid(a.grid, zarrjson.AsRectilinear)
		if err != nil {
			return nil, err
		}
		schema.ChunkGrid = described
	}
	return schema.Encode(zarrjson.Indented)
}

// data returns what a snapshot says of the array besides, but for manifests.
func (a *inputArray) data() *arrayData {
	d := &arrayData{named: a.spec.Schema.DimensionNames != nil}
	for _, n := range a.spec.Schema.DimensionNames {
		d.names = append(d.names, dimensionName{n.Name, n.Named})
	}
	counts := a.grid.Counts()
	for axis, n := range a.grid.Shape() {
		d.shape = append(d.shape, dimension{uint64(n), uint32(counts[axis])})
	}
	return d
}
