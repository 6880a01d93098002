package zarrstore

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/zarrjson"
)

// Source is an array that can be copied: an [Array], or an array of a manifest's store.
type Source interface {
	Schema() *zarrjson.Array
	Grid() *grid.Grid
	Pipeline(coords []int64) (*codec.Pipeline, error)
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
	ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error
}

// CopyFrom copies all elements of another array of the same type and shape. A chunk with the same
// elements and codecs in both arrays is copied as it is stored. Every other chunk is read and encoded;
// each worker holds one at a time.
func (a *Array) CopyFrom(ctx context.Context, from Source) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	f := &a.form
	if theirs := from.Schema().DataType.Type(); !theirs.Equal(f.schema.DataType.Type()) || !slices.Equal(from.Grid().Shape(), f.grid.Shape()) {
		return fmt.Errorf("%s: it is %v of shape %v, and the other %v of shape %v", a.files.Name(""), f.schema.DataType.Type(), f.grid.Shape(), theirs, from.Grid().Shape())
	}
	return a.inParallel(ctx, func(yield func(*part, task) bool) {
		for w := f.grid.Walk(); w.Next(); {
			p := f.part(w, w.Region.Clone())
			if !yield(p, func(ctx context.Context) error { return a.copyChunk(ctx, p, from) }) {
				return
			}
		}
	})
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
		return a.put(ctx, p, stored)
	}
	elems, _, err := p.newElems()
	if err != nil {
		return err
	}
	if err := from.ReadRegion(ctx, p.region, elems); err != nil {
		return err
	}
	return a.writePart(ctx, p, elems)
}

// sameIn returns the chunk of another array that holds the same elements, stored alike. If
// the chunk is missing there, both arrays must have the same fill value.
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
