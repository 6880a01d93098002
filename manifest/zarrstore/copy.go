package zarrstore

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/codec"
	"varve/grid"
	"varve/zarrjson"
)

// Source is an array that another can be copied from: an [Array], or one of a manifest's
// store.
type Source interface {
	Schema() *zarrjson.Array
	Grid() *grid.Grid
	Pipeline(coords []int64) (*codec.Pipeline, error)
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
	ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error
}

// CopyFrom replaces all elements by those of another array of the same type and shape. A
// chunk that is the same in both, cells and codecs, is copied as it is stored; every other one
// is read and encoded, one at a time for each worker.
func (a *Array) CopyFrom(ctx context.Context, from Source) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	f := &a.form
	if theirs := from.Schema().DataType.Type(); !theirs.Equal(f.schema.DataType.Type()) || !slices.Equal(from.Grid().Shape(), f.grid.Shape()) {
		return fmt.Errorf("%s: it is %v of shape %v, and the other %v of shape %v", a.dir, f.schema.DataType.Type(), f.grid.Shape(), theirs, from.Grid().Shape())
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(a.opts.Workers)
	for w := f.grid.Walk(); w.Next() && ctx.Err() == nil; {
		p := f.part(w, w.Region.Clone())
		g.Go(func() error {
			if err := a.copyChunk(ctx, p, from); err != nil {
				return fmt.Errorf("%s: %w", a.path(p.coords), err)
			}
			return nil
		})
	}
	err := ctx.Err()
	if failed := g.Wait(); failed != nil {
		return failed
	}
	return err
}

func (a *Array) copyChunk(ctx context.Context, p *part, from Source) error {
	coords, ok, err := p.sameIn(from)
	if err != nil {
		return err
	}
	if ok {
		stored, err := from.Chunk(ctx, coords)
		if err != nil {
			return err
		}
		return a.put(p, stored)
	}
	_, form, err := p.pipelineOf()
	if err == nil {
		err = form.CheckSize()
	}
	if err != nil {
		return err
	}
	elems := codec.NewElems(form)
	if err := from.ReadRegion(ctx, p.region, elems); err != nil {
		return err
	}
	return a.writePart(ctx, p, elems)
}

// sameIn returns the chunk of another array that holds the same elements, stored alike. If
// it is missing there the elements are that array's fill value, which has to be this one's.
func (p *part) sameIn(from Source) ([]int64, bool, error) {
	g := from.Grid()
	coords, _, err := g.Locate(p.region.Origin)
	if err != nil {
		return nil, false, nil // a grid of no chunks
	}
	c, ok := g.Chunk(coords)
	if !ok || !c.Region.Equal(p.chunk.Region) || !slices.Equal(c.Codec, p.chunk.Codec) {
		return nil, false, nil
	}
	theirs, err := from.Pipeline(coords)
	if err != nil {
		return nil, false, err
	}
	ours, err := p.pipeline(p.chunk.Codec)
	if err != nil {
		return nil, false, err
	}
	one := codec.NewElems(codec.Form{Type: ours.Form().Type, Shape: []int64{1}})
	their, our := theirs.Form(), ours.Form()
	their.Shape, our.Shape = []int64{1}, []int64{1}
	one.SetFill(their)
	return coords, ours.SameDecode(theirs) && our.IsFill(one), nil
}
