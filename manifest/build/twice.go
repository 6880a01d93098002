package build

import (
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// mostNamed is how many files a refusal names.
const mostNamed = 10

// refuseTwice refuses files that are given more than once, or were added before: where no
// coordinates tell them apart, they would be doubled.
func refuseTwice(before, files []*manifest.File) error {
	seen := make(map[string]bool, len(before)+len(files)) // true: from before
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
	add := func(urls []string, says, option string) {
		if n := len(urls); n > 0 {
			refused.Findings = append(refused.Findings, report.Finding{Kind: report.Overlap, Effect: report.Refused, Says: says, Option: option,
				Files: urls[:min(n, mostNamed)], Count: int64(n), Of: int64(len(files))})
		}
	}
	add(twice, "given twice", "")
	add(again, "already in the manifest", "--skip-known while they are as they were; build --force where one has changed")
	if len(refused.Findings) > 0 {
		return &refused
	}
	return nil
}
