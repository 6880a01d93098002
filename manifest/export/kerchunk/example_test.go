package kerchunk_test

import (
	"context"
	"fmt"

	"varve/manifest/export/kerchunk"
	"varve/manifest/store"
)

func ExampleWrite() {
	ctx := context.Background()
	s, err := store.Open(ctx, "sst.varve", &store.Options{Allow: []string{"/data/sst"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	result, err := kerchunk.Write(ctx, s, "sst.parquet", &kerchunk.Options{RecordSize: 50_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d ranges of sources as Zarr format %d\n", result.Refs, result.Format)
}
