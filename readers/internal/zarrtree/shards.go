package zarrtree

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"varve/codec"
	"varve/grid"
	"varve/readers"
)

// shards describes how stored chunks split into the innermost chunks that can be read separately.
//
//	chunk of the grid      levels[0]        levels[1]
//	├─────────────────┼───┤ inner │ inner ─┤ inner │ inner
//
// Edge chunks of the grid may have another shape, but their inner chunks do not, because inner
// chunks divide the chunk around them.
type shards struct {
	levels   []*codec.Shards // of the first chunk of the grid
	pipeline *codec.Pipeline // of innermost chunks
	grid     *grid.Grid      // of innermost chunks in the array
}

// newShards returns the shards of an array, or nil if its chunks cannot be split.
func newShards(g *grid.Grid, p *codec.Pipeline) (*shards, error) {
	s := &shards{pipeline: p}
	for {
		level, err := s.pipeline.Shards()
		if err != nil {
			break // the error names the codec that prevents splitting
		}
		if s.pipeline, err = level.Pipeline(make([]int64, g.Rank())); err != nil {
			return nil, err
		}
		s.levels = append(s.levels, level)
	}
	if len(s.levels) == 0 {
		return nil, nil
	}
	var err error
	// Inner chunks have one shape, so their grid is regular even if the grid of the shards is not.
	s.grid, err = grid.Regular(g.Shape(), s.pipeline.Form().Shape)
	return s, err
}

// innerRefs reads the index of each shard and streams its chunks.
func (a *Array) innerRefs(ctx context.Context, outer iter.Seq2[*readers.Ref, error]) iter.Seq2[*readers.Ref, error] {
	return func(yield func(*readers.Ref, error) bool) {
		x := splitter{a: a, open: opener{tree: a.tree}, first: a.pipeline, level: a.shards.levels[0]}
		x.ref.Index = make([]uint64, a.Grid.Rank())
		x.yield = yield
		err := x.all(ctx, outer)
		if closeErr := x.open.Close(); err == nil {
			err = closeErr
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, a.locate(err))
		}
	}
}

var errStopped = errors.New("stopped")

// splitter splits the shards of an array, one after another.
type splitter struct {
	a     *Array
	open  opener
	first *codec.Pipeline // of chunks with the shape of the last one
	level *codec.Shards   // of first
	ref   readers.Ref
	yield func(*readers.Ref, error) bool
}

func (x *splitter) all(ctx context.Context, outer iter.Seq2[*readers.Ref, error]) error {
	return x.a.eachChunk(outer, func(r *readers.Ref, box grid.Chunk, _ []int64) (err error) {
		if x.first, err = x.first.WithShape(box.Codec); err != nil {
			return err
		}
		if x.level, err = x.first.Shards(); err != nil {
			return err
		}
		c, err := x.open.open(ctx, r)
		if err == nil {
			x.ref.Other = r.Other
			err = x.split(ctx, c, 0, box.Origin)
		}
		if err != nil && !errors.Is(err, errStopped) {
			return fmt.Errorf("shard %v: %w", r.Index, err)
		}
		return err
	})
}

// split yields the inner chunks of a chunk at an origin in the array.
func (x *splitter) split(ctx context.Context, c *chunk, depth int, origin []int64) error {
	level := x.level
	if depth > 0 {
		level = x.a.shards.levels[depth]
	}
	index, err := readShardIndex(ctx, level, c)
	if err != nil {
		return err
	}
	size, _ := level.Grid().ChunkShape()
	at := make([]int64, len(origin))
	for coords, stored := range index.Stored() {
		for k := range at {
			at[k] = origin[k] + coords[k]*size[k]
		}
		if depth+1 < len(x.a.shards.levels) {
			inner := &chunk{src: c.src, offset: c.offset + stored.Offset, size: stored.Length}
			if c.src == nil {
				inner.inline = c.inline[stored.Offset:stored.End()]
			}
			err = x.split(ctx, inner, depth+1, at)
		} else {
			err = x.emit(ctx, c, at, stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readShardIndex(ctx context.Context, level *codec.Shards, c *chunk) (*codec.ShardIndex, error) {
	at, err := level.IndexRange(c.size)
	if err != nil {
		return nil, err
	}
	var stored [1][]byte
	if err := c.ReadRanges(ctx, []codec.Range{at}, stored[:]); err != nil {
		return nil, err
	}
	return level.Index(stored[0], c.size)
}

// emit yields an innermost chunk. Shards have their full shape, so those at the edge can contain
// chunks outside the array, which are skipped.
func (x *splitter) emit(ctx context.Context, c *chunk, at []int64, stored codec.Range) error {
	cut := x.a.shards.grid
	size, _ := cut.ChunkShape()
	for k := range at {
		n := at[k] / size[k]
		if n >= cut.Counts()[k] {
			return nil
		}
		x.ref.Index[k] = uint64(n)
	}
	x.ref.Offset, x.ref.Size = c.offset+stored.Offset, uint64(stored.Length)
	if c.src == nil {
		x.ref.Offset = 0
		x.ref.Other = &readers.Other{Inline: c.inline[stored.Offset:stored.End()]}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if !x.yield(&x.ref, nil) {
		return errStopped
	}
	return nil
}
