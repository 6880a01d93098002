package serve

import (
	"context"
	"errors"
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
	return newAdapted(nodes, path.Join(tag, "regular"), keep, func(a array) (*regular.Array, error) {
		if a.Schema().ChunkGrid.Name == zarrjson.Regular {
			return nil, nil
		}
		return regular.New(a)
	})
}

// newCore returns the hierarchy for clients that support only Zarr's core specification: regular grids, and the codecs
// and data types of the specification. Arrays of other data types are omitted.
func newCore(nodes []node, tag string, keep once) (*view, error) {
	return newAdapted(nodes, path.Join(tag, "core"), keep, func(a array) (*regular.Array, error) {
		if !a.Schema().DataType.Type().IsCore() {
			return nil, fmt.Errorf("the data type %s is an extension of Zarr: %w", a.Schema().DataType.Name(), errors.ErrUnsupported)
		}
		cut, err := regular.NewWith(a, regular.CoreCodecs)
		if err == nil && cut.IsSource() {
			return nil, nil
		}
		return cut, err
	})
}

// newAdapted returns a hierarchy in format 3 in which adapt replaces arrays. It keeps an array for which adapt returns
// nil, and omits an array for which it returns an error.
func newAdapted(nodes []node, tag string, keep once, adapt func(array) (*regular.Array, error)) (*view, error) {
	adapted := make([]node, 0, len(nodes))
	var omitted []string
	for _, n := range nodes {
		if n.array != nil {
			cut, err := adapt(n.array)
			if err != nil {
				omitted = append(omitted, fmt.Sprintf("/%s: %v", n.path, err))
				continue
			}
			if cut != nil {
				n.array = &regridded{n.array, cut, keep}
			}
		}
		adapted = append(adapted, n)
	}
	v, err := newV3(adapted, tag)
	if err != nil {
		return nil, err
	}
	v.omitted = omitted
	return v, nil
}

// regridded is an array with another chunk grid or other codecs.
type regridded struct {
	array
	cut  *regular.Array
	once once
}

// Why returns nothing: the view has other chunks than the array.
func (a *regridded) Why(context.Context, []int64) ([]manifest.Reason, error) { return nil, nil }

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
