package serve

import (
	"context"
	"fmt"
	"path"

	"varve/codec"
	"varve/grid"
	"varve/manifest/regular"
	"varve/manifest/store"
	"varve/zarrjson"
)

// newRegular returns the view for clients that know regular grids only. Arrays that have one
// are as they are.
func newRegular(nodes []node, tag string, keep once) (*view, error) {
	cut := make([]node, 0, len(nodes))
	var left []string
	for _, n := range nodes {
		if n.array != nil && n.array.Schema().ChunkGrid.Name != zarrjson.Regular {
			anew, err := regular.New(n.array)
			if err != nil {
				left = append(left, fmt.Sprintf("/%s: %v", n.path, err))
				continue
			}
			n.array = &regridded{n.array, anew, keep}
		}
		cut = append(cut, n)
	}
	v, err := newV3(cut, path.Join(tag, "regular"))
	if err != nil {
		return nil, err
	}
	v.left = left
	return v, nil
}

// regridded is an array whose chunks are cut anew.
type regridded struct {
	array
	cut  *regular.Array
	once once
}

func (a *regridded) Schema() *zarrjson.Array { return a.cut.Schema() }
func (a *regridded) Grid() *grid.Grid        { return a.cut.Grid() }

func (a *regridded) Pipeline([]int64) (*codec.Pipeline, error) { return a.cut.Pipeline(), nil }

// Locate finds chunks that are the array's own, others that are to be re-encoded, and those
// missing that meet missing ones only.
func (a *regridded) Locate(ctx context.Context, coords []int64) (store.Location, error) {
	if _, ok := a.cut.Grid().Number(coords); !ok {
		return store.Location{}, errNoKey
	}
	return a.cut.Locate(ctx, coords)
}

// Chunk returns a chunk, which is made once for all who ask for it at a time.
func (a *regridded) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	number, ok := a.cut.Grid().Number(coords)
	if !ok {
		return nil, errNoKey
	}
	return a.once(ctx, a, number, func() ([]byte, error) { return a.cut.Chunk(ctx, coords) })
}
