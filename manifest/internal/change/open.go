package change

import (
	"context"
	"iter"

	"varve/manifest"
	"varve/manifest/internal/table"
)

// Open implements Tables for two snapshots whose tables are already open.
type Open struct {
	Old, Now *manifest.Snapshot
	Was, Is  *table.Reader // the tables of Old and Now
}

// ScanTiles implements Tables.
func (o *Open) ScanTiles(ctx context.Context, of *manifest.Snapshot, s manifest.Segment) iter.Seq2[manifest.Tile, error] {
	if of == o.Old {
		return o.Was.ScanTiles(ctx, s)
	}
	return o.Is.ScanTiles(ctx, s)
}

// Begins implements Tables.
func (o *Open) Begins(ctx context.Context, _, _ *manifest.Snapshot) (bool, error) {
	return table.Begins(ctx, o.Was, o.Is, false)
}
