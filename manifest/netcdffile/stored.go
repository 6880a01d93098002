package netcdffile

import (
	"context"
	"fmt"
	"math"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/regular"
	"varve/manifest/store"
)

// arrayChunks are the chunks of an array of the dataset.
type arrayChunks struct {
	array *store.Array
	plain *regular.Array // the array without filters, in chunks of one shape
	size  int64          // of a chunk without filters
	// isVerbatim is set if the array has the chunks and filters that the variable declares. Then stored chunks are used as they
	// are.
	isVerbatim bool
	skipAll    uint32 // the filter mask of a chunk without filters
	// isComplete is set if the format has no chunks that are not stored, or reads other values for them.
	isComplete bool
	most       int64 // the largest size of a verbatim chunk; larger ones are decoded

	recent *recent
}

// noFilters chooses the codec of elements one after another, in a byte order.
func noFilters(order string) regular.CodecChooser {
	return func([]codec.Spec, codec.Form) ([]codec.Spec, bool, error) {
		return []codec.Spec{codec.InOrder(order)}, false, nil
	}
}

func (a *arrayChunks) window(ctx context.Context, first int64) ([]chunk, error) {
	if list, ok := a.recent.window(a, first); ok {
		return list, nil
	}
	list := make([]chunk, 0, min(window, a.plain.Grid().Chunks()-first))
	err := a.each(ctx, first, int64(cap(list)), func(c chunk) { list = append(list, c) })
	if err != nil {
		return nil, err
	}
	a.recent.keepWindow(a, first, list)
	return list, nil
}

// each calls do with n chunks, in order.
func (a *arrayChunks) each(ctx context.Context, first, n int64, do func(chunk)) error {
	for _, box := range boxes(a.plain.Grid().Counts(), first, n) {
		if !a.isVerbatim {
			if err := a.eachPlain(ctx, box, do); err != nil {
				return err
			}
			continue
		}
		for l, err := range manifest.LocationsOf(a.array.Runs(ctx, box), box) {
			if err != nil {
				return err
			}
			do(a.chunk(l))
		}
	}
	return nil
}

// eachPlain calls do with the chunks of a box, which are decoded.
func (a *arrayChunks) eachPlain(ctx context.Context, box grid.Region, do func(chunk)) error {
	at, more := slices.Clone(box.Origin), !box.IsEmpty()
	for ; more; more = box.Next(at) {
		is := a.isComplete
		if !is {
			c, err := a.plain.Grid().ChunkAt(at)
			if err == nil {
				is, err = a.array.HasStored(ctx, c.Region)
			}
			if err != nil {
				return err
			}
		}
		if !is {
			do(chunk{})
			continue
		}
		do(chunk{size: a.size, mask: a.skipAll})
	}
	return nil
}

// chunk returns the chunk at a location of the array.
func (a *arrayChunks) chunk(l *manifest.Location) chunk {
	switch {
	case l.Kind == manifest.Missing && !a.isComplete:
		return chunk{}
	case l.Kind == manifest.Verbatim && l.Source >= 0 && l.Size <= a.most && (a.skipAll != 0 || l.Size == a.size) && l.Size > 0:
		own := *l
		own.Coords = slices.Clone(l.Coords)
		return chunk{size: l.Size, from: &own}
	}
	return chunk{size: a.size, mask: a.skipAll}
}

func (a *arrayChunks) read(ctx context.Context, number int64, c *chunk, b []byte, off int64) error {
	if l, ok := c.from.(*manifest.Location); ok {
		data, err := a.array.ReadStored(ctx, l, off, int64(len(b)))
		copy(b, data)
		return err
	}
	if data := a.recent.chunk(a, number); data != nil {
		copy(b, data[off:])
		return nil
	}
	coords := make([]int64, a.plain.Grid().Rank())
	a.plain.Grid().Coords(number, coords)
	data, err := a.array.Store().Once(ctx, a, number, func() ([]byte, error) { return a.plain.Chunk(ctx, coords) })
	if err != nil {
		return err
	}
	if int64(len(data)) != a.size {
		return fmt.Errorf("%s: chunk %v: %d bytes, want %d: %w", a.array.Path(), coords, len(data), a.size, codec.ErrCorrupt)
	}
	a.recent.keepChunk(a, number, data)
	copy(b, data[off:])
	return nil
}

// boxes returns boxes of chunk coordinates that together have n chunks, from one on, in row order.
func boxes(counts []int64, first, n int64) (out []grid.Region) {
	rank := len(counts)
	for n > 0 {
		// The box is full along the axes behind k, and begins at the chunk.
		r := grid.MakeRegion(rank)
		rest, size := first, int64(1)
		for k := rank - 1; k >= 0; k-- {
			r.Origin[k], r.Shape[k] = rest%counts[k], 1
			rest /= counts[k]
		}
		for k := rank - 1; k >= 0; k-- {
			r.Shape[k] = min(counts[k]-r.Origin[k], n/size)
			size *= r.Shape[k]
			if r.Shape[k] < counts[k] {
				break
			}
		}
		out = append(out, r)
		first, n = first+size, n-size
	}
	return out
}

// textChunks is the one chunk of a variable of texts, whose elements are in memory.
type textChunks struct{ data []byte }

func (t *textChunks) window(context.Context, int64) ([]chunk, error) {
	return []chunk{{size: int64(len(t.data))}}, nil
}

func (t *textChunks) read(_ context.Context, _ int64, _ *chunk, b []byte, off int64) error {
	copy(b, t.data[off:])
	return nil
}

// Limits of chunks.
const (
	maxChunk   = math.MaxUint32 // of HDF5
	maxPlain   = 64 << 20       // a larger chunk without filters is divided
	plainChunk = 16 << 20       // into chunks of this size
)

// divided returns the shape of chunks with at most limit bytes.
func divided(shape []int64, unit, limit int64) []int64 {
	shape = slices.Clone(shape)
	size := float64(unit)
	for _, n := range shape {
		size *= float64(n)
	}
	for k := 0; k < len(shape) && size > float64(limit); k++ {
		n := max(int64(float64(shape[k])*float64(limit)/size), 1)
		size = size / float64(shape[k]) * float64(n)
		shape[k] = n
	}
	return shape
}
