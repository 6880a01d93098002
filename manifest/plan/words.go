package plan

import (
	"cmp"
	"maps"
	"slices"

	"varve/manifest/report"
)

// count is "1 of 4 files".
func count(n, of int) string {
	return report.Thousands(int64(n)) + " of " + report.Thousands(int64(of)) + plural(of, " file", " files")
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func have(n int) string { return plural(n, "has", "have") }

func them(n int) string { return plural(n, "it", "them") }

// sorted are the keys of a map in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
