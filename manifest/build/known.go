package build

import (
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"varve/manifest"
	"varve/manifest/report"
	"varve/manifest/store"
)

// unknown are the names of sources that the manifest does not have. Those that it has must be what
// was scanned, and are passed over.
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

// unchanged looks at sources of the manifest, which the user named.
func (a *appending) unchanged(ctx context.Context, rows []int64) error {
	s, err := store.New(a.repo, a.old, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, row := range rows {
		if within.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := s.CheckSource(within, row); err != nil {
				return manifest.WithRemedy(err, string(report.Force), "")
			}
			return nil
		})
	}
	return closing(s, group.Wait())
}

// notePassed says how many sources were passed over.
func (a *appending) notePassed(r *report.Report) {
	if a.passed > 0 {
		r.Add(report.Finding{Code: report.KnownSource, Effect: report.Noted, Count: a.passed})
	}
}
