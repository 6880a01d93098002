package compact_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve/manifest/compact"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// This example re-encodes the chunks of a file with another compression, and stores them in the manifest.
func ExampleCompact() {
	if err := keep(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 4 chunks re-encoded
	// 0 re-encoded, 4 kept
}

func keep(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "t2m.varve")
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo"}, Match: "*.nc"}}); err != nil {
		return err
	}
	allowed := store.Options{Allow: []string{"../../fixtures/demo"}}
	result, err := compact.Compact(ctx, out, &compact.Options{Store: allowed})
	if err != nil {
		return err
	}
	fmt.Println(result.Chunks, "chunks re-encoded")
	st, err := store.Open(ctx, out, &allowed)
	if err != nil {
		return err
	}
	defer st.Close()
	t2m, err := st.Array("t2m")
	if err != nil {
		return err
	}
	counts, err := t2m.Count(ctx)
	if err != nil {
		return err
	}
	fmt.Println(counts.Reencoded, "re-encoded,", counts.Patched, "kept")
	return nil
}
