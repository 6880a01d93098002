package relocate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve/manifest/ingest"
	"varve/manifest/relocate"
)

// This example moves the files of an archive. Relocate checks each file, and reads no chunk index.
func ExampleRelocate() {
	if err := move(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 3 sources, 3 described
}

func move(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	was, is, out := filepath.Join(dir, "was"), filepath.Join(dir, "is"), filepath.Join(dir, "t2m.varve")
	if err := os.CopyFS(was, os.DirFS("../../fixtures/demo")); err != nil {
		return err
	}
	if _, err := ingest.Build(ctx, out, &ingest.Options{Sources: ingest.Sources{Names: []string{was}, Match: "*.nc"}}); err != nil {
		return err
	}
	if err := os.Rename(was, is); err != nil {
		return err
	}
	result, err := relocate.Relocate(ctx, out, &relocate.Options{Moves: []relocate.Move{{From: was, To: is}}})
	if err != nil {
		return err
	}
	fmt.Println(result.Sources, "sources,", result.Described, "described")
	return nil
}
