package ingest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
	"varve/manifest/store"
)

// mostExplained is the number of chunks of an array whose reasons are examined.
const mostExplained = 3000

// unexplained returns a line for each array of a manifest with a chunk that is re-encoded without a reason or without a finding that names one of its
// files, or with a count that differs from the number of these chunks.
func unexplained(ctx context.Context, s *store.Store, findings []report.Finding) (lines []string, err error) {
	for _, a := range s.Arrays() {
		spec, counts, examined, isSaid := a.Spec(), manifest.Counts{}, 0, false
		for l, err := range a.Locations(ctx, grid.Whole(a.Grid().Counts())) {
			if err != nil {
				return nil, err
			}
			switch l.Kind {
			case manifest.Verbatim:
				counts.Verbatim++
			case manifest.Prefix:
				counts.Prefix++
			case manifest.Missing:
				counts.Missing++
			case manifest.Reencoded:
				counts.Reencoded++
			}
			if l.Kind != manifest.Reencoded || isSaid || examined == mostExplained {
				continue
			}
			examined++
			reasons, err := a.Why(ctx, l.Coords)
			if err != nil {
				return nil, err
			}
			rows, err := a.Origins(ctx, l.Coords)
			if err != nil {
				return nil, err
			}
			var files []string
			for _, row := range rows {
				src, err := s.Source(ctx, row)
				if err != nil {
					return nil, err
				}
				files = append(files, src.URL)
			}
			if isSaid = len(reasons) == 0 || len(files) > 0 && !reporttest.Explains(findings, spec, files); isSaid {
				lines = append(lines, fmt.Sprintf("%s %v of %v: %v", a.Path(), l.Coords, files, reasons))
			}
		}
		if counts != spec.Chunks {
			lines = append(lines, fmt.Sprintf("%s has %+v, and the manifest says %+v", a.Path(), counts, spec.Chunks))
		}
		isOf := func(f report.Finding) bool {
			return f.Cost != nil && slices.Contains(arraysOf(&f, s.Snapshot().Arrays), a.Path())
		}
		for _, f := range findings {
			if isOf(f) && len(arraysOf(&f, s.Snapshot().Arrays)) == 1 && (f.Cost.Reencoded != counts.Reencoded || f.Cost.Verbatim != counts.Verbatim+counts.Prefix) {
				lines = append(lines, fmt.Sprintf("%s has %+v, and %s says %+v", a.Path(), counts, f.Code, *f.Cost))
			}
		}
	}
	return lines, nil
}

// mustExplain fails if a chunk of a manifest that was just built is re-encoded without an explanation in its report.
func mustExplain(t *testing.T, dir string, made *Result) {
	t.Helper()
	s, err := store.Open(t.Context(), dir, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := unexplained(t.Context(), s, made.Report.Findings)
	if err != nil || len(lines) > 0 {
		t.Errorf("%v: not explained: %q", err, lines)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
