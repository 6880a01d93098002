package serve

import (
	"context"
	"fmt"
	"path"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/regular"
	"varve/zarrjson"
)

// newRegular returns the hierarchy for clients that support only regular grids. Arrays with a regular grid are
// unchanged.
func newRegular(nodes []node, tag string, keep once) (*view, error) {
	regularNodes := make([]node, 0, len(nodes))
	var omitted []string
	for _, n := range nodes {
		if n.array != nil && n.array.Schema().ChunkGrid.Name != zarrjson.Regular {
			cut, err := regular.New(n.array)
			if err != nil {
				omitted = append(omitted, fmt.Sprintf("/%s: %v", n.path, err))
				continue
			}
			n.array = &regridded{n.array, cut, keep}
		}
		regularNodes = append(regularNodes, n)
	}
	v, err := newV3(regularNodes, path.Join(tag, "regular"))
	if err != nil {
		return nil, err
	}
	v.omitted = omitted
	return v, nil
}

// regridded is an array with a regular chunk grid that replaces its rectilinear one.
type regridded struct {
	array
	cut  *regular.Array
	once once
}

func (a *regridded) Schema() *zarrjson.Array { return a.cut.Schema() }
func (a *regridded) Grid() *grid.Grid        { return a.cut.Grid() }

func (a *regridded) Pipeline([]int64) (*codec.Pipeline, error) { return a.cut.Pipeline(), nil }

// Locate returns the location of a chunk. A chunk with the edges of a stored chunk stays verbatim, a chunk that covers
// only missing chunks is missing, and all others are re-encoded.
func (a *regridded) Locate(ctx context.Context, coords []int64) (manifest.Location, error) {
	if _, ok := a.cut.Grid().Number(coords); !ok {
		return manifest.Location{}, errNoKey
	}
	return a.cut.Locate(ctx, coords)
}

// Chunk returns a re-encoded chunk. Concurrent requests share one encoding.
func (a *regridded) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	number, ok := a.cut.Grid().Number(coords)
	if !ok {
		return nil, errNoKey
	}
	return a.once(ctx, a, number, func() ([]byte, error) { return a.cut.Chunk(ctx, coords) })
}
