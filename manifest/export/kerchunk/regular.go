package kerchunk

import (
	"context"
	"fmt"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/regular"
	"varve/readers"
	"varve/zarrjson"
)

// regularize re-chunks arrays with rectilinear grids to regular ones.
func (e *export) regularize() error {
	e.arrays = slices.Clone(e.arrays)
	for n, a := range e.arrays {
		if a.Schema().ChunkGrid.Name == zarrjson.Regular {
			continue
		}
		cut, err := regular.New(a)
		if err != nil {
			return fmt.Errorf("%s: cannot use a regular grid: %w", a.Path(), err)
		}
		e.arrays[n] = &regularized{a, cut}
		e.result.Regular = append(e.result.Regular, a.Path())
	}
	return nil
}

// regularized is an array with a regular grid.
type regularized struct {
	array
	cut *regular.Array
}

func (r *regularized) Schema() *zarrjson.Array                   { return r.cut.Schema() }
func (r *regularized) Grid() *grid.Grid                          { return r.cut.Grid() }
func (r *regularized) Pipeline([]int64) (*codec.Pipeline, error) { return r.cut.Pipeline(), nil }

func (r *regularized) Locate(ctx context.Context, coords []int64) (manifest.Location, error) {
	return r.cut.Locate(ctx, coords)
}

func (r *regularized) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	return r.cut.Chunk(ctx, coords)
}

// Runs implements array.
func (r *regularized) Runs(ctx context.Context, chunks grid.Region) readers.Reusing[manifest.Run] {
	return manifest.RunsOf(func(yield func(*manifest.Location, error) bool) {
		at, more := slices.Clone(chunks.Origin), !chunks.IsEmpty()
		for ; more; more = chunks.Next(at) {
			l, err := r.cut.Locate(ctx, at)
			l.Coords = at
			if !yield(&l, err) || err != nil {
				return
			}
		}
	})
}
