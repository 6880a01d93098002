package serve

import (
	"context"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/store"
	"varve/zarrjson"
)

// array is what is served of an array: a store's, or another view of it.
type array interface {
	Path() string
	Face() *zarrjson.Array
	Grid() *grid.Grid
	Pipeline(coords []int64) (*codec.Pipeline, error)
	Locate(ctx context.Context, coords []int64) (store.Location, error)
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
	ReadStored(ctx context.Context, l *store.Location, from, length int64) ([]byte, error)
	ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error
}

// dataset is what is served of a manifest.
type dataset interface {
	Snapshot() *manifest.Snapshot
	Groups() []manifest.GroupFace
	Members() []array
	Source(ctx context.Context, row int64) (manifest.Source, error)
	OpenLocal(ctx context.Context, row int64) (*store.Local, error)
	// Once is make, done once for all who want the same at a time, and kept.
	Once(ctx context.Context, owner any, number int64, make func() ([]byte, error)) ([]byte, error)
	Close() error
}

// once is a dataset's Once.
type once func(ctx context.Context, owner any, number int64, make func() ([]byte, error)) ([]byte, error)

// opened is a store as a dataset.
type opened struct{ *store.Store }

func (o opened) Members() []array {
	arrays := o.Arrays()
	members := make([]array, len(arrays))
	for i, a := range arrays {
		members[i] = a
	}
	return members
}
