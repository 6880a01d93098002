package mosaic

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/grid"
	"varve/manifest"
)

// Location is the location of a declared chunk's bytes. For a Missing or Reencoded chunk only Coords and
// Kind are set.
type Location struct {
	Coords       []int64
	Kind         Kind
	Source       int64 // row of the source that Offset is in; -1 if the bytes are inline
	Inline       int64 // row in the table of inline bytes that Offset is in; -1 if the bytes are in a source
	Offset, Size int64
}

// Locations yields every chunk in a box of chunk coordinates, in C order. Each Location is valid until
// the next one. An error ends the sequence.
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

// Count returns the numbers of the array's chunks by kind.
func (m *Mosaic) Count(ctx context.Context, refs RefReader) (manifest.Counts, error) {
	return m.CountIn(ctx, refs, grid.Whole(m.grid.Counts()))
}

// CountIn returns the numbers of chunks in a box of chunk coordinates, by kind. If refs is a
// PlainReader, it does not read rows that are known to be plain.
func (m *Mosaic) CountIn(ctx context.Context, refs RefReader, chunks grid.Region) (c manifest.Counts, err error) {
	l := &lister{m: m, refs: refs, yield: func(r *Run) bool {
		r.Kind.AddTo(&c, r.Chunks)
		return true
	}}
	l.plain, _ = refs.(PlainReader)
	err = l.list(ctx, chunks)
	return c, err
}

// Find returns the location of one chunk.
func (m *Mosaic) Find(ctx context.Context, refs RefReader, coords []int64) (Location, error) {
	p, err := m.Locate(ctx, coords)
	if err != nil {
		return Location{}, err
	}
	at := Location{Coords: slices.Clone(coords), Kind: p.Kind, Source: -1, Inline: -1}
	c, _ := m.grid.Chunk(coords)
	if p.Row < 0 {
		if p.Kind == Reencoded {
			at.Kind, err = m.missingOrReencoded(ctx, refs, c.Region)
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

// resolve returns the kind and source of a chunk from its place and its ref, as a Run without Offsets
// and Sizes. codec is the chunk's codec shape.
func (p *Place) resolve(ref manifest.Ref, codec []int64) Run {
	r := Run{Kind: Reencoded, Source: -1, Inline: -1}
	switch {
	case !ref.Stored():
		if p.fit.hasSameFill {
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

// accepts reports whether the chunk has the kind of its place, now that its ref is known.
func (p *Place) accepts(ref manifest.Ref, codec []int64) bool {
	// A damaged file can store fewer bytes than the shape needs. The size of a strided variable's ref does
	// not count the gaps between rows, so an offset may be larger.
	isStrided := p.fit.Variable.Storage.Layout == manifest.Strided
	if p.size >= 0 && !isStrided && (p.offset > ref.Size || p.size > ref.Size-p.offset) {
		return false
	}
	mask := p.fit.skippedFilters(ref.Mask, p.isPadded)
	if mask == p.fit.skippedFilters(0, p.isPadded) {
		return p.isMatch
	}
	return p.fit.matchesSchema(codec, mask)
}

// bytesOf returns the range of the chunk's bytes in its source or in its inline bytes.
func (p *Place) bytesOf(ref manifest.Ref) (offset, size int64) {
	if offset, size = p.offset, p.size; size < 0 {
		size = ref.Size
	}
	if _, ok := ref.Inline(); !ok {
		offset += ref.Offset
	}
	return offset, size
}

// SourceOf returns the row of the source that contains the bytes of a tile's ref.
func (m *Mosaic) SourceOf(tile int32, ref manifest.Ref) int64 {
	if ref.Other > 0 {
		return int64(ref.Other) - 1
	}
	return m.layout.file(tile)
}

// missingOrReencoded returns Missing if no element of a chunk is stored and all read as the schema's fill
// value, else Reencoded.
func (m *Mosaic) missingOrReencoded(ctx context.Context, refs RefReader, chunk grid.Region) (Kind, error) {
	var read manifest.RefColumns
	for p, err := range m.Parts(ctx, chunk) {
		if err != nil {
			return Reencoded, err
		}
		if !p.Fit.hasSameFill {
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
