package mosaic

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/grid"
	"varve/manifest"
)

// RefReader reads rows of the table of refs.
type RefReader interface {
	// ReadRefs fills dst with the refs from a row on.
	ReadRefs(ctx context.Context, row int64, dst []manifest.Ref) error
}

// Location is where the bytes of a declared chunk are. Of one that is Missing or Rebuilt
// only Coords and Kind are set.
type Location struct {
	Coords       []int64
	Kind         Kind
	Source       int64 // row of the source that Offset is in; -1 if the bytes are Inline
	Inline       int64 // row in the table of inline bytes that Offset is in; -1 if they are not there
	Offset, Size int64
}

// Locations yields every chunk in a box of chunk coordinates, in C order. The Location is
// overwritten by the next; an error ends it.
func (m *Mosaic) Locations(ctx context.Context, refs RefReader, chunks grid.Region) iter.Seq2[*Location, error] {
	return func(yield func(*Location, error) bool) {
		w, err := m.grid.WalkChunks(chunks)
		if err != nil {
			yield(nil, m.wrap(err))
			return
		}
		b := &batch{m: m, refs: refs, locator: m.Locator()}
		for more := true; more; {
			if more, err = b.gather(ctx, w); err != nil {
				yield(nil, err)
				return
			}
			for i := range b.places {
				if err = b.resolve(ctx, i); err != nil {
					yield(nil, err)
					return
				}
				if !yield(&b.out, nil) {
					return
				}
			}
		}
	}
}

// Count counts the array's chunks by how they are served.
func (m *Mosaic) Count(ctx context.Context, refs RefReader) (c manifest.Counts, err error) {
	for l, err := range m.Locations(ctx, refs, grid.Whole(m.grid.Counts())) {
		if err != nil {
			return c, err
		}
		switch l.Kind {
		case Missing:
			c.Missing++
		case Verbatim:
			c.Verbatim++
		case Prefix:
			c.Prefix++
		case Rebuilt:
			c.Rebuilt++
		}
	}
	return c, nil
}

// Find says where one chunk is.
func (m *Mosaic) Find(ctx context.Context, refs RefReader, coords []int64) (Location, error) {
	p, err := m.Locate(coords)
	if err != nil {
		return Location{}, err
	}
	b := batch{m: m, refs: refs, places: []Place{p}, coords: slices.Clone(coords), got: make([]manifest.Ref, 1)}
	if p.Row >= 0 {
		if err := refs.ReadRefs(ctx, p.Row, b.got); err != nil {
			return Location{}, m.wrap(err)
		}
	}
	if err := b.resolve(ctx, 0); err != nil {
		return Location{}, err
	}
	return b.out, nil
}

func noChunk(coords []int64, g *grid.Grid) error {
	return fmt.Errorf("chunk %v: %w: there are %v", coords, grid.ErrOutOfBounds, g.Counts())
}

// batch is some chunks whose refs are read together.
type batch struct {
	m       *Mosaic
	refs    RefReader
	locator *Locator
	places  []Place
	coords  []int64 // of all of them
	got     []manifest.Ref
	room    []manifest.Ref
	out     Location
}

const (
	batchSize = 1024
	// maxSkip is how many refs are read for nothing to have one read instead of two.
	maxSkip = 32
)

// gather places the next chunks and reads the refs that decide about them. It reports
// whether there may be more.
func (b *batch) gather(ctx context.Context, w *grid.Walker) (more bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	b.places, b.coords = b.places[:0], b.coords[:0]
	for len(b.places) < batchSize {
		if more = w.Next(); !more {
			break
		}
		p, err := b.locator.Place(&w.Chunk)
		if err != nil {
			return false, err
		}
		b.places = append(b.places, p)
		b.coords = append(b.coords, w.Coords...)
	}
	return more, b.read(ctx)
}

// read reads the refs of all places, rows that are near each other at once.
func (b *batch) read(ctx context.Context) error {
	b.got = slices.Grow(b.got[:0], len(b.places))[:len(b.places)]
	for i := 0; i < len(b.places); {
		first := b.places[i].Row
		if first < 0 {
			i++
			continue
		}
		last, end := first, i+1
		for ; end < len(b.places); end++ {
			row := b.places[end].Row
			if row >= 0 && (row < last || row > last+maxSkip || row-first >= batchSize) {
				break
			}
			last = max(last, row)
		}
		n := int(last - first + 1)
		b.room = slices.Grow(b.room[:0], n)[:n]
		run := b.room
		if err := b.refs.ReadRefs(ctx, first, run); err != nil {
			return b.m.wrap(err)
		}
		for ; i < end; i++ {
			if row := b.places[i].Row; row >= 0 {
				b.got[i] = run[row-first]
			}
		}
	}
	return nil
}

// resolve sets out to the location of a chunk of the batch.
func (b *batch) resolve(ctx context.Context, i int) (err error) {
	rank := b.m.grid.Rank()
	p, ref := &b.places[i], b.got[i]
	b.out = Location{Coords: b.coords[i*rank : (i+1)*rank], Kind: p.Kind, Source: -1, Inline: -1}
	if p.Kind == Missing {
		return nil
	}
	if p.Row >= 0 && ref.Stored() {
		if p.Kind != Rebuilt && p.fit.accepts(p, b.out.Coords, ref) {
			b.locate(p, ref)
			return nil
		}
		b.out.Kind = Rebuilt
		return nil
	}
	if p.Kind == Rebuilt || !p.fit.sameFill {
		b.out.Kind, err = b.m.emptiness(ctx, b.refs, b.out.Coords)
		return err
	}
	b.out.Kind = Missing
	return nil
}

// accepts reports whether what a ref says keeps a chunk what its place made it.
func (f *Fit) accepts(p *Place, coords []int64, ref manifest.Ref) bool {
	strided := f.Variable.Storage.Layout == manifest.Strided
	if p.size >= 0 && !strided && (p.offset > ref.Size || p.size > ref.Size-p.offset) {
		return false
	}
	mask := f.mask(ref.Mask, p.reaches)
	if mask == f.mask(0, p.reaches) {
		return p.same
	}
	c, ok := f.m.grid.Chunk(coords)
	return ok && f.isSame(c.Codec, mask)
}

func (b *batch) locate(p *Place, ref manifest.Ref) {
	b.out.Offset, b.out.Size = p.offset, p.size
	if p.size < 0 {
		b.out.Size = ref.Size
	}
	if row, ok := ref.Inline(); ok {
		b.out.Inline = row
		return
	}
	b.out.Offset += ref.Offset
	b.out.Source = b.m.SourceOf(p.Tile, ref)
}

// SourceOf is the row of the source that the offset of a tile's ref is in.
func (m *Mosaic) SourceOf(tile int32, ref manifest.Ref) int64 {
	if ref.Other > 0 {
		return int64(ref.Other) - 1
	}
	return m.layout.file(tile)
}

// emptiness is Missing for a chunk in which nothing was ever written and that reads as the
// face's fill all over, else Rebuilt.
func (m *Mosaic) emptiness(ctx context.Context, refs RefReader, coords []int64) (Kind, error) {
	c, ok := m.grid.Chunk(coords)
	if !ok {
		return Missing, m.wrap(noChunk(coords, m.grid))
	}
	var ref [1]manifest.Ref
	for p, err := range m.Parts(c.Region) {
		if err != nil {
			return Rebuilt, err
		}
		if !p.Fit.sameFill {
			return Rebuilt, nil
		}
		if p.Row < 0 {
			continue
		}
		if err := refs.ReadRefs(ctx, p.Row, ref[:]); err != nil {
			return Rebuilt, m.wrap(err)
		}
		if ref[0].Stored() {
			return Rebuilt, nil
		}
	}
	return Missing, nil
}
