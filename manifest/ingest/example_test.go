package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
)

// inFolder calls do with the name of a manifest in a temporary folder.
func inFolder(do func(ctx context.Context, out string) error) {
	dir, err := os.MkdirTemp("", "varve")
	if err == nil {
		err = do(context.Background(), filepath.Join(dir, "t2m.varve"))
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// Check reports disagreements before anything is written.
func ExampleCheck() {
	outcome, err := ingest.Check(context.Background(), &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo/*.nc"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range outcome.Report.Findings {
		if f.Effect == report.Reencoded {
			fmt.Println(f.Code, f.Array, f.Args["odd"], "instead of", f.Args["main"])
		}
	}
	for _, a := range outcome.Snapshot.Arrays {
		fmt.Println(a.Path, a.Schema.Shape, a.Chunks.Verbatim, "chunks as they are stored,", a.Chunks.Reencoded, "re-encoded")
	}
	// Output:
	// codecs-differ /t2m [{zlib, big-endian 1}] instead of shuffle+zlib
	// /lat [6] 1 chunks as they are stored, 0 re-encoded
	// /lon [8] 1 chunks as they are stored, 0 re-encoded
	// /t2m [90 6 8] 8 chunks as they are stored, 4 re-encoded
	// /time [90] 1 chunks as they are stored, 0 re-encoded
}

// Build a manifest from the files that match a pattern. Cancel the context to stop; nothing is
// published then.
func ExampleBuild() {
	inFolder(func(ctx context.Context, out string) error {
		opts := &ingest.Options{
			Sources: ingest.Sources{Names: []string{"../../fixtures/demo/*.nc"}},
			Plan:    plan.Options{Rename: []plan.Rename{{Old: "t2m", New: "temperature"}}},
		}
		impatient, cancel := context.WithCancel(ctx)
		opts.Progress = func(done, total int64) { cancel() }
		_, err := ingest.Build(impatient, out, opts)
		fmt.Println("canceled:", errors.Is(err, context.Canceled))

		opts.Progress = func(done, total int64) { fmt.Println(done, "of", total) }
		outcome, err := ingest.Build(ctx, out, opts)
		if err != nil {
			return err
		}
		fmt.Println(outcome.Files, "files,", len(outcome.Snapshot.Arrays), "arrays")
		return nil
	})
	// Output:
	// canceled: true
	// 1 of 3
	// 2 of 3
	// 3 of 3
	// 3 files, 4 arrays
}

// Append uses the options with which the manifest was built.
func ExampleAppend() {
	inFolder(func(ctx context.Context, out string) error {
		months := func(names ...string) *ingest.Options {
			return &ingest.Options{Sources: ingest.Sources{Names: names}}
		}
		if _, err := ingest.Build(ctx, out, months("../../fixtures/demo/2021-01.nc", "../../fixtures/demo/2021-02.nc")); err != nil {
			return err
		}
		outcome, err := ingest.Append(ctx, out, months("../../fixtures/demo/2021-03.nc"))
		if err != nil {
			return err
		}
		for _, a := range outcome.Snapshot.Arrays {
			if a.Path == "/t2m" {
				fmt.Println(a.Path, a.Schema.Shape)
			}
		}
		_, err = ingest.Append(ctx, out, months("../../fixtures/demo/2021-03.nc"))
		var refused *plan.Error
		fmt.Println("again:", errors.As(err, &refused) && refused.Findings[0].Code == report.KnownSource)
		repository, err := repo.Open(ctx, out)
		if err != nil {
			return err
		}
		defer repository.Close()
		for entry, err := range repository.Log(ctx) {
			if err != nil {
				return err
			}
			fmt.Println(entry.Message, entry.Sources)
		}
		return nil
	})
	// Output:
	// /t2m [90 6 8]
	// again: true
	// append 1 file 3
	// build 2
}
