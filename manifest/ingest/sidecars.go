package ingest

import (
	"context"

	"varve/readers/formats"
)

// withoutSidecars removes files from the names in a folder or pattern that are read with others of them, such as index files.
func withoutSidecars(ctx context.Context, names []string) []string {
	var known map[string]bool // made for the first sidecar, because most archives have none
	has := func(name string) bool {
		if known == nil {
			known = make(map[string]bool, len(names))
			for _, name := range names {
				known[name] = true
			}
		}
		return known[name]
	}
	out := names[:0:0]
	for _, name := range names {
		if !formats.IsSidecar(ctx, name, has) {
			out = append(out, name)
		}
	}
	return out
}
