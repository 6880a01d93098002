package kerchunk_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve/manifest/export/kerchunk"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// Exports three monthly files as references: once with their own chunks, and once for clients that support
// only regular grids.
func ExampleWrite() {
	if err := references(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// format 3: 8 ranges of sources, 7 chunks among the references
	// format 2: 4 ranges of sources, 11 chunks among the references
}

func references(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "t2m.varve")
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../../fixtures/demo"}, Match: "*.nc"}}); err != nil {
		return err
	}
	s, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	defer s.Close()
	for i, opts := range [...]*kerchunk.Options{{}, {Regular: true}} {
		r, err := kerchunk.Write(ctx, s, filepath.Join(dir, fmt.Sprint(i, ".json")), opts)
		if err != nil {
			return err
		}
		fmt.Printf("format %d: %d ranges of sources, %d chunks among the references\n", r.Format, r.Refs, r.Inline)
	}
	return nil
}
