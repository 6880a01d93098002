package zarr

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/manifest/store"
	"varve/zarrjson"
)

// target is an array of the copy.
type target struct {
	spec     *manifest.Array
	source   *store.Array
	number   int   // index among the arrays
	from, to int64 // the chunks to copy, by number: those of the slice
	passes   *passes

	schema *zarrjson.Array // in format 3
	grid   *grid.Grid
	v2     *zarrjson.V2Array // nil in format 3
	keys   zarrjson.KeyEncoding

	whole        bool          // chunks and codecs are the source's
	reencodesAll bool          // all chunks are encoded, because the source's codecs do not preserve all elements
	apart        bool          // chunks within the source's shards are copied
	within       *grid.Grid    // the chunks within the source's shards; nil if it has none
	fill         bool          // chunks of fill values are written too
	old          *target       // the array as it was copied before; nil if it is new
	fresh        change.Change // changes since the copy

	mu        sync.Mutex
	pipelines map[string]*codec.Pipeline // by shape
}

// targets returns all arrays of the copy.
func targets(s *store.Store, o *Options) ([]*target, error) {
	var out []*target
	used := map[string]bool{}
	for i, a := range s.Arrays() {
		t, err := newTarget(a.Spec(), a.Grid(), o, used)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path(), err)
		}
		t.source, t.number = a, i
		out = append(out, t)
	}
	for _, e := range slices.Concat(o.Chunks, o.Shards) {
		if isUsed, isCoordinate := used[e.Array+":"+e.Dim]; !isUsed {
			return nil, &EdgesError{e, isCoordinate}
		}
	}
	return out, nil
}

// EdgesError reports edges for a dimension that no array has.
type EdgesError struct {
	Edges Edges
	// IsCoordinate is true if only the coordinate of this name has the dimension.
	IsCoordinate bool
}

// Error names the dimension.
func (e *EdgesError) Error() string {
	if e.IsCoordinate {
		return fmt.Sprintf("only the coordinate %[1]s has the dimension %[1]s; re-chunk it by %[1]s:%[1]s=LENGTH", e.Edges.Dim)
	}
	if e.Edges.Array == "" {
		return "no array has the dimension " + e.Edges.Dim
	}
	return fmt.Sprintf("no array that matches %s has a dimension %s", e.Edges.Array, e.Edges.Dim)
}

// previous returns an array as an earlier snapshot was copied, or nil.
func previous(s *manifest.Snapshot, t *target, o *Options) (*target, error) {
	for i := range s.Arrays {
		if s.Arrays[i].Path != t.spec.Path {
			continue
		}
		g, err := s.Arrays[i].Schema.Grid()
		if err != nil {
			return nil, err
		}
		return newTarget(&s.Arrays[i], g, o, map[string]bool{})
	}
	return nil, nil
}

func newTarget(spec *manifest.Array, g *grid.Grid, o *Options, used map[string]bool) (*target, error) {
	schema := *spec.Schema
	t := &target{spec: spec, schema: &schema, grid: g, pipelines: map[string]*codec.Pipeline{}, keys: schema.Keys, fresh: change.Change{Kind: change.Everything}}
	if err := t.cut(o, used); err != nil {
		return nil, err
	}
	t.whole = t.whole && sameCells(t.grid, g)
	if o.Format == 2 {
		return t, t.toV2()
	}
	return t, schema.Validate()
}

// sameCells reports whether two grids divide an array into the same chunks.
func sameCells(a, b *grid.Grid) bool {
	for axis := range a.Rank() {
		if !grid.Equal(grid.Canonical(a.Dim(axis)), grid.Canonical(b.Dim(axis))) {
			return false
		}
	}
	return true
}

// cut applies the chunk and shard lengths from the options.
func (t *target) cut(o *Options, used map[string]bool) error {
	shards := t.pick(o.Shards, used)
	chunks := t.pick(o.Chunks, used)
	if t.whole = shards == nil && chunks == nil; t.whole {
		if err := t.useCore(o.Compressor, firstSizes(t.grid)); err != nil {
			return err
		}
		return t.regular(o.Format == 2)
	}
	declared := make([]grid.Sizes, t.grid.Rank())
	for axis := range declared {
		declared[axis] = grid.SizesOf(t.grid.Dim(axis))
	}
	within, err := t.takeApart()
	if err != nil {
		return err
	}
	if within == nil {
		within = declared
	} else if t.within, err = grid.FromSizes(t.grid.Shape(), within...); err != nil {
		return err
	}
	if err := t.recode(within); err != nil {
		return err
	}
	outer := sizes(chunks, within)
	if err := t.useCore(o.Compressor, firstOf(outer)); err != nil {
		return err
	}
	var inner []int64
	if shards != nil {
		if inner, err = t.inner(outer); err != nil {
			return err
		}
		sharding, err := (&codec.ShardingConfig{ChunkShape: inner, Codecs: t.schema.Codecs}).Spec()
		if err != nil {
			return err
		}
		t.schema.Codecs = []codec.Spec{sharding}
		outer = sizes(shards, declared)
	}
	g, err := grid.FromSizes(t.grid.Shape(), outer...)
	if err != nil {
		return err
	}
	t.grid = g
	if err := t.checkShards(inner); err != nil {
		return err
	}
	t.schema.ChunkGrid, err = zarrjson.DescribeGrid(g, zarrjson.AsRectilinear)
	return errors.Join(err, t.regular(true))
}

// recode replaces the codecs if they cannot encode re-chunked elements exactly.
func (t *target) recode(chunks []grid.Sizes) error {
	codecs, same, err := codec.ExactCodecs(t.schema.Codecs, t.schema.Form(firstOf(chunks)))
	if err == nil {
		t.schema.Codecs, t.reencodesAll = codecs, !same
	}
	return err
}

// useCore replaces the codecs of chunks of a shape by core codecs, if a compressor is given.
func (t *target) useCore(c codec.Compressor, shape []int64) error {
	if c == "" {
		return nil
	}
	codecs, same, err := codec.CoreCodecs(t.schema.Codecs, t.schema.Form(shape), c)
	if err == nil {
		t.schema.Codecs, t.reencodesAll = codecs, t.reencodesAll || !same
	}
	return err
}

// firstOf returns the shape of the first chunk.
func firstOf(chunks []grid.Sizes) []int64 {
	shape := make([]int64, len(chunks))
	for axis, s := range chunks {
		if size, ok := s.RegularSize(); ok {
			shape[axis] = size
		} else if runs := s.Runs(); len(runs) > 0 {
			shape[axis] = runs[0].Codec
		} else {
			shape[axis] = 1 // an axis of length 0
		}
	}
	return shape
}

// firstSizes returns the shape of the first chunk of a grid.
func firstSizes(g *grid.Grid) []int64 {
	all := make([]grid.Sizes, g.Rank())
	for axis := range all {
		all[axis] = grid.SizesOf(g.Dim(axis))
	}
	return firstOf(all)
}

// extensions returns the parts of all schemas that are outside Zarr's core specification.
func (c *copier) extensions() (out []Extension) {
	if c.opts.Format == 2 {
		return nil
	}
	for _, t := range c.arrays {
		if !t.schema.DataType.Type().IsCore() {
			out = append(out, Extension{t.spec.Path, "data_type", t.schema.DataType.Name()})
		}
		if t.schema.ChunkGrid.Name != zarrjson.Regular {
			out = append(out, Extension{t.spec.Path, "chunk_grid", string(t.schema.ChunkGrid.Name)})
		}
		for _, name := range codec.Extensions(t.schema.Codecs) {
			out = append(out, Extension{t.spec.Path, "codecs", name})
		}
	}
	return out
}

// sizes returns the requested sizes per axis, or the existing ones.
func sizes(asked [][]int64, there []grid.Sizes) []grid.Sizes {
	out := slices.Clone(there)
	for axis, list := range asked {
		switch len(list) {
		case 0:
		case 1:
			out[axis] = grid.Every(list[0])
		default:
			out[axis] = grid.List(list...)
		}
	}
	return out
}

// regular makes the grid regular if that is requested and possible.
func (t *target) regular(ask bool) (err error) {
	if !ask {
		return nil
	}
	dims := make([]grid.Dimension, t.grid.Rank())
	for axis := range dims {
		dims[axis] = grid.Canonical(t.grid.Dim(axis))
	}
	g, err := grid.New(dims...)
	if err != nil || !g.IsRegular() {
		return err
	}
	t.grid = g
	t.schema.ChunkGrid, err = zarrjson.DescribeGrid(g, zarrjson.AsRegular)
	return err
}

// pick returns the requested sizes per axis, or nil.
func (t *target) pick(edges []Edges, used map[string]bool) (out [][]int64) {
	for _, e := range edges {
		if ok, err := path.Match(e.Array, strings.TrimPrefix(t.spec.Path, "/")); e.Array != "" && (!ok || err != nil) {
			continue
		}
		for axis := range t.grid.Rank() {
			if t.dim(axis) != e.Dim {
				continue
			}
			if e.Array == "" && t.isCoordinateOf(e.Dim) {
				if key := e.Array + ":" + e.Dim; !used[key] {
					used[key] = false // so that the error can mention the coordinate
				}
				continue
			}
			if out == nil {
				out = make([][]int64, t.grid.Rank())
			}
			out[axis] = e.Sizes
			used[e.Array+":"+e.Dim] = true
		}
	}
	return out
}

// isCoordinateOf reports whether the array has the coordinates of a dimension. Clients read all of them at once, so the lengths that
// suit data do not suit them.
func (t *target) isCoordinateOf(dim string) bool {
	return t.grid.Rank() == 1 && path.Base(t.spec.Path) == dim
}

// dim returns the name of a dimension.
func (t *target) dim(axis int) string {
	if names := t.schema.DimensionNames; axis < len(names) && names[axis].Named {
		return names[axis].Name
	}
	if axis < len(t.spec.Dims) {
		return path.Base(t.spec.Dims[axis])
	}
	return ""
}

// inner returns the shape of the chunks in a shard, which must have one length per axis.
func (t *target) inner(chunks []grid.Sizes) ([]int64, error) {
	shape := make([]int64, len(chunks))
	for axis, s := range chunks {
		if size, ok := s.RegularSize(); ok {
			shape[axis] = size
			continue
		}
		for _, r := range s.Runs() {
			if shape[axis] != 0 && shape[axis] != r.Codec {
				return nil, manifest.WithRemedy(fmt.Errorf("dimension %s: its chunks have different lengths, but chunks in shards need one length", t.dim(axis)), "chunks", t.dim(axis)+"=LENGTH")
			}
			shape[axis] = r.Codec
		}
	}
	return shape, nil
}

// checkShards rejects shards that do not contain a whole number of chunks.
func (t *target) checkShards(inner []int64) error {
	for axis, n := range inner {
		for e := range t.grid.Dim(axis).Unique() {
			if e.Codec%n != 0 {
				return manifest.WithRemedy(fmt.Errorf("dimension %s: the shard length %d is not a multiple of the chunk length %d",
					t.dim(axis), e.Codec, n), "shards", fmt.Sprintf("%s=%d", t.dim(axis), (e.Codec/n+1)*n))
			}
		}
	}
	return nil
}

// takeApart replaces the codecs by those of the chunks in the array's shards, and returns the chunks' edges;
// nil if it has no shards.
func (t *target) takeApart() ([]grid.Sizes, error) {
	at := slices.IndexFunc(t.schema.Codecs, codec.Spec.IsSharding)
	if at < 0 {
		return nil, nil
	}
	if len(t.schema.Codecs) > 1 {
		return nil, fmt.Errorf("the array has codecs around its shards, so it cannot be re-chunked; copy it without new chunks: %w", errors.ErrUnsupported)
	}
	shards, err := t.schema.Codecs[at].ShardingConfig()
	if err != nil {
		return nil, err
	}
	t.schema.Codecs, t.apart = shards.Codecs, true
	out := make([]grid.Sizes, len(shards.ChunkShape))
	for axis, n := range shards.ChunkShape {
		out[axis] = grid.Every(n)
	}
	return out, nil
}

// uneven returns the dimensions along which chunks have different lengths.
func (t *target) uneven() (dims []string) {
	for axis := range t.grid.Rank() {
		if _, fixed := grid.Canonical(t.grid.Dim(axis)).(grid.Fixed); !fixed {
			dims = append(dims, t.dim(axis))
		}
	}
	return dims
}

// toV2 translates the array to format 2. xarray treats the fill value as a mask, so it may have to be null;
// then chunks of fill values are written.
func (t *target) toV2() (err error) {
	if dims := t.uneven(); len(dims) > 0 {
		return manifest.WithRemedy(fmt.Errorf("dimension %s: its chunks have different lengths, which format 2 cannot describe: %w",
			strings.Join(dims, ", "), errors.ErrUnsupported), "chunks", strings.Join(dims, "=LENGTH,")+"=LENGTH")
	}
	if t.v2, _, err = t.schema.ToV2(v2Options); err != nil {
		return err
	}
	t.keys = t.v2.Keys()
	form := t.schema.Form(nil)
	a, b := form, form
	a.Fill, b.Fill = t.v2.Missing(), t.schema.Fill
	one := codec.NewElems(codec.Form{Type: form.Type, Shape: []int64{1}})
	a.Shape, b.Shape = []int64{1}, []int64{1}
	one.SetFill(a)
	t.fill = !b.IsFill(one)
	return nil
}

var v2Options = zarrjson.V2Options{Fill: zarrjson.MaskFill, Separator: '.'}

// pipeline returns the codec pipeline of chunks of a shape.
func (t *target) pipeline(shape []int64) (*codec.Pipeline, error) {
	key := fmt.Sprint(shape)
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.pipelines[key]; p != nil {
		return p, nil
	}
	p, err := codec.New(t.schema.Codecs, t.schema.Form(slices.Clone(shape)))
	if err == nil {
		err = p.CanEncode()
	}
	if err != nil {
		return nil, err
	}
	t.pipelines[key] = p
	return p, nil
}

// kept reports whether the array's values are stored in the manifest.
func (t *target) kept() bool { return t.spec.Placement == "" }

// wanted reports whether a chunk has to be written.
func (t *target) wanted(coords []int64) bool {
	switch {
	case t.old == nil || t.fresh.Kind == change.Everything:
		return true
	case t.fresh.Kind == change.None:
		return false
	}
	return coords[t.fresh.Axis] >= t.fresh.From
}

// unit returns the size of an element, or 0 if elements have varying sizes.
func (t *target) unit() int64 { return int64(t.schema.DataType.Type().Size) }
