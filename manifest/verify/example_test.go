package verify_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"varve/manifest/ingest"
	"varve/manifest/store"
	"varve/manifest/verify"
	"varve/readers/source"
)

// This example verifies a manifest before and after a file of its archive is truncated.
func ExampleVerify() {
	if err := replaceOne(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 sources, 0 problems
	// 3 sources, 1 problems
	// 2021-02.nc has changed: true
}

func replaceOne(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archive, out := filepath.Join(dir, "archive"), filepath.Join(dir, "t2m.varve")
	if err := os.CopyFS(archive, os.DirFS("../../fixtures/demo")); err != nil {
		return err
	}
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{archive}, Match: "*.nc"}}); err != nil {
		return err
	}
	st, err := store.Open(ctx, out, &store.Options{Allow: []string{archive}})
	if err != nil {
		return err
	}
	defer st.Close()
	result, err := verify.Verify(ctx, st, nil)
	if err != nil {
		return err
	}
	fmt.Println(result.Sources, "sources,", len(result.Problems), "problems")

	if err := os.Truncate(filepath.Join(archive, "2021-02.nc"), 100); err != nil {
		return err
	}
	if result, err = verify.Verify(ctx, st, nil); err != nil {
		return err
	}
	fmt.Println(result.Sources, "sources,", len(result.Problems), "problems")
	for _, p := range result.Problems {
		fmt.Println(filepath.Base(p.Source), "has changed:", errors.Is(p.Err, source.ErrChanged))
	}
	return nil
}
