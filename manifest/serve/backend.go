package serve

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/manifest/store"
	"varve/zarrjson"
)

// array is an array that the server can serve: an array of a store, or a re-chunked view of it.
type array interface {
	Path() string
	Schema() *zarrjson.Array
	Grid() *grid.Grid
	Pipeline(coords []int64) (*codec.Pipeline, error)
	Locate(ctx context.Context, coords []int64) (manifest.Location, error)
	Chunk(ctx context.Context, coords []int64) ([]byte, error)
	// Origins returns the sources of a chunk.
	Origins(ctx context.Context, coords []int64) (rows []int64, err error)
	// Why returns the reasons for which a chunk is re-encoded.
	Why(ctx context.Context, coords []int64) ([]manifest.Reason, error)
	ReadStored(ctx context.Context, l *manifest.Location, from, length int64) ([]byte, error)
	ReadRegion(ctx context.Context, r grid.Region, dst codec.Elems) error
}

// dataset is an open snapshot of a manifest.
type dataset interface {
	Snapshot() *manifest.Snapshot
	Groups() []manifest.GroupSchema
	Members() []array
	Source(ctx context.Context, row int64) (manifest.Source, error)
	OpenLocal(ctx context.Context, row int64) (*store.Local, error)
	// Once calls make once for all concurrent callers with the same owner and number, and caches the result.
	Once(ctx context.Context, owner any, number int64, make func() ([]byte, error)) ([]byte, error)
	// CheckAccess returns an error if sources may not be read.
	CheckAccess(ctx context.Context) error
	// IsKept reports whether the manifest still contains the snapshot.
	IsKept(ctx context.Context) (bool, error)
	// Since compares the snapshot with an older snapshot of the same manifest. The returned function returns
	// the reason why elements of an array moved or changed, or "" if all old elements have the same positions
	// and meaning.
	Since(older dataset) (moved func(ctx context.Context, path string) (why string, err error))
	Close() error
}

// once is the type of dataset.Once.
type once func(ctx context.Context, owner any, number int64, make func() ([]byte, error)) ([]byte, error)

// storeDataset implements dataset with a store.
type storeDataset struct{ *store.Store }

func (o storeDataset) Members() []array {
	arrays := o.Arrays()
	members := make([]array, len(arrays))
	for i, a := range arrays {
		members[i] = a
	}
	return members
}

// Since compares the tiles of arrays. Arrays whose values are in the manifest have no tiles and are compared
// by value, because appends store them again.
func (o storeDataset) Since(older dataset) func(ctx context.Context, path string) (string, error) {
	was, ok := older.(storeDataset)
	if !ok {
		return func(context.Context, string) (string, error) {
			return "the older snapshot is not from the same kind of store", nil
		}
	}
	c := &change.Snapshots{Old: was.Snapshot(), Now: o.Snapshot()}
	c.Past = &change.Open{Old: c.Old, Now: c.Now, Was: was.Tables(), Is: o.Tables()}
	return func(ctx context.Context, path string) (string, error) {
		a, err := was.Array(path)
		if err != nil {
			return "", err
		}
		b, err := o.Array(path)
		if err != nil {
			return "", err
		}
		if a.Spec().Placement == "" && b.Spec().Placement == "" {
			return otherValues(ctx, a, b)
		}
		ch, err := c.Elements(ctx, b.Spec())
		return ch.Why, err
	}
}

// otherValues compares all elements of the old array with the same positions of the new one. It returns "" if
// they are equal, or the reason. The caller has checked that the chunk grids agree.
func otherValues(ctx context.Context, old, now array) (why string, err error) {
	w, err := old.Grid().WalkRegion(grid.Whole(old.Grid().Shape()))
	if err != nil {
		return "", err
	}
	for w.Next() {
		form := old.Schema().Form(w.Region.Shape)
		if err := form.CheckSize(); err != nil {
			return "", fmt.Errorf("%s: %w", old.Path(), err)
		}
		a, b := codec.NewElems(form), codec.NewElems(form)
		if err := old.ReadRegion(ctx, w.Region, a); err != nil {
			return "", err
		}
		if err := now.ReadRegion(ctx, w.Region, b); err != nil {
			return "", err
		}
		if !bytes.Equal(a.Fixed, b.Fixed) || !slices.EqualFunc(a.Var, b.Var, bytes.Equal) {
			return "the values that the manifest stores changed", nil
		}
	}
	return "", nil
}
