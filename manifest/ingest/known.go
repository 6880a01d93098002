package ingest

import (
	"cmp"
	"context"
	"slices"

	"varve/manifest"
	"varve/manifest/report"
	"varve/manifest/store"
	"varve/readers/source"
)

// unknown returns the sources that the manifest does not have. The others must be unchanged.
func (a *appending) unknown(ctx context.Context, names []string) (left []string, err error) {
	asked := make(map[string]bool, len(names))
	for _, name := range names {
		asked[name] = true
	}
	var rows []int64
	known := map[string]bool{}
	at := int64(-1)
	for row, err := range a.reader.ScanSources(ctx, 0, a.reader.Rows(manifest.Sources)) {
		if err != nil {
			return nil, err
		}
		if at++; asked[row.URL] && !row.Hidden {
			known[row.URL], rows = true, append(rows, at)
		}
	}
	left = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return known[name] })
	a.passed = int64(len(names) - len(left))
	if len(rows) == 0 {
		return left, nil
	}
	return left, a.unchanged(ctx, rows)
}

// unchanged returns an error if a source of the manifest has changed.
func (a *appending) unchanged(ctx context.Context, rows []int64) error {
	// The user named these sources, so they may be read.
	s, err := store.New(a.repo, a.old, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	group, within := source.NewGroup(ctx, 0)
	for _, row := range rows {
		src, err := s.Source(ctx, row)
		if err != nil {
			return closing(s, cmp.Or(group.Wait(), err))
		}
		group.Go(src.URL, func() error {
			if err := s.CheckSource(within, row); err != nil {
				return manifest.WithRemedy(err, string(report.Refresh), "")
			}
			return nil
		})
	}
	return closing(s, group.Wait())
}

// notePassed reports how many sources the manifest had already.
func (a *appending) notePassed(r *report.Report) {
	if a.passed > 0 {
		r.Add(report.Finding{Code: report.KnownSource, Effect: report.Noted, Count: a.passed})
	}
}
