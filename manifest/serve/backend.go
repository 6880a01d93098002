package serve

import (
	"bytes"
	"context"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/manifest/store"
	"varve/zarrjson"
)

// array is what is served of an array: a store's, or another view of it.
type array interface {
	Path() string
	Schema() *zarrjson.Array
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
	Groups() []manifest.GroupSchema
	Members() []array
	Source(ctx context.Context, row int64) (manifest.Source, error)
	OpenLocal(ctx context.Context, row int64) (*store.Local, error)
	// Once is make, done once for all who want the same at a time, and kept.
	Once(ctx context.Context, owner any, number int64, make func() ([]byte, error)) ([]byte, error)
	// IsKept reports whether the manifest still has the snapshot.
	IsKept(ctx context.Context) (bool, error)
	// Since compares with an older snapshot of the manifest: what is returned says what keeps the
	// elements that an array had then from being where they were, and meaning what they did, if
	// something does.
	Since(older dataset) (moved func(ctx context.Context, path string) (why string, err error))
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

// Since compares the tiles of arrays, and the values of those that are kept in the manifest, which
// appends lay out anew.
func (o opened) Since(older dataset) func(ctx context.Context, path string) (string, error) {
	was, ok := older.(opened)
	if !ok {
		return func(context.Context, string) (string, error) { return "it is not of the same manifest", nil }
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

// otherValues says what keeps an array, of which nothing was cut into other chunks, from beginning
// with the elements of another.
func otherValues(ctx context.Context, old, now array) (why string, err error) {
	w, err := old.Grid().WalkRegion(grid.Whole(old.Grid().Shape()))
	if err != nil {
		return "", err
	}
	for w.Next() {
		a, b := codec.NewElems(old.Schema().Form(w.Region.Shape)), codec.NewElems(old.Schema().Form(w.Region.Shape))
		if err := old.ReadRegion(ctx, w.Region, a); err != nil {
			return "", err
		}
		if err := now.ReadRegion(ctx, w.Region, b); err != nil {
			return "", err
		}
		if !bytes.Equal(a.Fixed, b.Fixed) || !slices.EqualFunc(a.Var, b.Var, bytes.Equal) {
			return "the manifest keeps other values of it", nil
		}
	}
	return "", nil
}
