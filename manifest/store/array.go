package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/mosaic"
	"varve/readers/source"
	"varve/zarrjson"
)

// Array is one array of the dataset. It may be used by any number of goroutines.
type Array struct {
	store *Store
	spec  *manifest.Array
	grid  *grid.Grid
	pipes pipelines

	mu     sync.Mutex
	mosaic *mosaic.Mosaic // nil until it is needed; always nil for an array that is stored in the manifest
}

func (s *Store) newArray(spec *manifest.Array) (*Array, error) {
	a := &Array{store: s, spec: spec}
	if spec.Schema == nil {
		return nil, fmt.Errorf("%s: %w: no schema", spec.Path, codec.ErrCorrupt)
	}
	var err error
	if a.grid, err = spec.Schema.Grid(); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Path, err)
	}
	for i := range spec.Patches {
		if err := spec.Patches[i].Check(a.grid.Rank()); err != nil {
			return nil, fmt.Errorf("%s: %w", spec.Path, err)
		}
	}
	return a, nil
}

// Store returns the store that the array belongs to.
func (a *Array) Store() *Store { return a.store }

// Path returns the array's path, "/group/name".
func (a *Array) Path() string { return a.spec.Path }

// Spec returns the snapshot's description of the array. It must not be changed.
func (a *Array) Spec() *manifest.Array { return a.spec }

// Schema returns the Zarr schema that clients see. It must not be changed.
func (a *Array) Schema() *zarrjson.Array { return a.spec.Schema }

// Attributes returns the attributes of the schema, in order.
func (a *Array) Attributes() zarrjson.Attributes { return a.spec.Schema.Attributes }

// Chunks returns the chunk layout of the schema: its levels, and which parts can be read alone.
func (a *Array) Chunks() (*zarrjson.ChunkLayout, error) {
	l, err := a.spec.Schema.ChunkLayout()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	}
	return l, nil
}

// Grid returns the chunk grid of the schema.
func (a *Array) Grid() *grid.Grid { return a.grid }

// Pipeline returns the codec pipeline of the declared chunk at these coordinates.
func (a *Array) Pipeline(coords []int64) (*codec.Pipeline, error) {
	c, err := a.chunk(coords)
	if err != nil {
		return nil, err
	}
	p, err := a.pipes.get(a.spec.Schema, c.Codec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	}
	return p, nil
}

func (a *Array) chunk(coords []int64) (grid.Chunk, error) {
	c, ok := a.grid.Chunk(coords)
	if !ok {
		return c, fmt.Errorf("%s: chunk %v: %w: the numbers of chunks are %v", a.Path(), coords, grid.ErrOutOfBounds, a.grid.Counts())
	}
	return c, nil
}

// pipelines remembers the last pipeline: most chunks of an array have the same shape.
type pipelines struct {
	mu   sync.Mutex
	last *codec.Pipeline
}

func (p *pipelines) get(schema *zarrjson.Array, shape []int64) (*codec.Pipeline, error) {
	p.mu.Lock()
	last := p.last
	p.mu.Unlock()
	var err error
	if last == nil {
		last, err = codec.New(schema.Codecs, schema.Form(shape))
	} else {
		last, err = last.WithShape(shape)
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.last = last
	p.mu.Unlock()
	return last, nil
}

// isInManifest reports whether the array's values are stored in the manifest.
func (a *Array) isInManifest() bool { return a.spec.Placement == "" }

// tiles returns the mosaic of the array. The first call makes it.
func (a *Array) tiles(ctx context.Context) (*mosaic.Mosaic, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mosaic != nil {
		return a.mosaic, nil
	}
	layout, err := a.store.layout(ctx, a.spec.Placement)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	}
	files, err := a.store.files(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path(), err)
	}
	a.mosaic, err = mosaic.New(a.spec, layout, files)
	return a.mosaic, err
}

// fill returns the value of elements without a tile. nil means zeros.
func (a *Array) fill() []byte { return a.spec.Schema.Fill }

// Locate returns the location of a declared chunk's bytes. It reads only the manifest, never a source.
// The chunks of an array that is stored in the manifest are Verbatim and Inline.
func (a *Array) Locate(ctx context.Context, coords []int64) (manifest.Location, error) {
	if a.isInManifest() {
		return a.locateInline(ctx, coords)
	}
	if err := ctx.Err(); err != nil {
		return manifest.Location{}, err
	}
	m, err := a.tiles(ctx)
	if err != nil {
		return manifest.Location{}, err
	}
	l, err := m.Find(ctx, a.store.tables, coords)
	if err == nil {
		err = a.complete(ctx, &l)
	}
	return l, err
}

func (a *Array) locateInline(ctx context.Context, coords []int64) (manifest.Location, error) {
	c, err := a.chunk(coords)
	if err != nil {
		return manifest.Location{}, err
	}
	one := grid.Region{Origin: coords, Shape: slices.Repeat([]int64{1}, len(coords))}
	for r, err := range a.inlineRuns(ctx, one) {
		if err != nil {
			return manifest.Location{}, err
		}
		found := r.Location
		found.Coords = slices.Clone(r.Coords)
		return found, nil
	}
	return manifest.Location{}, fmt.Errorf("%s: chunk %v: %w", a.Path(), c.Region, grid.ErrOutOfBounds)
}

// complete adds what is not in the table of refs: compacted chunks, and inline bytes.
func (a *Array) complete(ctx context.Context, l *manifest.Location) error {
	switch {
	case l.Kind == manifest.Reencoded:
		return a.locatePatch(ctx, l)
	case l.Kind == manifest.Missing:
		return nil
	case l.Offset < 0 || l.Size < 0:
		return fmt.Errorf("%s: chunk %v: %w: size %d or offset %d is negative", a.Path(), l.Coords, codec.ErrCorrupt, l.Size, l.Offset)
	case l.InlineRow == 0:
		return nil
	}
	b, err := a.store.tables.Inline(ctx, l.InlineRow-1)
	if err != nil {
		return err
	}
	if l.Size > int64(len(b))-l.Offset {
		return fmt.Errorf("%s: chunk %v: %w: there are %d inline bytes, but the chunk has %d bytes at offset %d", a.Path(), l.Coords, codec.ErrCorrupt, len(b), l.Size, l.Offset)
	}
	l.Inline = b[l.Offset : l.Offset+l.Size]
	l.Offset, l.InlineRow = 0, 0
	return nil
}

// Read fills dst with the elements that an indexer of the array's grid selects, in C order of the
// indexer's shape.
func (a *Array) Read(ctx context.Context, ix *grid.Indexer, dst codec.Elems) error {
	ctx, end := a.store.trace.Begin(ctx, source.Operation{Name: "store.read", Object: a.Path()})
	err := a.readSelection(ctx, ix, dst)
	end(err)
	return err
}

// readSelection is Read without a trace.
func (a *Array) readSelection(ctx context.Context, ix *grid.Indexer, dst codec.Elems) error {
	if g := ix.Grid(); g != a.grid && !g.Equal(a.grid) {
		return fmt.Errorf("%s: the indexer belongs to another grid", a.Path())
	}
	form := a.spec.Schema.Form(ix.Shape())
	if !matchesForm(dst, form) {
		return fmt.Errorf("%s: the destination has %d bytes and %d texts, but the selection has shape %v and type %v", a.Path(), len(dst.Fixed), len(dst.Var), form.Shape, form.Type)
	}
	c := ix.Project()
	if !c.Next() {
		return ctx.Err()
	}
	if box, ok := boxOf(&c.Projection, ix.Shape()); ok {
		return a.readBox(ctx, box, dst)
	}
	return a.readProjections(ctx, ix, dst)
}

// ReadRegion fills dst with the elements of a region, in C order of the region.
func (a *Array) ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error {
	ctx, end := a.store.trace.Begin(ctx, source.Operation{Name: "store.read", Object: a.Path()})
	err := a.readRegion(ctx, r, dst)
	end(err)
	return err
}

// readRegion is ReadRegion without a trace.
func (a *Array) readRegion(ctx context.Context, r grid.Region, dst codec.Elems) error {
	if err := a.checkRegion(r); err != nil {
		return err
	}
	form := a.spec.Schema.Form(r.Shape)
	if !matchesForm(dst, form) {
		return fmt.Errorf("%s: the destination has %d bytes and %d texts, but the region has shape %v and type %v", a.Path(), len(dst.Fixed), len(dst.Var), form.Shape, form.Type)
	}
	if r.IsEmpty() {
		return ctx.Err()
	}
	return a.readBox(ctx, r, dst)
}

// checkRegion returns an error if the region is not inside the array.
func (a *Array) checkRegion(r grid.Region) error {
	if len(r.Origin) != a.grid.Rank() || len(r.Shape) != len(r.Origin) || !grid.Whole(a.grid.Shape()).Contains(r) {
		return fmt.Errorf("%s: region %v: %w: the shape is %v", a.Path(), r, grid.ErrOutOfBounds, a.grid.Shape())
	}
	return nil
}

// readBox fills dst with the elements of a box. The caller has checked that dst has the right size.
func (a *Array) readBox(ctx context.Context, box grid.Region, dst codec.Elems) error {
	form := a.spec.Schema.Form(box.Shape)
	t := &target{window: newWindow(dst, box, form.Type), form: form}
	return a.readTargets(ctx, func(add func(*target, grid.Region) error) error { return add(t, box) })
}

// readTargets calls each, fills all targets that it adds, and waits until they are complete.
func (a *Array) readTargets(ctx context.Context, each func(add func(*target, grid.Region) error) error) error {
	if a.isInManifest() {
		return each(func(t *target, r grid.Region) error { return a.readPieces(ctx, t, r) })
	}
	m, err := a.tiles(ctx)
	if err != nil {
		return err
	}
	r := newRun(ctx, a)
	p := &planner{a: a, m: m, out: r.add}
	err = each(func(t *target, region grid.Region) error { return p.add(r.ctx, t, region) })
	if err == nil {
		err = p.flush(r.ctx, true)
	}
	if err != nil {
		r.fail(err)
	}
	if err := r.wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// readProjections reads a selection that is not a box. In each declared chunk, it reads the smallest box that
// contains the selected elements, and copies the elements from there to dst.
func (a *Array) readProjections(ctx context.Context, ix *grid.Indexer, dst codec.Elems) error {
	t := a.spec.Schema.DataType.Type()
	return a.readTargets(ctx, func(add func(*target, grid.Region) error) error {
		for c := ix.Project(); c.Next(); {
			p := c.Projection.Clone()
			within := grid.MakeRegion(a.grid.Rank())
			p.Bounds(within)
			box := within.Clone()
			for k, at := range p.Origin {
				box.Origin[k] += at
			}
			form := a.spec.Schema.Form(box.Shape)
			to := &target{window: newWindow(codec.Elems{}, box, t), form: form}
			to.finish = func() error { return gather(p, dst, to.Elems, within, to.unit) }
			if err := add(to, box); err != nil {
				return err
			}
		}
		return nil
	})
}

func gather(p *grid.Projection, dst, src codec.Elems, within grid.Region, unit int) error {
	if unit == 0 {
		return grid.Gather(p, dst.Var, grid.Window[[]byte]{Data: src.Var, Region: within}, 1)
	}
	return grid.Gather(p, dst.Fixed, grid.Window[byte]{Data: src.Fixed, Region: within}, int64(unit))
}

// WithCodecs returns the array with other codecs in its schema, and without its compacted chunks. Chunks that are
// stored with equivalent codecs become Verbatim: see Count.
func (a *Array) WithCodecs(codecs []codec.Spec) (*Array, error) {
	if a.isInManifest() {
		return nil, fmt.Errorf("%s: its values are in the manifest, encoded with the codecs of the schema: %w", a.Path(), errors.ErrUnsupported)
	}
	spec := *a.spec
	schema := *spec.Schema
	schema.Codecs = codecs
	spec.Schema, spec.Patches = &schema, nil
	return a.store.newArray(&spec)
}
