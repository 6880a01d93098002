package icechunk_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve/manifest/export/icechunk"
	"varve/manifest/ingest"
	"varve/manifest/repo"
	"varve/manifest/store"
)

// Exports a manifest of two files, adds a third file, and appends the new chunks to the export.
func ExampleWrite() {
	if err := exportTwice(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// a repository: 8 chunks are in the sources, 3 in the manifest
	// appended: true, on top of what was there: true
}

func exportTwice(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out, dest := filepath.Join(dir, "out"), filepath.Join(dir, "repo")
	files := func(names ...string) *ingest.Options {
		o := &ingest.Options{}
		for _, name := range names {
			o.Sources.Names = append(o.Sources.Names, filepath.Join("../../../fixtures/demo", name))
		}
		return o
	}
	if _, err := ingest.Build(ctx, out, files("2021-01.nc", "2021-02.nc")); err != nil {
		return err
	}
	first, err := export(ctx, out, dest)
	if err != nil {
		return err
	}
	fmt.Printf("a repository: %d chunks are in the sources, %d in the manifest\n", first.Virtual, first.Inline)
	if _, err := ingest.Append(ctx, out, files("2021-03.nc")); err != nil {
		return err
	}
	second, err := export(ctx, out, dest)
	if err != nil {
		return err
	}
	fmt.Printf("appended: %v, on top of what was there: %v\n", second.Appended, second.Snapshot != first.Snapshot)
	return nil
}

// export opens the current snapshot of the manifest and exports it.
func export(ctx context.Context, out, dest string) (*icechunk.Result, error) {
	s, err := store.Open(ctx, out, &store.Options{Trusted: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	repository, err := repo.Open(ctx, out)
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	return icechunk.Write(ctx, s, dest, &icechunk.Options{Manifest: repository})
}
