// Package regular gives arrays whose chunks differ in length chunks of one shape, for clients
// that know no other: those of the server's regular view, and of references that are asked to
// be regular.
//
//	edges of the source    31   28   31   30   31
//	edges of the array     31 │ 31 │ 31 │ 31 │ 31    the length that most of an axis is in
//
// A chunk that is one of the source, cell for cell, stays what it is there. Every other one is
// read through all that it meets, and encoded; where the source's codecs do not encode, or do
// not give back what they encode, all of them are, in others.
package regular

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest/store"
	"varve/zarrjson"
)

// Source is an array that is cut anew; *store.Array is one.
type Source interface {
	Schema() *zarrjson.Array
	Grid() *grid.Grid
	Locate(ctx context.Context, coords []int64) (store.Location, error)
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
	ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error
}

// Array is a source under a regular grid. It may be used by any number of goroutines.
type Array struct {
	source   Source
	schema   *zarrjson.Array
	grid     *grid.Grid
	pipeline *codec.Pipeline
	recoded  bool // no chunk is one of the source
}

// New cuts an array anew.
func New(source Source) (*Array, error) {
	schema, from := *source.Schema(), source.Grid()
	shape := make([]int64, from.Rank())
	for axis := range shape {
		shape[axis] = commonEdge(from.Dim(axis))
	}
	schema.ChunkGrid = zarrjson.RegularGrid(shape...)
	g, err := schema.Grid()
	if err != nil {
		return nil, fmt.Errorf("chunks of %d: %w", shape, err)
	}
	codecs, same, err := codec.ExactCodecs(schema.Codecs, schema.Form(shape))
	if err != nil {
		return nil, fmt.Errorf("chunks of %d: %w", shape, err)
	}
	schema.Codecs = codecs
	p, err := codec.New(codecs, schema.Form(shape))
	if err == nil {
		err = p.Form().CheckSize()
	}
	if err != nil {
		return nil, fmt.Errorf("chunks of %d: %w", shape, err)
	}
	return &Array{source, &schema, g, p, !same}, nil
}

// commonEdge is the length of chunks that covers the most of an axis; of several, the longest.
// What lies past the extent is none of the axis.
func commonEdge(d grid.Dimension) int64 {
	covered := map[int64]int64{}
	best, left := int64(1), d.Extent()
	for run := range d.Runs() {
		size := run.Edge.Codec
		n := left
		if run.Count <= left/run.Data {
			n = run.Data * run.Count
		}
		covered[size] += n
		left -= n
		if covered[size] > covered[best] || covered[size] == covered[best] && size > best {
			best = size
		}
	}
	return best
}

// Schema is the array with its regular grid. It must not be changed.
func (a *Array) Schema() *zarrjson.Array { return a.schema }

// Grid is how the array is cut into chunks.
func (a *Array) Grid() *grid.Grid { return a.grid }

// Pipeline is that of all chunks.
func (a *Array) Pipeline() *codec.Pipeline { return a.pipeline }

// own finds the chunk of the source that is the same, if there is one.
func (a *Array) own(c *grid.Chunk) (coords []int64, ok bool, err error) {
	coords, within, err := a.source.Grid().Locate(c.Origin)
	if err != nil {
		return nil, false, err
	}
	own, ok := a.source.Grid().Chunk(coords)
	ok = ok && !a.recoded
	begins := !slices.ContainsFunc(within, func(n int64) bool { return n != 0 })
	return coords, ok && begins && slices.Equal(own.Codec, c.Codec) && slices.Equal(own.Shape, c.Shape), nil
}

func (a *Array) chunk(coords []int64) (grid.Chunk, error) {
	c, ok := a.grid.Chunk(coords)
	if !ok {
		return c, fmt.Errorf("chunk %v: %w: there are %v", coords, grid.ErrOutOfBounds, a.grid.Counts())
	}
	return c, nil
}

// Locate says where the bytes of a chunk are. That of one which the source has is the
// source's, coordinates too; one that meets only missing chunks is missing.
func (a *Array) Locate(ctx context.Context, coords []int64) (store.Location, error) {
	loc := store.Location{Coords: slices.Clone(coords), Kind: store.Missing}
	c, err := a.chunk(coords)
	if err != nil {
		return loc, err
	}
	if own, ok, err := a.own(&c); ok || err != nil {
		if err != nil {
			return loc, err
		}
		return a.source.Locate(ctx, own)
	}
	chunks, err := a.source.Grid().ChunksOf(c.Region)
	if err != nil {
		return loc, err
	}
	at, more := slices.Clone(chunks.Origin), !chunks.IsEmpty()
	for ; more; more = chunks.Next(at) {
		under, err := a.source.Locate(ctx, at)
		if err != nil {
			return loc, err
		}
		if under.Kind != store.Missing {
			loc.Kind = store.Reencoded
			break
		}
	}
	return loc, nil
}

// Chunk returns the bytes of a chunk. What reaches over the array's end is fill.
func (a *Array) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	c, err := a.chunk(coords)
	if err != nil {
		return nil, err
	}
	if own, ok, err := a.own(&c); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return a.source.Chunk(ctx, own)
	}
	read := codec.NewElems(a.schema.Form(c.Shape))
	if err := a.source.ReadRegion(ctx, c.Region, read); err != nil {
		return nil, err
	}
	if slices.Equal(c.Shape, c.Codec) {
		return a.pipeline.Encode([]byte{}, read)
	}
	whole := codec.NewElems(a.pipeline.Form())
	whole.SetFill(a.pipeline.Form())
	if err := place(whole, read, &c, a.pipeline.Form().Type); err != nil {
		return nil, err
	}
	return a.pipeline.Encode([]byte{}, whole)
}

// place copies what counts of a chunk into the room of a whole one.
func place(whole, read codec.Elems, c *grid.Chunk, t codec.Type) error {
	into := grid.Region{Origin: c.Origin, Shape: c.Codec}
	if t.Varies() {
		return grid.Copy(grid.Window[[]byte]{Data: whole.Var, Region: into}, grid.Window[[]byte]{Data: read.Var, Region: c.Region}, c.Region, 1)
	}
	return grid.Copy(grid.Window[byte]{Data: whole.Fixed, Region: into}, grid.Window[byte]{Data: read.Fixed, Region: c.Region}, c.Region, int64(t.Size))
}
