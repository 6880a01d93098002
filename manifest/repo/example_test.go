package repo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/repo"
)

// This example prints the history of a manifest, publishes its first snapshot again, and removes the files
// that only the other snapshots use.
func ExampleRepository_Restore() {
	if err := restore(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// append 1 file: 3 sources
	// build: 2 sources
	// 2 sources again
	// removed files that only other snapshots used: true
}

func restore(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "t2m.varve")
	first, err := ingest.Build(ctx, out, months("2021-01.nc", "2021-02.nc"))
	if err != nil {
		return err
	}
	if _, err := ingest.Append(ctx, out, months("2021-03.nc")); err != nil {
		return err
	}
	repository, err := repo.Open(ctx, out)
	if err != nil {
		return err
	}
	defer repository.Close()
	for entry, err := range repository.Log(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d sources\n", entry.Message, entry.Sources)
	}
	snapshot, err := repository.Restore(ctx, first.Snapshot.ID)
	if err != nil {
		return err
	}
	fmt.Println(snapshot.Rows(manifest.Sources), "sources again")
	removed, err := repository.GC(ctx, &repo.GCOptions{Keep: 1})
	if err != nil {
		return err
	}
	fmt.Println("removed files that only other snapshots used:", len(removed.Files) > 0)
	return nil
}

func months(names ...string) *ingest.Options {
	opts := &ingest.Options{}
	for _, name := range names {
		opts.Sources.Names = append(opts.Sources.Names, filepath.Join("../../fixtures/demo", name))
	}
	return opts
}
