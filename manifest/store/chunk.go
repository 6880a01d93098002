package store

import (
	"bytes"
	"context"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/readers/source"
)

// Chunk returns the bytes of a declared chunk, as a Zarr store would have them under the chunk's key: the
// stored bytes or, if they do not match the schema, re-encoded bytes. It returns nil for a Missing chunk. The
// caller must not change the bytes.
func (a *Array) Chunk(ctx context.Context, coords []int64) (b []byte, err error) {
	if trace := a.store.trace; trace != nil {
		var end func(error)
		ctx, end = trace(ctx, source.Operation{Name: "store.chunk", Object: a.Path()})
		defer func() { end(err) }()
	}
	l, err := a.Locate(ctx, coords)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Kind == manifest.Missing:
		return nil, nil
	case l.Kind == manifest.Reencoded:
		return a.reencodeOnce(ctx, coords)
	case l.Source < 0:
		return l.Inline, nil
	}
	return a.readSource(ctx, &l)
}

// readSource returns the bytes of a location in a source. Bytes from a server are cached, and concurrent
// requests for them share one download, as for re-encoded chunks.
func (a *Array) readSource(ctx context.Context, l *manifest.Location) ([]byte, error) {
	src, err := a.store.Source(ctx, l.Source)
	if err != nil {
		return nil, err
	}
	if a.store.patches.isFile(l.Source) || !isFar(src.URL) {
		return a.read(ctx, l, src, l.Offset, l.Size)
	}
	return a.store.Once(ctx, extent{l.Source, l.Size}, l.Offset, func() ([]byte, error) { return a.read(ctx, l, src, l.Offset, l.Size) })
}

// extent is a part of the key of cached bytes of a source; the offset is the other part. It does not contain
// the array, so that arrays can share the bytes.
type extent struct{ source, size int64 }

// ReadStored returns a part of a Verbatim chunk: length bytes from offset from in the chunk. It reads only this
// part, without verifying the checksum of the chunk. A compacted chunk is always read as a whole and verified.
func (a *Array) ReadStored(ctx context.Context, l *manifest.Location, from, length int64) ([]byte, error) {
	if from < 0 || length < 0 || from > l.Size || length > l.Size-from {
		return nil, fmt.Errorf("%s: chunk %v: range of %d bytes at %d is outside the chunk of %d bytes", a.Path(), l.Coords, length, from, l.Size)
	}
	if whole, ok := a.store.cache.peek(key{owner: extent{l.Source, l.Size}, number: l.Offset}); ok {
		return whole.Fixed[from : from+length], nil
	}
	if length < l.Size && !l.Compacted {
		src, err := a.store.Source(ctx, l.Source)
		if err != nil {
			return nil, err
		}
		return a.read(ctx, l, src, l.Offset+from, length)
	}
	whole, err := a.readSource(ctx, l)
	if err != nil {
		return nil, err
	}
	return whole[from : from+length], nil
}

// read reads bytes of the source of a location, and verifies the checksum if there is one.
func (a *Array) read(ctx context.Context, l *manifest.Location, src manifest.Source, offset, length int64) ([]byte, error) {
	taken, err := a.store.flight.take(ctx, length)
	if err != nil {
		return nil, err
	}
	defer a.store.flight.give(taken)
	h, err := a.store.sources.acquire(ctx, l.Source, src)
	if err != nil {
		return nil, err
	}
	b, err := readAt(ctx, h.Source, offset, length)
	if err == nil && length == l.Size {
		err = verifyLocation(b, l)
	}
	a.store.sources.release(h, err)
	if err != nil {
		return nil, a.blame(h.Source, fmt.Errorf("chunk %v: %w", l.Coords, err))
	}
	return b, nil
}

// readAt reads n bytes. It checks the range before it allocates memory, because a wrong ref may have any size.
func readAt(ctx context.Context, src *source.Source, off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || n > src.Size()-off {
		return nil, &source.RangeError{Source: src.Name(), Offset: off, Length: n, Size: src.Size()}
	}
	b := make([]byte, n)
	_, err := src.ReadAt(ctx, b, off)
	return b, err
}

// reencodeOnce returns the bytes of a re-encoded chunk from the cache, or makes them.
func (a *Array) reencodeOnce(ctx context.Context, coords []int64) ([]byte, error) {
	number, _ := a.grid.Number(coords)
	return a.store.Once(ctx, a, number, func() ([]byte, error) { return a.reencode(ctx, coords) })
}

// Once returns the bytes for an owner and a number from the cache. If the cache does not have them, it calls
// make and adds the result. Concurrent calls for the same owner and number share one call of make. The caller
// must not change the bytes.
func (s *Store) Once(ctx context.Context, owner any, number int64, make func() ([]byte, error)) ([]byte, error) {
	e, err := s.cache.get(ctx, key{owner: owner, number: number}, func() (codec.Elems, error) {
		b, err := make()
		return codec.Elems{Fixed: b}, err
	})
	return e.Fixed, err
}

// reencode reads a declared chunk as a region and encodes it. Elements beyond the array's shape get the fill
// value, so that the bytes are the same each time.
func (a *Array) reencode(ctx context.Context, coords []int64) ([]byte, error) {
	c, err := a.chunk(coords)
	if err != nil {
		return nil, err
	}
	p, err := a.Pipeline(coords)
	if err != nil {
		return nil, err
	}
	form := p.Form()
	if err := form.CheckSize(); err != nil {
		return nil, fmt.Errorf("%s: chunk %v: %w", a.Path(), coords, err)
	}
	// Without any encoding, read directly into the bytes of the result.
	if p.IsMemoryForm() {
		e := codec.NewElems(form)
		return e.Fixed, a.readChunk(ctx, &c, e, form)
	}
	e, room := a.store.elems(form)
	defer room.release()
	if err := a.readChunk(ctx, &c, e, form); err != nil {
		return nil, err
	}
	b, err := a.store.encode(p, e)
	if err != nil {
		return nil, fmt.Errorf("%s: chunk %v: %w", a.Path(), coords, err)
	}
	return b, nil
}

// readChunk reads a declared chunk. Elements beyond the array's shape get the fill value.
func (a *Array) readChunk(ctx context.Context, c *grid.Chunk, e codec.Elems, form codec.Form) error {
	t := &target{window: newWindow(e, grid.Region{Origin: c.Origin, Shape: c.Codec}, form.Type), form: form}
	if !c.Region.Equal(t.region) {
		fillElems(e, a.fill())
	}
	return a.readTargets(ctx, func(add func(*target, grid.Region) error) error { return add(t, c.Region) })
}

// encode encodes elements into a slice without spare capacity, because results stay in the cache. If the
// size is unknown before encoding, it encodes into a buffer and copies the result.
func (s *Store) encode(p *codec.Pipeline, e codec.Elems) ([]byte, error) {
	if n, ok := p.EncodedSize(); ok {
		return p.Encode(make([]byte, 0, n), e)
	}
	room := s.buffers.get(len(e.Fixed))
	defer room.release()
	b, err := p.Encode(room.bytes[:0], e)
	return bytes.Clone(b), err
}
