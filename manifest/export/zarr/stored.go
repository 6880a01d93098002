package zarr

import (
	"context"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
)

// sharded reports whether this export creates the shards.
func (t *target) sharded() bool {
	return !t.whole && len(t.schema.Codecs) == 1 && t.schema.Codecs[0].IsSharding()
}

// coincides returns the source chunk with exactly the elements of a region. If chunks within source shards
// are copied, it returns the shard that contains the region.
func (t *target) coincides(region grid.Region, shape []int64) ([]int64, bool) {
	if t.reencodesAll {
		return nil, false
	}
	g := t.source.Grid()
	coords, _, err := g.Locate(region.Origin)
	if err != nil {
		return nil, false
	}
	c, ok := g.Chunk(coords)
	if t.apart {
		return coords, ok && c.Contains(region)
	}
	return coords, ok && c.Region.Equal(region) && sameShape(c.Codec, shape)
}

// shard is an open shard of the source.
type shard struct {
	coords []int64
	chunk  grid.Chunk
	parts  *codec.Shards
	stored storedChunk
	index  *codec.ShardIndex // nil if the shard is missing
}

// storedChunk has the encoded bytes of a chunk as a manifest serves them, nil if all elements are fill values.
type storedChunk struct {
	bytes       []byte
	isReencoded bool // not those of the source
}

// stored returns a region as the manifest serves it, if it serves the region as one chunk of the given shape.
func (w *work) stored(ctx context.Context, region grid.Region, shape []int64) (c storedChunk, ok bool, err error) {
	coords, ok := w.target.coincides(region, shape)
	if !ok {
		return c, false, nil
	}
	if !w.target.apart {
		c, err = w.whole(ctx, coords)
		return c, err == nil, err
	}
	if err := w.openShard(ctx, coords); err != nil {
		return c, false, err
	}
	return w.shard.part(region, shape)
}

// whole returns a chunk of the manifest.
func (w *work) whole(ctx context.Context, coords []int64) (storedChunk, error) {
	l, err := w.target.source.Locate(ctx, coords)
	if err != nil {
		return storedChunk{}, err
	}
	b, err := w.target.source.Chunk(ctx, coords)
	return storedChunk{b, l.Kind == manifest.Reencoded}, err
}

func (w *work) openShard(ctx context.Context, coords []int64) error {
	if w.shard.parts != nil && slices.Equal(w.shard.coords, coords) {
		return nil
	}
	w.shard = shard{coords: slices.Clone(coords)}
	p, err := w.target.source.Pipeline(coords)
	if err != nil {
		return err
	}
	parts, err := p.Shards()
	if err != nil {
		return err
	}
	if w.shard.stored, err = w.whole(ctx, coords); err != nil {
		return err
	}
	if stored := w.shard.stored.bytes; stored != nil {
		if w.shard.index, err = readIndex(parts, stored); err != nil {
			return err
		}
	}
	w.shard.chunk, _ = w.target.source.Grid().Chunk(coords)
	w.shard.parts = parts
	return nil
}

func readIndex(parts *codec.Shards, stored []byte) (*codec.ShardIndex, error) {
	size := int64(len(stored))
	at, err := parts.IndexRange(size)
	if err != nil {
		return nil, err
	}
	return parts.Index(stored[at.Offset:at.End()], size)
}

// part returns the encoded inner chunk with exactly the elements of a region.
func (s *shard) part(region grid.Region, shape []int64) (c storedChunk, ok bool, err error) {
	within := region.Clone()
	within.Shift(s.chunk.Origin)
	coords, _, err := s.parts.Grid().Locate(within.Origin)
	if err != nil {
		return c, false, err
	}
	inner, ok := s.parts.Grid().Chunk(coords)
	if !ok || !sameShape(inner.Codec, shape) {
		return c, false, nil
	}
	counts := grid.MakeRegion(region.Rank())
	if counts.Intersect(inner.Region, grid.Whole(s.chunk.Shape)); !counts.Equal(within) {
		return c, false, nil
	}
	if s.index == nil {
		return c, true, nil
	}
	at, ok := s.index.At(coords)
	if !ok {
		return c, true, nil
	}
	return storedChunk{s.stored.bytes[at.Offset:at.End()], s.stored.isReencoded}, true, nil
}

// assemble creates a shard and copies inner chunks from the source where possible; ok is false if none can be
// copied.
func (w *work) assemble(ctx context.Context, at *grid.Walker) (b []byte, ok bool, err error) {
	p, err := w.target.pipeline(at.Codec)
	if err != nil {
		return nil, false, err
	}
	parts, err := p.Shards()
	if err != nil {
		return nil, false, err
	}
	if !w.target.worthwhile(at, parts.Grid()) {
		return nil, false, nil
	}
	hasNew := false
	b, err = parts.Assemble(func(inner *grid.Walker) ([]byte, error) {
		part, err := w.innerChunk(ctx, at, inner, parts)
		hasNew = hasNew || part.isReencoded
		return part.bytes, err
	})
	switch {
	case b == nil || err != nil:
	case hasNew:
		w.counts.encoded.Add(1)
	default:
		w.verbatim.Add(1)
	}
	return b, err == nil, err
}

// worthwhile reports whether any inner chunk of a shard may be copied from the source.
func (t *target) worthwhile(at *grid.Walker, parts *grid.Grid) bool {
	for inner := parts.Walk(); inner.Next(); {
		if region := inArray(at, inner); !region.IsEmpty() {
			if _, ok := t.coincides(region, inner.Codec); ok {
				return true
			}
		}
	}
	return false
}

// inArray returns the part of an inner chunk inside the array, in the array's coordinates.
func inArray(at, inner *grid.Walker) grid.Region {
	region := inner.Region.Clone()
	for axis := range region.Origin {
		region.Origin[axis] += at.Region.Origin[axis]
	}
	region.Intersect(region, at.Region)
	return region
}

// innerChunk returns the bytes of an inner chunk, empty if it has only fill values or is outside the array.
func (w *work) innerChunk(ctx context.Context, at, inner *grid.Walker, parts *codec.Shards) (storedChunk, error) {
	region := inArray(at, inner)
	if region.IsEmpty() {
		return storedChunk{}, nil
	}
	c, ok, err := w.stored(ctx, region, inner.Codec)
	if ok || err != nil {
		if !c.isReencoded {
			w.inner.Add(int64(min(len(c.bytes), 1)))
		}
		return c, err
	}
	p, err := parts.Pipeline(inner.Coords)
	if err != nil {
		return storedChunk{}, err
	}
	elems, err := w.elements(ctx, p, region)
	if err != nil || p.Form().IsFill(elems) {
		return storedChunk{}, err
	}
	b, err := p.Encode(nil, elems)
	return storedChunk{b, true}, err
}
