package zarr_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve/manifest/export/zarr"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// Three files of a month each become one Zarr with chunks of a week in shards of a month. What
// has no time is copied as it is.
func ExampleWrite() {
	if err := copyMonths(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 4 arrays, 3 chunks as they were
}

func copyMonths(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out")
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../../fixtures/demo"}, Match: "*.nc"}}); err != nil {
		return err
	}
	s, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		return err
	}
	defer s.Close()
	r, err := zarr.Write(ctx, s, filepath.Join(dir, "copy.zarr"), &zarr.Options{
		Chunks: []zarr.Edges{{Dim: "time", Sizes: []int64{7}}},
		Shards: []zarr.Edges{{Dim: "time", Sizes: []int64{28}}},
	})
	if err != nil {
		return err
	}
	fmt.Printf("%d arrays, %d chunks as they were\n", r.Arrays, r.Verbatim)
	return nil
}
