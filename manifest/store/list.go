package store

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/mosaic"
	"varve/readers"
)

// Run is a run of consecutive chunks, in C order of the box of chunks that is being listed, which have
// the same kind and source. The next run may have the same kind and source too.
type Run struct {
	Coords []int64 // of the first chunk
	Chunks int64
	Kind   Kind
	Source int64 // as in Location
	// Offsets and Sizes have one entry for each chunk. They are nil for Missing, Re-encoded and Inline
	// chunks.
	Offsets, Sizes []int64
	Inline         []byte // the bytes, if they are in the manifest; then the run has one chunk

	checksum    uint32
	hasChecksum bool
}

// IsPatch reports whether the chunks are compacted chunks.
func (r *Run) IsPatch() bool { return r.hasChecksum }

// Runs yields every chunk in a box of chunk coordinates, in C order, including the Missing ones.
func (a *Array) Runs(ctx context.Context, chunks grid.Region) readers.Reusing[Run] {
	if a.isInManifest() {
		return OneByOne(a.inlineLocations(ctx, chunks))
	}
	return func(yield func(*Run, error) bool) {
		m, err := a.tiles(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		var out Run
		for r, err := range m.Runs(ctx, a.store.tables, chunks) {
			switch {
			case err != nil:
			case r.Kind == Reencoded && len(a.spec.Patches) > 0 || r.Inline >= 0:
				for one, err := range OneByOne(a.each(ctx, r, chunks)) {
					if !yield(one, err) || err != nil {
						return
					}
				}
				continue
			default:
				out = Run{Coords: r.Coords, Chunks: r.Chunks, Kind: r.Kind, Source: r.Source, Offsets: r.Offsets, Sizes: r.Sizes}
				err = a.checkRun(r)
			}
			if !yield(&out, err) || err != nil {
				return
			}
		}
	}
}

// checkRun returns an error if an offset or size is negative.
func (a *Array) checkRun(r *mosaic.Run) error {
	// The sign bit of all is set if any number is negative. That is much faster than a comparison for each
	// chunk.
	all := int64(0)
	for i, offset := range r.Offsets {
		all |= offset | r.Sizes[i]
	}
	if all >= 0 {
		return nil
	}
	bad := func(n int64) bool { return n < 0 }
	return fmt.Errorf("%s: run from chunk %v: %w: size %d or offset %d is negative", a.Path(), r.Coords, codec.ErrCorrupt,
		r.Sizes[max(slices.IndexFunc(r.Sizes, bad), 0)], r.Offsets[max(slices.IndexFunc(r.Offsets, bad), 0)])
}

// each yields the chunks of a run one by one, with their compacted or inline bytes.
func (a *Array) each(ctx context.Context, r *mosaic.Run, chunks grid.Region) iter.Seq2[*Location, error] {
	return func(yield func(*Location, error) bool) {
		var out Location
		for l := range r.Locations(chunks) {
			err := a.translate(ctx, l, &out)
			if !yield(&out, err) || err != nil {
				return
			}
		}
	}
}

// OneByOne yields a run for every location.
func OneByOne(locations iter.Seq2[*Location, error]) readers.Reusing[Run] {
	return func(yield func(*Run, error) bool) {
		out := Run{Offsets: make([]int64, 1), Sizes: make([]int64, 1)}
		ranges := out
		for l, err := range locations {
			if err != nil {
				yield(nil, err)
				return
			}
			out = Run{Coords: l.Coords, Chunks: 1, Kind: l.Kind, Source: l.Source, Inline: l.Inline, checksum: l.checksum, hasChecksum: l.hasChecksum}
			if (l.Kind == Verbatim || l.Kind == Prefix) && l.Source >= 0 {
				ranges.Offsets[0], ranges.Sizes[0] = l.Offset, l.Size
				out.Offsets, out.Sizes = ranges.Offsets, ranges.Sizes
			}
			if !yield(&out, nil) {
				return
			}
		}
	}
}

// Locations yields every chunk in a box of chunk coordinates one by one, in the order of Runs. Every
// Location is a new one; Runs takes much less time. An error ends the sequence.
func (a *Array) Locations(ctx context.Context, chunks grid.Region) iter.Seq2[*Location, error] {
	return func(yield func(*Location, error) bool) {
		coords := slices.Clone(chunks.Origin)
		for r, err := range a.Runs(ctx, chunks) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range r.Chunks {
				l := Location{Coords: slices.Clone(coords), Kind: r.Kind, Source: r.Source, Inline: r.Inline, Size: int64(len(r.Inline)), checksum: r.checksum, hasChecksum: r.hasChecksum}
				if r.Offsets != nil {
					l.Offset, l.Size = r.Offsets[i], r.Sizes[i]
				}
				if !yield(&l, nil) {
					return
				}
				chunks.Next(coords)
			}
		}
	}
}

// Count returns the number of the array's chunks of each kind.
func (a *Array) Count(ctx context.Context) (c manifest.Counts, err error) {
	for r, err := range a.Runs(ctx, grid.Whole(a.grid.Counts())) {
		if err != nil {
			return c, err
		}
		r.Kind.AddTo(&c, r.Chunks)
		if r.hasChecksum {
			c.Patched += r.Chunks
		}
	}
	return c, nil
}
