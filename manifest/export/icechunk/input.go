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

// input is the hierarchy to export: from a store, or from a test.
type input struct {
	snapshot *manifest.Snapshot
	groups   []manifest.GroupSchema
	arrays   []inputArray
	source   func(ctx context.Context, row int64) (manifest.Source, error)
	isPart   bool // a part of a dataset, which cannot update a repository
}

type inputArray struct {
	spec   *manifest.Array
	grid   *grid.Grid
	chunks chunkSource
}

// chunkSource reads the chunks of an array; *store.Array implements it.
type chunkSource interface {
	Locations(ctx context.Context, chunks grid.Region) iter.Seq2[*manifest.Location, error]
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
}

func storeInput(s *store.Store, arrays []*store.Array) *input {
	in := &input{snapshot: s.Snapshot(), groups: s.Groups(), source: s.Source, isPart: s.IsPart()}
	for _, a := range arrays {
		in.arrays = append(in.arrays, inputArray{a.Spec(), a.Grid(), a})
	}
	return in
}

// snapshotInput returns the hierarchy that an export of an older snapshot wrote, without chunks.
func snapshotInput(s *manifest.Snapshot) (*input, error) {
	in := &input{snapshot: s, groups: s.Groups}
	for i := range s.Arrays {
		a := &s.Arrays[i]
		g, err := a.Schema.Grid()
		if err != nil {
			return nil, fmt.Errorf("%s: chunk grid of the last exported version: %w", a.Path, err)
		}
		in.arrays = append(in.arrays, inputArray{spec: a, grid: g})
	}
	return in, nil
}

// target is a node that the export has to write.
type target struct {
	path  string
	doc   []byte
	array *inputArray // nil for a group
}

// targets returns all nodes, including groups that only occur in paths.
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

// addParents adds a group for every parent of a path.
func addParents(groups map[string]zarrjson.Attributes, path string) {
	for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
		if _, ok := groups[path[:i]]; !ok {
			groups[path[:i]] = zarrjson.Attributes{}
		}
	}
}

// checkPaths rejects paths that Icechunk or its clients cannot use.
func checkPaths(targets []target) error {
	for i, t := range targets {
		if i > 0 && targets[i-1].path == t.path {
			return fmt.Errorf("%s: an array and a group have the same path; rename one of them", t.path)
		}
		if t.path == "/" && t.array == nil {
			continue
		}
		for _, name := range strings.Split(strings.TrimPrefix(t.path, "/"), "/") {
			if !strings.HasPrefix(t.path, "/") || name == "" || name == "." || name == ".." {
				return fmt.Errorf("%q: Icechunk paths must be absolute, without empty names, . or ..; rename the variable", t.path)
			}
			if name == "zarr.json" {
				return manifest.WithRemedy(fmt.Errorf("%s: zarr-python would read an array or group with this name as a metadata document: %w", t.path, errors.ErrUnsupported), "build/rename", "OLD=NEW").Or("build/drop", "PATH")
			}
		}
	}
	return nil
}

// arrayDocument returns the zarr.json of an array in the form that Icechunk supports: default chunk keys, and
// a rectilinear grid with lists of edges, because Icechunk rejects a single integer for an axis.
func arrayDocument(a *inputArray) ([]byte, error) {
	for axis, n := range a.grid.Counts() {
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("axis %[2]d has %[1]d chunks, more than Icechunk's limit of %[3]d; choose larger chunks", n, axis, uint32(math.MaxUint32))
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

// data returns the snapshot's description of an array, without manifests.
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
