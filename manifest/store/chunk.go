package store

import (
	"context"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/readers/source"
)

// maxChunk is the largest declared chunk that is rebuilt.
const maxChunk = 4 << 30

// Chunk returns the bytes of a declared chunk, as its key in a Zarr store would hold them:
// as they are stored, or rebuilt. It returns nil for a chunk that is Missing. Nobody may
// write to the bytes.
func (a *Array) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	l, err := a.Locate(ctx, coords)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Kind == Missing:
		return nil, nil
	case l.Kind == Rebuilt:
		return a.rebuilt(ctx, coords)
	case l.Source < 0:
		return l.Inline, nil
	}
	return a.stored(ctx, &l)
}

// stored reads the bytes of a location from its source.
func (a *Array) stored(ctx context.Context, l *Location) ([]byte, error) {
	taken, err := a.store.flight.take(ctx, l.Size)
	if err != nil {
		return nil, err
	}
	defer a.store.flight.give(taken)
	h, err := a.store.sources.acquire(ctx, l.Source)
	if err != nil {
		return nil, err
	}
	b, err := readAt(ctx, h.Source, l.Offset, l.Size)
	if err == nil && l.checked {
		err = checkSum(b, l.checksum)
	}
	a.store.sources.release(h, err)
	if err != nil {
		return nil, a.blame(h.Source, fmt.Errorf("chunk %v: %w", l.Coords, err))
	}
	return b, nil
}

// readAt allocates no more than the source has.
func readAt(ctx context.Context, src *source.Source, off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || n > src.Size()-off {
		return nil, &source.RangeError{Source: src.Name(), Offset: off, Length: n, Size: src.Size()}
	}
	b := make([]byte, n)
	_, err := src.ReadAt(ctx, b, off)
	return b, err
}

// rebuilt reads a declared chunk as a region and encodes it. What lies past the array's
// extent is fill, so that the bytes are always the same.
func (a *Array) rebuilt(ctx context.Context, coords []int64) ([]byte, error) {
	number, _ := a.grid.Number(coords)
	e, err := a.store.cache.get(ctx, key{array: a, number: number}, func() (codec.Elems, error) {
		b, err := a.rebuild(ctx, coords)
		return codec.Elems{Fixed: b}, err
	})
	return e.Fixed, err
}

func (a *Array) rebuild(ctx context.Context, coords []int64) ([]byte, error) {
	c, err := a.chunk(coords)
	if err != nil {
		return nil, err
	}
	p, err := a.Pipeline(coords)
	if err != nil {
		return nil, err
	}
	form := p.Form()
	if n := form.Bytes(); n < 0 || n > maxChunk || form.Count() > maxChunk/8 {
		return nil, fmt.Errorf("%s: chunk %v: %w", a.Path(), coords, errTooLarge)
	}
	e, room := a.store.elems(form)
	defer room.release()
	t := &target{window: newWindow(e, grid.Region{Origin: c.Origin, Shape: c.Codec}, form.Type), form: form}
	if !c.Region.Equal(t.region) {
		fillElems(e, a.fill())
	}
	err = a.readTargets(ctx, func(add func(*target, grid.Region) error) error { return add(t, c.Region) })
	if err != nil {
		return nil, err
	}
	b, err := p.Encode(make([]byte, 0, len(e.Fixed)/4), e)
	if err != nil {
		return nil, fmt.Errorf("%s: chunk %v: %w", a.Path(), coords, err)
	}
	return b, nil
}
