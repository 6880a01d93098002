package store

import (
	"context"
	"errors"
	"iter"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/mosaic"
	"varve/zarrjson"
)

// Kind is how a declared chunk gets its bytes.
type Kind = mosaic.Kind

// The kinds.
const (
	Missing  = mosaic.Missing  // all fill: there is no such key
	Verbatim = mosaic.Verbatim // the stored bytes are what the face declares
	Prefix   = mosaic.Prefix   // the stored bytes begin with what the face declares
	Rebuilt  = mosaic.Rebuilt  // read, converted, encoded
)

// Location is where the bytes of a declared chunk are. Of a Missing or Rebuilt chunk only
// Coords and Kind are set.
type Location struct {
	Coords []int64
	Kind   Kind
	// Source is the row of the source that Offset and Size are in, or -1 where the bytes are
	// kept in the manifest: then they are Inline. Those of a Prefix are the first Size of what
	// is stored.
	Source       int64
	Offset, Size int64
	Inline       []byte
}

// Array is one declared array. It may be used by any number of goroutines.
type Array struct {
	spec *manifest.Array
	grid *grid.Grid
}

// Path is the array's path, "/group/name".
func (a *Array) Path() string { return a.spec.Path }

// Spec is what the snapshot says of the array. It must not be changed.
func (a *Array) Spec() *manifest.Array { return a.spec }

// Face is the Zarr array that clients see. It must not be changed.
func (a *Array) Face() *zarrjson.Array { return a.spec.Face }

// Grid is how the face is cut into chunks.
func (a *Array) Grid() *grid.Grid { return a.grid }

// Pipeline is that of the declared chunk at some coordinates.
func (a *Array) Pipeline(coords []int64) (*codec.Pipeline, error) {
	return nil, errors.ErrUnsupported
}

// Locate says where the bytes of a declared chunk are. It reads the manifest only, never
// a source. The chunks of an array that is kept in the manifest are Verbatim, and Inline.
func (a *Array) Locate(ctx context.Context, coords []int64) (Location, error) {
	return Location{}, errors.ErrUnsupported
}

// Locations yields every chunk in a box of chunk coordinates, in C order, those that are
// Missing too. The Location is overwritten by the next. An error ends it.
func (a *Array) Locations(ctx context.Context, chunks grid.Region) iter.Seq2[*Location, error] {
	return func(yield func(*Location, error) bool) { yield(nil, errors.ErrUnsupported) }
}

// Chunk returns the bytes of a declared chunk, as its key in a Zarr store would hold them:
// as they are stored, or rebuilt. It returns nil for a chunk that is Missing. Nobody may
// write to the bytes.
func (a *Array) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	return nil, errors.ErrUnsupported
}

// Read fills dst, in C order of the indexer's shape, with what an indexer of the array's
// grid selects.
func (a *Array) Read(ctx context.Context, ix *grid.Indexer, dst codec.Elems) error {
	return errors.ErrUnsupported
}

// ReadRegion fills dst, in C order of the region, with the elements of a region.
func (a *Array) ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error {
	return errors.ErrUnsupported
}
