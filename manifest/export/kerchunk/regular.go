package kerchunk

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest/store"
	"varve/zarrjson"
)

// regularize gives every array whose chunks differ in length chunks of one shape.
func (e *export) regularize() error {
	e.arrays = slices.Clone(e.arrays)
	for n, a := range e.arrays {
		if a.Face().ChunkGrid.Name == zarrjson.Regular {
			continue
		}
		r, err := newRegular(a)
		if err != nil {
			return fmt.Errorf("%s: no regular grid: %w", a.Path(), err)
		}
		e.arrays[n] = r
		e.result.Regular = append(e.result.Regular, a.Path())
	}
	return nil
}

// regular is an array under a regular grid. Chunks that are chunks of the array's own grid
// stay what they are there; all others are rebuilt.
type regular struct {
	array
	face     *zarrjson.Array
	grid     *grid.Grid
	pipeline *codec.Pipeline
}

func newRegular(a array) (*regular, error) {
	face := *a.Face()
	chunk := make([]int64, len(face.Shape))
	for axis := range chunk {
		chunk[axis] = commonEdge(a.Grid().Dim(axis))
	}
	face.ChunkGrid = zarrjson.RegularGrid(chunk...)
	g, err := face.Grid()
	if err != nil {
		return nil, err
	}
	p, err := codec.New(face.Codecs, face.Form(chunk))
	if err != nil {
		return nil, err
	}
	return &regular{array: a, face: &face, grid: g, pipeline: p}, nil
}

// commonEdge is the length of chunks that covers the most of an axis.
func commonEdge(d grid.Dimension) int64 {
	covered := map[int64]int64{}
	best := int64(1)
	for run := range d.Runs() {
		size := run.Edge.Codec
		covered[size] += size * run.Count
		if covered[size] > covered[best] || covered[size] == covered[best] && size > best {
			best = size
		}
	}
	return best
}

func (r *regular) Face() *zarrjson.Array                     { return r.face }
func (r *regular) Grid() *grid.Grid                          { return r.grid }
func (r *regular) Pipeline([]int64) (*codec.Pipeline, error) { return r.pipeline, nil }

// Runs implements array.
func (r *regular) Runs(ctx context.Context, chunks grid.Region) iter.Seq2[*store.Run, error] {
	return store.OneByOne(r.locations(ctx, chunks))
}

func (r *regular) locations(ctx context.Context, chunks grid.Region) iter.Seq2[*store.Location, error] {
	return func(yield func(*store.Location, error) bool) {
		walk, err := r.grid.WalkChunks(chunks)
		if err != nil {
			yield(nil, err)
			return
		}
		for walk.Next() {
			l, err := r.locate(ctx, walk)
			if !yield(&l, err) || err != nil {
				return
			}
		}
	}
}

// locate finds the chunk of the array's own grid that is the same box, if there is one.
func (r *regular) locate(ctx context.Context, walk *grid.Walker) (store.Location, error) {
	rebuilt := store.Location{Coords: walk.Coords, Kind: store.Rebuilt}
	coords, within, err := r.array.Grid().Locate(walk.Origin)
	if err != nil {
		return rebuilt, err
	}
	own, ok := r.array.Grid().Chunk(coords)
	begins := !slices.ContainsFunc(within, func(n int64) bool { return n != 0 })
	if !ok || !begins || !slices.Equal(own.Codec, walk.Codec) || !slices.Equal(own.Shape, walk.Shape) {
		return rebuilt, nil
	}
	l, err := r.array.Locate(ctx, coords)
	l.Coords = walk.Coords
	return l, err
}

// Chunk implements array for chunks that are rebuilt.
func (r *regular) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	c, ok := r.grid.Chunk(coords)
	if !ok {
		return nil, fmt.Errorf("chunk %v: there is none", coords)
	}
	if own, within, err := r.array.Grid().Locate(c.Origin); err == nil && !slices.ContainsFunc(within, func(n int64) bool { return n != 0 }) {
		if chunk, ok := r.array.Grid().Chunk(own); ok && slices.Equal(chunk.Codec, c.Codec) {
			return r.array.Chunk(ctx, own)
		}
	}
	read := codec.NewElems(r.face.Form(c.Shape))
	if err := r.ReadRegion(ctx, c.Region, read); err != nil {
		return nil, err
	}
	whole := read
	if !slices.Equal(c.Shape, c.Codec) {
		whole = codec.NewElems(r.pipeline.Form())
		whole.SetFill(r.pipeline.Form())
		if err := place(whole, read, c, int64(r.face.DataType.Type().Size)); err != nil {
			return nil, err
		}
	}
	return r.pipeline.Encode(nil, whole)
}

// place copies what counts of a chunk into the room of a whole one.
func place(whole, read codec.Elems, c grid.Chunk, unit int64) error {
	into := grid.Region{Origin: c.Origin, Shape: c.Codec}
	if whole.Var != nil {
		return grid.Copy(grid.Window[[]byte]{Data: whole.Var, Region: into}, grid.Window[[]byte]{Data: read.Var, Region: c.Region}, c.Region, 1)
	}
	return grid.Copy(grid.Window[byte]{Data: whole.Fixed, Region: into}, grid.Window[byte]{Data: read.Fixed, Region: c.Region}, c.Region, unit)
}
