// Package regular gives arrays with chunks of several lengths a regular chunk grid, for clients that
// support no other: clients of the server's regular view, and of regular kerchunk references.
//
//	edges of the source    31   28   31   30   31
//	edges of the array     31   31   31   31   31    the edge whose chunks cover most of the axis
//
// A chunk that coincides with a chunk of the source has the same bytes. All other chunks are read from
// the source and encoded. If the source's codecs cannot encode all values exactly, or a client needs
// others, all chunks are re-encoded with other codecs.
package regular

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// Source is an array with any grid. *store.Array implements it.
type Source interface {
	Schema() *zarrjson.Array
	Grid() *grid.Grid
	Locate(ctx context.Context, coords []int64) (manifest.Location, error)
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
	ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error
}

// Array is a source with a regular grid. It may be used by any number of goroutines.
type Array struct {
	source    Source
	schema    *zarrjson.Array
	grid      *grid.Grid
	pipeline  *codec.Pipeline
	isRecoded bool // the codecs differ from the source's, so no chunk has the same bytes
}

// CodecChooser chooses the codecs of chunks of a form. same reports whether chunks that are stored with specs are
// valid for the chosen codecs.
type CodecChooser func(specs []codec.Spec, form codec.Form) (codecs []codec.Spec, same bool, err error)

// CoreCodecs chooses codecs of Zarr's core specification.
func CoreCodecs(specs []codec.Spec, form codec.Form) ([]codec.Spec, bool, error) {
	return codec.CoreCodecs(specs, form, "")
}

// New returns the source with a regular grid. It keeps the codecs of the source if codec.ExactCodecs does.
func New(source Source) (*Array, error) { return NewWith(source, codec.ExactCodecs) }

// NewWith returns the source with a regular grid and the chosen codecs.
func NewWith(source Source, choose CodecChooser) (*Array, error) {
	a, err := adapt(source.Schema(), source.Grid(), choose)
	if err != nil {
		return nil, err
	}
	a.source = source
	return a, nil
}

// NewChunks returns the source with a regular grid of chunks of a shape, and the chosen codecs.
func NewChunks(source Source, shape []int64, choose CodecChooser) (*Array, error) {
	a, err := adaptTo(source.Schema(), shape, choose)
	if err != nil {
		return nil, err
	}
	a.source = source
	return a, nil
}

// Schema returns the schema that NewWith gives an array.
func Schema(schema *zarrjson.Array, g *grid.Grid, choose CodecChooser) (*zarrjson.Array, error) {
	a, err := adapt(schema, g, choose)
	if err != nil {
		return nil, err
	}
	return a.schema, nil
}

func adapt(original *zarrjson.Array, from *grid.Grid, choose CodecChooser) (*Array, error) {
	shape := make([]int64, from.Rank())
	for axis := range shape {
		shape[axis] = CommonEdge(from.Dim(axis))
	}
	return adaptTo(original, shape, choose)
}

func adaptTo(original *zarrjson.Array, shape []int64, choose CodecChooser) (*Array, error) {
	schema := *original
	if len(shape) != len(schema.Shape) {
		return nil, fmt.Errorf("chunks of %d: the array has %d dimensions", shape, len(schema.Shape))
	}
	schema.ChunkGrid = zarrjson.RegularGrid(shape...)
	g, err := schema.Grid()
	if err != nil {
		return nil, fmt.Errorf("chunks of %d: %w", shape, err)
	}
	codecs, same, err := choose(schema.Codecs, schema.Form(shape))
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
	return &Array{schema: &schema, grid: g, pipeline: p, isRecoded: !same}, nil
}

// CommonEdge returns the edge whose chunks cover the largest part of an axis. If several do, it
// returns the longest.
func CommonEdge(d grid.Dimension) int64 {
	covered := map[int64]int64{}
	best, left := int64(1), d.Extent()
	for run := range d.Runs() {
		size := run.Edge.Codec
		n := left
		// The last run can extend beyond the array by so much that the product would overflow.
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

// IsSource reports whether the source has the same chunks and codecs, under the same names.
func (a *Array) IsSource() bool {
	schema := a.source.Schema()
	return schema.ChunkGrid.Name == zarrjson.Regular && slices.EqualFunc(schema.Codecs, a.schema.Codecs, func(s, t codec.Spec) bool { return s.Name == t.Name })
}

// Schema returns the Zarr schema with the regular grid. It must not be changed.
func (a *Array) Schema() *zarrjson.Array { return a.schema }

// Grid returns the regular grid.
func (a *Array) Grid() *grid.Grid { return a.grid }

// Pipeline returns the codec pipeline of all chunks.
func (a *Array) Pipeline() *codec.Pipeline { return a.pipeline }

// sourceChunk returns the coordinates of the source's chunk that coincides with c. ok is false if there is
// none.
func (a *Array) sourceChunk(c *grid.Chunk) (coords []int64, ok bool, err error) {
	coords, within, err := a.source.Grid().Locate(c.Origin)
	if err != nil {
		return nil, false, err
	}
	own, ok := a.source.Grid().Chunk(coords)
	ok = ok && !a.isRecoded
	begins := !slices.ContainsFunc(within, func(n int64) bool { return n != 0 })
	return coords, ok && begins && slices.Equal(own.Codec, c.Codec) && slices.Equal(own.Shape, c.Shape), nil
}

// chunk returns a chunk of the regular grid, or grid.ErrOutOfBounds.
func (a *Array) chunk(coords []int64) (grid.Chunk, error) {
	c, ok := a.grid.Chunk(coords)
	if !ok {
		return c, fmt.Errorf("chunk %v: %w: the numbers of chunks are %v", coords, grid.ErrOutOfBounds, a.grid.Counts())
	}
	return c, nil
}

// Locate returns the location of a chunk's bytes. If the chunk coincides with a chunk of the source, it is
// that chunk's location, with its coordinates in the source. A chunk is missing if all chunks of the
// source that overlap it are missing.
func (a *Array) Locate(ctx context.Context, coords []int64) (manifest.Location, error) {
	loc := manifest.Location{Coords: slices.Clone(coords), Kind: manifest.Missing}
	c, err := a.chunk(coords)
	if err != nil {
		return loc, err
	}
	if own, ok, err := a.sourceChunk(&c); ok || err != nil {
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
		if under.Kind != manifest.Missing {
			loc.Kind = manifest.Reencoded
			break
		}
	}
	return loc, nil
}

// Chunk returns the bytes of a chunk. Elements beyond the array's shape have the fill value.
func (a *Array) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	c, err := a.chunk(coords)
	if err != nil {
		return nil, err
	}
	if own, ok, err := a.sourceChunk(&c); ok || err != nil {
		if err != nil {
			return nil, err
		}
		return a.source.Chunk(ctx, own)
	}
	read := codec.NewElems(a.schema.Form(c.Shape))
	if err := a.source.ReadRegion(ctx, c.Region, read); err != nil {
		return nil, err
	}
	// A chunk inside the array needs no padding, so this case avoids the copy.
	if slices.Equal(c.Shape, c.Codec) {
		return a.pipeline.Encode([]byte{}, read)
	}
	whole := codec.NewElems(a.pipeline.Form())
	whole.SetFill(a.pipeline.Form())
	if err := copyPart(whole, read, &c, a.pipeline.Form().Type); err != nil {
		return nil, err
	}
	return a.pipeline.Encode([]byte{}, whole)
}

// copyPart copies the elements of a chunk that are inside the array to their positions in the whole
// chunk.
func copyPart(whole, read codec.Elems, c *grid.Chunk, t codec.Type) error {
	into := grid.Region{Origin: c.Origin, Shape: c.Codec}
	if t.Varies() {
		return grid.Copy(grid.Window[[]byte]{Data: whole.Var, Region: into}, grid.Window[[]byte]{Data: read.Var, Region: c.Region}, c.Region, 1)
	}
	return grid.Copy(grid.Window[byte]{Data: whole.Fixed, Region: into}, grid.Window[byte]{Data: read.Fixed, Region: c.Region}, c.Region, int64(t.Size))
}
