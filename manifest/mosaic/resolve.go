package mosaic

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/grid"
	"varve/manifest"
)

// Location is where the bytes of a declared chunk are. Of one that is Missing or Re-encoded
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
		for r, err := range m.Runs(ctx, refs, chunks) {
			if err != nil {
				yield(nil, err)
				return
			}
			for l := range r.Locations(chunks) {
				if !yield(l, nil) {
					return
				}
			}
		}
	}
}

// Count counts the array's chunks by how they are served.
func (m *Mosaic) Count(ctx context.Context, refs RefReader) (manifest.Counts, error) {
	return m.CountIn(ctx, refs, grid.Whole(m.grid.Counts()))
}

// CountIn counts the chunks in a box of chunk coordinates. It does not read rows that refs, if
// they are a PlainReader, know to be plain.
func (m *Mosaic) CountIn(ctx context.Context, refs RefReader, chunks grid.Region) (c manifest.Counts, err error) {
	l := &lister{m: m, refs: refs, yield: func(r *Run) bool {
		r.Kind.AddTo(&c, r.Chunks)
		return true
	}}
	l.plain, _ = refs.(PlainReader)
	err = l.list(ctx, chunks)
	return c, err
}

// Find says where one chunk is.
func (m *Mosaic) Find(ctx context.Context, refs RefReader, coords []int64) (Location, error) {
	p, err := m.Locate(ctx, coords)
	if err != nil {
		return Location{}, err
	}
	at := Location{Coords: slices.Clone(coords), Kind: p.Kind, Source: -1, Inline: -1}
	c, _ := m.grid.Chunk(coords)
	if p.Row < 0 {
		if p.Kind == Reencoded {
			at.Kind, err = m.emptiness(ctx, refs, c.Region)
		}
		return at, err
	}
	var read manifest.RefColumns
	if err := refs.ReadColumns(ctx, p.Row, 1, &read); err != nil {
		return Location{}, m.wrap(err)
	}
	ref := read.At(0)
	r := p.resolve(ref, c.Codec)
	at.Kind, at.Source, at.Inline = r.Kind, r.Source, r.Inline
	if r.Kind == Verbatim || r.Kind == Prefix {
		at.Offset, at.Size = p.bytesOf(ref)
	}
	return at, nil
}

func noChunk(coords []int64, g *grid.Grid) error {
	return fmt.Errorf("chunk %v: %w: there are %v", coords, grid.ErrOutOfBounds, g.Counts())
}

// resolve is what becomes, with its ref, of a chunk of a codec shape that has one: a run
// of it without Offsets and Sizes.
func (p *Place) resolve(ref manifest.Ref, codec []int64) Run {
	r := Run{Kind: Reencoded, Source: -1, Inline: -1}
	switch {
	case !ref.Stored():
		if p.fit.sameFill {
			r.Kind = Missing
		}
	case p.Kind != Reencoded && p.accepts(ref, codec):
		r.Kind = p.Kind
		if row, ok := ref.Inline(); ok {
			r.Inline = row
		} else {
			r.Source = p.fit.m.SourceOf(p.Tile, ref)
		}
	}
	return r
}

// accepts reports whether what a ref says keeps a chunk what its place made it.
func (p *Place) accepts(ref manifest.Ref, codec []int64) bool {
	strided := p.fit.Variable.Storage.Layout == manifest.Strided
	if p.size >= 0 && !strided && (p.offset > ref.Size || p.size > ref.Size-p.offset) {
		return false
	}
	mask := p.fit.mask(ref.Mask, p.reaches)
	if mask == p.fit.mask(0, p.reaches) {
		return p.same
	}
	return p.fit.isSame(codec, mask)
}

// bytesOf is where the chunk's bytes are in the source, or in the inline bytes, of a ref.
func (p *Place) bytesOf(ref manifest.Ref) (offset, size int64) {
	if offset, size = p.offset, p.size; size < 0 {
		size = ref.Size
	}
	if _, ok := ref.Inline(); !ok {
		offset += ref.Offset
	}
	return offset, size
}

// SourceOf is the row of the source that the offset of a tile's ref is in.
func (m *Mosaic) SourceOf(tile int32, ref manifest.Ref) int64 {
	if ref.Other > 0 {
		return int64(ref.Other) - 1
	}
	return m.layout.file(tile)
}

// emptiness is Missing for a chunk in which nothing was ever written and that reads as the
// schema's fill all over, else Re-encoded.
func (m *Mosaic) emptiness(ctx context.Context, refs RefReader, chunk grid.Region) (Kind, error) {
	var read manifest.RefColumns
	for p, err := range m.Parts(ctx, chunk) {
		if err != nil {
			return Reencoded, err
		}
		if !p.Fit.sameFill {
			return Reencoded, nil
		}
		if p.Row < 0 {
			continue
		}
		if err := refs.ReadColumns(ctx, p.Row, 1, &read); err != nil {
			return Reencoded, m.wrap(err)
		}
		if ref := read.At(0); ref.Stored() {
			return Reencoded, nil
		}
	}
	return Missing, nil
}
