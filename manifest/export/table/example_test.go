package table_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"

	"varve/manifest/export/table"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// withManifest builds a manifest of three files of a month each.
func withManifest(do func(ctx context.Context, s *store.Store, dir string) error) error {
	ctx := context.Background()
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
	return do(ctx, s, dir)
}

func ExampleWrite() {
	err := withManifest(func(ctx context.Context, s *store.Store, dir string) error {
		r, err := table.Write(ctx, s, filepath.Join(dir, "chunks.parquet"), nil)
		if err == nil {
			fmt.Printf("%d chunks of %d arrays\n", r.Rows, r.Arrays)
		}
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 15 chunks of 4 arrays
}

// List the re-encoded chunks and their sources.
func ExampleRecords() {
	err := withManifest(func(ctx context.Context, s *store.Store, _ string) error {
		return table.Records(ctx, s, func(r arrow.Record) error {
			paths, coords, kinds, sources := r.Column(0), r.Column(1), r.Column(2), r.Column(7).(*array.List)
			for i := range int(r.NumRows()) {
				if kinds.ValueStr(i) != "re-encoded" {
					continue
				}
				for at, to := sources.ValueOffsets(i); at < to; at++ {
					fmt.Println(paths.ValueStr(i), coords.ValueStr(i), filepath.Base(sources.ListValues().ValueStr(int(at))))
				}
			}
			return nil
		})
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// /t2m [2,0,0] 2021-03.nc
	// /t2m [2,0,1] 2021-03.nc
	// /t2m [2,1,0] 2021-03.nc
	// /t2m [2,1,1] 2021-03.nc
}

// Load all chunks as Arrow records.
func ExampleLoad() {
	err := withManifest(func(ctx context.Context, s *store.Store, _ string) error {
		t, err := table.Load(ctx, s)
		if err != nil {
			return err
		}
		defer t.Release()
		fmt.Println(t.NumRows(), "rows:", t.Schema().Field(0).Name, t.Schema().Field(1).Name, "…")
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 15 rows: array coords …
}
