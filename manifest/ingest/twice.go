package ingest

import (
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// refuseTwice refuses files that are given twice, or that the manifest has already. Files without
// coordinates would otherwise appear twice in the dataset.
func refuseTwice(before, files []*manifest.File) error {
	seen := make(map[string]bool, len(before)+len(files)) // true if the manifest has it
	for _, f := range before {
		if !f.Hidden {
			seen[f.URL] = true
		}
	}
	var again, twice []string
	for _, f := range files {
		old, ok := seen[f.URL]
		switch {
		case f.Hidden:
		case old:
			again = append(again, f.URL)
		case ok:
			twice = append(twice, f.URL)
		default:
			seen[f.URL] = false
		}
	}
	var refused plan.Error
	add := func(code report.Code, urls []string, remedies ...report.Remedy) {
		if n := len(urls); n > 0 {
			refused.Findings = append(refused.Findings, report.Finding{Code: code, Effect: report.Refused, Remedies: remedies,
				Files: report.Named(urls...), Count: int64(n), Of: int64(len(files))})
		}
	}
	add(report.RepeatedSource, twice)
	add(report.KnownSource, again, report.Do(report.SkipKnown, "", report.SkipsSame), report.Do(report.Refresh, "", report.ReadsChanged))
	if len(refused.Findings) > 0 {
		return &refused
	}
	return nil
}
