package store

import (
	"context"
	"fmt"
	"slices"

	"varve/manifest"
)

// Origins returns the rows of the sources from which a declared chunk gets its values, in the order in which
// its tiles are read. It reads only the manifest. For an array that is stored in the manifest it returns nil.
func (a *Array) Origins(ctx context.Context, coords []int64) (rows []int64, err error) {
	c, err := a.chunk(coords)
	if err != nil || a.isInManifest() {
		return nil, err
	}
	m, err := a.tiles(ctx)
	if err != nil {
		return nil, err
	}
	var read manifest.RefColumns
	for p, err := range m.Parts(ctx, c.Region) {
		if err != nil {
			return nil, err
		}
		if p.Row < 0 {
			continue
		}
		if err := a.store.tables.ReadColumns(ctx, p.Row, 1, &read); err != nil {
			return nil, fmt.Errorf("%s: chunk %v: %w", a.Path(), coords, err)
		}
		ref := read.At(0)
		if !ref.Stored() {
			continue
		}
		if row := m.SourceOf(p.Tile, ref); !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// Why returns the reasons for which a declared chunk is re-encoded, or nil if it is not. It reads only the manifest.
func (a *Array) Why(ctx context.Context, coords []int64) ([]manifest.Reason, error) {
	if _, err := a.chunk(coords); err != nil || a.isInManifest() {
		return nil, err
	}
	m, err := a.tiles(ctx)
	if err != nil {
		return nil, err
	}
	return m.Why(ctx, a.store.tables, coords)
}
