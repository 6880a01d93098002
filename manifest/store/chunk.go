package store

import (
	"bytes"
	"context"
	"fmt"

	"varve/codec"
	"varve/grid"
	"varve/readers/source"
)

// Chunk returns the bytes of a declared chunk, as its key in a Zarr store would hold them:
// as they are stored, or re-encoded. It returns nil for a chunk that is Missing. Nobody may
// write to the bytes.
func (a *Array) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	l, err := a.Locate(ctx, coords)
	if err != nil {
		return nil, err
	}
	switch {
	case l.Kind == Missing:
		return nil, nil
	case l.Kind == Reencoded:
		return a.reencoded(ctx, coords)
	case l.Source < 0:
		return l.Inline, nil
	}
	return a.stored(ctx, &l)
}

// stored returns the bytes of a location in a source. Those of a server are asked for once by
// all who want them at a time, and kept, as what is re-encoded is.
func (a *Array) stored(ctx context.Context, l *Location) ([]byte, error) {
	far, err := a.isFar(ctx, l)
	if err != nil {
		return nil, err
	}
	if !far {
		return a.read(ctx, l, l.Offset, l.Size)
	}
	return a.store.Once(ctx, l.extent(), l.Offset, func() ([]byte, error) { return a.read(ctx, l, l.Offset, l.Size) })
}

// extent tells, with the offset, bytes of a source from all others, whichever array they are
// a chunk of.
type extent struct{ source, size int64 }

func (l *Location) extent() extent { return extent{l.Source, l.Size} }

func (a *Array) isFar(ctx context.Context, l *Location) (bool, error) {
	if a.store.patches.isFile(l.Source) {
		return false, nil
	}
	src, err := a.store.tables.Source(ctx, l.Source)
	return err == nil && isFar(src.URL), err
}

// ReadStored returns a part of a chunk that a source holds as it is declared, length bytes from
// the offset from on, and reads no more than that unless it cannot do without.
func (a *Array) ReadStored(ctx context.Context, l *Location, from, length int64) ([]byte, error) {
	if from < 0 || length < 0 || from > l.Size || length > l.Size-from {
		return nil, fmt.Errorf("%s: chunk %v: %d bytes from %d on of %d", a.Path(), l.Coords, length, from, l.Size)
	}
	if whole, ok := a.store.cache.peek(key{owner: l.extent(), number: l.Offset}); ok {
		return whole.Fixed[from : from+length], nil
	}
	if length < l.Size && !l.checked {
		return a.read(ctx, l, l.Offset+from, length)
	}
	whole, err := a.stored(ctx, l)
	if err != nil {
		return nil, err
	}
	return whole[from : from+length], nil
}

// read reads bytes of the source of a location.
func (a *Array) read(ctx context.Context, l *Location, offset, length int64) ([]byte, error) {
	taken, err := a.store.flight.take(ctx, length)
	if err != nil {
		return nil, err
	}
	defer a.store.flight.give(taken)
	h, err := a.store.sources.acquire(ctx, l.Source)
	if err != nil {
		return nil, err
	}
	b, err := readAt(ctx, h.Source, offset, length)
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

// re-encoded reads a declared chunk as a region and encodes it. What lies past the array's
// extent is fill, so that the bytes are always the same.
func (a *Array) reencoded(ctx context.Context, coords []int64) ([]byte, error) {
	number, _ := a.grid.Number(coords)
	return a.store.Once(ctx, a, number, func() ([]byte, error) { return a.reencode(ctx, coords) })
}

// Once returns what make makes, or has made before if it is still kept: one for all who want
// it at a time. Bytes are called by whom they belong to and a number. Nobody may write to them.
func (s *Store) Once(ctx context.Context, owner any, number int64, make func() ([]byte, error)) ([]byte, error) {
	e, err := s.cache.get(ctx, key{owner: owner, number: number}, func() (codec.Elems, error) {
		b, err := make()
		return codec.Elems{Fixed: b}, err
	})
	return e.Fixed, err
}

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
	if len(a.spec.Schema.Codecs) == 1 && isMemoryForm(p) { // what is read is the chunk
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

// readChunk reads a declared chunk with what lies past the array's extent.
func (a *Array) readChunk(ctx context.Context, c *grid.Chunk, e codec.Elems, form codec.Form) error {
	t := &target{window: newWindow(e, grid.Region{Origin: c.Origin, Shape: c.Codec}, form.Type), form: form}
	if !c.Region.Equal(t.region) {
		fillElems(e, a.fill())
	}
	return a.readTargets(ctx, func(add func(*target, grid.Region) error) error { return add(t, c.Region) })
}

// isMemoryForm reports whether a stored chunk is its elements as they are in memory.
func isMemoryForm(p *codec.Pipeline) bool {
	memory, err := codec.New([]codec.Spec{{Name: "bytes", Config: []byte(`{"endian":"little"}`)}}, p.Form())
	return err == nil && !p.Form().Type.Varies() && p.SameDecode(memory)
}

// encode returns bytes that take no more memory than they need. How many they are is often
// known only afterwards.
func (s *Store) encode(p *codec.Pipeline, e codec.Elems) ([]byte, error) {
	if n, ok := p.EncodedSize(); ok {
		return p.Encode(make([]byte, 0, n), e)
	}
	room := s.buffers.get(len(e.Fixed))
	defer room.release()
	b, err := p.Encode(room.bytes[:0], e)
	return bytes.Clone(b), err
}
