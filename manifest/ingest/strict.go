package ingest

import (
	"context"
	"maps"
	"slices"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/mosaic"
	"varve/manifest/internal/planner"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// refuseReencoded refuses arrays with re-encoded chunks if Strict is set. It finds causes that the
// plan cannot see, such as chunks with a filter mask, or chunk lengths that the user chose.
func (j *job) refuseReencoded(ctx context.Context, snap *manifest.Snapshot, made *planner.Plan, all []*manifest.File) error {
	some := func(a manifest.Array) bool { return a.Chunks.Reencoded > 0 }
	if !j.opts.Plan.Strict || !slices.ContainsFunc(snap.Arrays, some) {
		return nil
	}
	l, err := j.chunksOf(snap.Tables, made, all)
	if err != nil {
		return err
	}
	refused := &plan.Error{}
	for i := range snap.Arrays {
		if !some(snap.Arrays[i]) {
			continue
		}
		a, err := snap.Arrays[i].WithPadding()
		if err == nil && a != &snap.Arrays[i] {
			_, err = l.count(ctx, a)
		}
		if err != nil {
			return closing(l, err)
		}
		if !some(*a) {
			continue
		}
		f, err := l.strictFinding(ctx, a, nil, snap.Sources)
		if err != nil {
			return closing(l, err)
		}
		refused.Findings = append(refused.Findings, f)
	}
	if len(refused.Findings) == 0 {
		return l.Close()
	}
	return closing(l, refused)
}

// strictFinding refuses an array because of re-encoded chunks. If there is an old array, only the chunks behind it count. of is the
// number of all files.
func (l *planChunks) strictFinding(ctx context.Context, a, old *manifest.Array, of int64) (f report.Finding, err error) {
	m, err := l.mosaic(a)
	if err != nil {
		return f, err
	}
	chunks, reencoded := grid.Whole(m.Grid().Counts()), a.Chunks.Reencoded
	if old != nil {
		reencoded -= old.Chunks.Reencoded
		if chunks, err = behind(m.Grid(), old.Schema.Shape); err != nil {
			return f, err
		}
	}
	files, err := reencodedFrom(ctx, m, l.refs, chunks)
	if err != nil {
		return f, err
	}
	return report.Finding{Code: report.StrictReencodes, Effect: report.Refused, Array: a.Path,
		By: report.Setting{Option: report.Strict}, Args: report.Args{"chunks": reencoded}, Files: report.Named(l.urls(files)...), Count: int64(len(files)), Of: of}, nil
}

// urls returns the URLs of files.
func (l *planChunks) urls(files []int64) []string {
	names := make([]string, len(files))
	for i, row := range files {
		names[i] = l.files.url(row)
	}
	return names
}

// reencodedFrom returns the files that provide re-encoded chunks of a region.
func reencodedFrom(ctx context.Context, m *mosaic.Mosaic, refs mosaic.RefReader, chunks grid.Region) ([]int64, error) {
	files := map[int64]bool{}
	for l, err := range m.Locations(ctx, refs, chunks) {
		if err != nil {
			return nil, err
		}
		if l.Kind != manifest.Reencoded {
			continue
		}
		c, _ := m.Grid().Chunk(l.Coords)
		for p, err := range m.Parts(ctx, c.Region) {
			if err != nil {
				return nil, err
			}
			files[m.File(p.Tile)] = true
		}
	}
	return slices.Sorted(maps.Keys(files)), nil
}
