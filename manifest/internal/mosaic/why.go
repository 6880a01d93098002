package mosaic

import (
	"context"
	"slices"

	"varve/manifest"
)

// Why returns the reasons for which a chunk is re-encoded, or nil if it is not.
func (m *Mosaic) Why(ctx context.Context, refs RefReader, coords []int64) ([]manifest.Reason, error) {
	at, err := m.Find(ctx, refs, coords)
	if err != nil || at.Kind != manifest.Reencoded {
		return nil, err
	}
	c, _ := m.grid.Chunk(coords)
	var reasons []manifest.Reason
	add := func(r manifest.Reason, holds bool) {
		if holds && !slices.Contains(reasons, r) {
			reasons = append(reasons, r)
		}
	}
	tile, stored, covered := none, 0, int64(0)
	var read manifest.RefColumns
	for p, err := range m.Parts(ctx, c.Region) {
		if err != nil {
			return nil, err
		}
		covered += elements(p.Box.Shape)
		add(manifest.SeveralFiles, tile != none && tile != p.Tile)
		tile = p.Tile
		ref := manifest.Ref{}
		if p.Row >= 0 {
			if err := refs.ReadColumns(ctx, p.Row, 1, &read); err != nil {
				return nil, m.wrap(err)
			}
			ref = read.At(0)
		}
		if p.Row < 0 || !ref.Stored() {
			add(manifest.OtherFill, !p.Fit.hasSameFill)
			continue
		}
		stored++
		add(manifest.Converted, !p.Fit.Conversion.Identity())
		add(manifest.OtherOrder, !p.Fit.isStraight)
		isWhole := p.HasAllData && p.Box.Equal(c.Region)
		isLong := p.Fit.isStraight && elements(p.Codec) != elements(c.Codec)
		add(manifest.Padded, isWhole && isLong && p.IsPadded)
		add(manifest.OtherChunks, !isWhole && !p.Fit.isContiguous() || isWhole && isLong && !p.IsPadded)
		add(manifest.OtherCodecs, isWhole && !isLong && !p.Fit.matchesSchema(c.Codec, p.Fit.skippedFilters(ref.Mask, p.IsPadded)))
	}
	add(manifest.PartlyFill, covered < elements(c.Region.Shape))
	// Contiguous elements that are not one range of bytes, and parts of chunks that were never written.
	add(manifest.OtherChunks, len(reasons) == 0 || stored > 1 && !slices.Contains(reasons, manifest.SeveralFiles))
	return reasons, nil
}

// elements returns the number of elements of a shape.
func elements(shape []int64) int64 {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	return n
}
