package mosaic

import (
	"context"
	"fmt"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/readers"
)

// Locations yields every chunk in a box of chunk coordinates, in C order. Each Location is valid until
// the next one. An error ends the sequence.
func (m *Mosaic) Locations(ctx context.Context, refs RefReader, chunks grid.Region) readers.Reusing[manifest.Location] {
	return manifest.LocationsOf(m.Runs(ctx, refs, chunks), chunks)
}

// Count returns the numbers of the array's chunks by kind.
func (m *Mosaic) Count(ctx context.Context, refs RefReader) (manifest.Counts, error) {
	return m.CountIn(ctx, refs, grid.Whole(m.grid.Counts()), nil)
}

// CountIn returns the numbers of chunks in a box of chunk coordinates, by kind. If refs is a
// PlainReader, it does not read rows that are known to be plain. If masked is not nil, it is called with the file of
// chunks that are re-encoded only because a filter was not applied to them.
func (m *Mosaic) CountIn(ctx context.Context, refs RefReader, chunks grid.Region, masked func(file int64)) (manifest.Counts, error) {
	plain, _ := refs.(PlainReader)
	return manifest.CountsOf(m.runs(ctx, &lister{m: m, refs: refs, plain: plain, masked: masked}, chunks))
}

// Find returns the location of one chunk.
func (m *Mosaic) Find(ctx context.Context, refs RefReader, coords []int64) (manifest.Location, error) {
	c, ok := m.grid.Chunk(coords)
	if !ok {
		return manifest.Location{}, m.wrap(noChunk(coords, m.grid))
	}
	p, err := m.locator(ctx).candidate(&c)
	if err != nil {
		return manifest.Location{}, err
	}
	at := manifest.Location{Kind: p.kind, Source: -1}
	if p.row >= 0 {
		var read manifest.RefColumns
		if err := refs.ReadColumns(ctx, p.row, 1, &read); err != nil {
			return manifest.Location{}, m.wrap(err)
		}
		at = p.resolve(read.At(0), c.Codec)
	} else if p.kind == manifest.Reencoded {
		at.Kind, err = m.missingOrReencoded(ctx, refs, c.Region)
	}
	at.Coords = slices.Clone(coords)
	return at, err
}

func noChunk(coords []int64, g *grid.Grid) error {
	return fmt.Errorf("chunk %v: %w: there are %v", coords, grid.ErrOutOfBounds, g.Counts())
}

// resolve returns the location of a declared chunk once the candidate's ref is known, without Coords. codec
// is the declared chunk's codec shape.
func (p *candidate) resolve(ref manifest.Ref, codec []int64) manifest.Location {
	l := manifest.Location{Kind: manifest.Reencoded, Source: -1}
	switch {
	case !ref.Stored():
		if p.fit.hasSameFill {
			l.Kind = manifest.Missing
		}
	case p.kind != manifest.Reencoded && p.accepts(ref, codec):
		l.Kind = p.kind
		if row, ok := ref.Inline(); ok {
			l.InlineRow = row + 1
		} else {
			l.Source = p.fit.m.SourceOf(p.tile, ref)
		}
		if l.Offset, l.Size = p.bytesOf(ref); p.isWholeRef(ref) {
			l.Checksum = ref.Checksum
		}
	}
	return l
}

// accepts reports whether the declared chunk has the kind of the candidate, now that its ref is known.
func (p *candidate) accepts(ref manifest.Ref, codec []int64) bool {
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

// isWholeRef reports whether the chunk has all bytes of its ref, so that the ref's checksum applies to it.
func (p *candidate) isWholeRef(ref manifest.Ref) bool {
	return p.offset == 0 && (p.size < 0 || p.size == ref.Size)
}

// bytesOf returns the range of the chunk's bytes in its source or in its inline bytes.
func (p *candidate) bytesOf(ref manifest.Ref) (offset, size int64) {
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
func (m *Mosaic) missingOrReencoded(ctx context.Context, refs RefReader, chunk grid.Region) (manifest.ChunkKind, error) {
	var read manifest.RefColumns
	for p, err := range m.Parts(ctx, chunk) {
		if err != nil {
			return manifest.Reencoded, err
		}
		if !p.Fit.hasSameFill {
			return manifest.Reencoded, nil
		}
		if p.Row < 0 {
			continue
		}
		if err := refs.ReadColumns(ctx, p.Row, 1, &read); err != nil {
			return manifest.Reencoded, m.wrap(err)
		}
		if ref := read.At(0); ref.Stored() {
			return manifest.Reencoded, nil
		}
	}
	return manifest.Missing, nil
}
