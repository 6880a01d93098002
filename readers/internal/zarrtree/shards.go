package zarrtree

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/readers"
)

// shards describes how stored chunks split into the innermost chunks that can be read separately.
//
//	chunk of the grid      levels[0]        levels[1]
//	├─────────────────┼───┤ inner │ inner ─┤ inner │ inner
//
// Chunks of the grid may have several shapes. Their inner chunks have one shape, since they divide the
// chunk around them, unless the array clips inner chunks (version 1.1 of sharding).
type shards struct {
	levels   []*codec.Shards // of the first chunk of the grid
	shapes   [][]int64       // of the chunks that levels split
	pipeline *codec.Pipeline // of the first innermost chunk
	grid     *grid.Grid      // of innermost chunks in the array
}

// newShards returns the shards of an array, or nil if its chunks cannot be split.
func newShards(g *grid.Grid, p *codec.Pipeline) (*shards, error) {
	if isPadded(g) {
		return nil, nil // the grid of inner chunks would have chunks without elements
	}
	layout, err := codec.DeclaredLayout(g, p)
	if err != nil {
		return nil, err
	}
	s := &shards{pipeline: p}
	for {
		level, err := s.pipeline.Shards()
		if err != nil {
			break // the error names the codec that prevents splitting
		}
		s.levels, s.shapes = append(s.levels, level), append(s.shapes, s.pipeline.Form().Shape)
		if s.pipeline, err = level.Pipeline(make([]int64, g.Rank())); err != nil {
			return nil, err
		}
	}
	if len(s.levels) == 0 {
		return nil, nil
	}
	s.grid, err = innermostGrid(g, layout.Levels()[1:len(s.levels)+1])
	return s, err
}

// isPadded reports whether chunks inside the array have a larger codec size than data size.
func isPadded(g *grid.Grid) bool {
	for axis := range g.Rank() {
		for run := range g.Dim(axis).Runs() {
			if run.Data != run.Codec {
				return true
			}
		}
	}
	return false
}

// maxInnerRuns limits the length of lists of inner chunks that do not divide their shards.
const maxInnerRuns = 1 << 20

// innermostGrid returns the grid of the innermost chunks of an array.
func innermostGrid(g *grid.Grid, levels []*codec.Layout) (*grid.Grid, error) {
	sizes := make([]grid.Sizes, g.Rank())
	for axis := range sizes {
		var inner []int64
		for _, level := range levels {
			size, _ := level.Chunks[axis].RegularSize() // the declared size, even if some chunks are clipped
			inner = append(inner, size)
		}
		edges, err := grid.InnerEdges(g.Dim(axis), inner...)
		if err != nil {
			return nil, err
		}
		var runs []grid.Run
		for run := range edges {
			if runs = append(runs, run); len(runs) > maxInnerRuns {
				return nil, fmt.Errorf("axis %d: inner chunks of more than %d runs of lengths: %w", axis, maxInnerRuns, errors.ErrUnsupported)
			}
		}
		switch len(runs) {
		case 0, 1: // chunks of one length, as in version 1.0; an axis without chunks has none
			sizes[axis] = grid.Every(inner[len(inner)-1])
			if len(runs) == 1 {
				sizes[axis] = grid.Every(runs[0].Codec)
			}
		default:
			sizes[axis] = grid.RunLength(runs...)
		}
	}
	return grid.FromSizes(g.Shape(), sizes...)
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
			err = x.split(ctx, c, x.level, 0, box.Origin)
		}
		if err != nil && !errors.Is(err, errStopped) {
			return fmt.Errorf("shard %v: %w", r.Index, err)
		}
		return err
	})
}

// split yields the inner chunks of a chunk at an origin in the array.
func (x *splitter) split(ctx context.Context, c *chunk, level *codec.Shards, depth int, origin []int64) error {
	index, err := readShardIndex(ctx, level, c)
	if err != nil {
		return err
	}
	at := make([]int64, len(origin))
	for coords, stored := range index.Stored() {
		for k := range at {
			offset, _ := level.Grid().Dim(k).Offset(coords[k])
			at[k] = origin[k] + offset
		}
		if depth+1 < len(x.a.shards.levels) {
			err = x.splitInner(ctx, c, level, depth+1, coords, at, stored)
		} else {
			err = x.emit(ctx, c, at, stored)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// splitInner splits an inner chunk, which is a shard itself.
func (x *splitter) splitInner(ctx context.Context, c *chunk, outer *codec.Shards, depth int, coords, origin []int64, stored codec.Range) error {
	level := x.a.shards.levels[depth]
	if box, ok := outer.Grid().Chunk(coords); ok && !slices.Equal(box.Codec, x.a.shards.shapes[depth]) { // a clipped one
		p, err := outer.Pipeline(coords)
		if err != nil {
			return err
		}
		if level, err = p.Shards(); err != nil {
			return err
		}
	}
	inner := &chunk{src: c.src, offset: c.offset + stored.Offset, size: stored.Length}
	if c.src == nil {
		inner.inline = c.inline[stored.Offset:stored.End()]
	}
	return x.split(ctx, inner, level, depth, origin)
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
	for k := range at {
		d := x.a.shards.grid.Dim(k)
		if at[k] >= d.Extent() {
			return nil
		}
		n, err := d.Find(at[k])
		if err != nil {
			return err
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
