package zarrstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"varve/codec"
	"varve/manifest/zarrstore"
	"varve/zarrjson"
)

// An array grows by months, each of them a chunk.
func ExampleArray_Append() {
	dir, err := os.MkdirTemp("", "varve")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := months(context.Background(), filepath.Join(dir, "t2m")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shape [59], chunks 31 and 28
}

func months(ctx context.Context, dir string) error {
	face, err := zarrjson.ParseArray([]byte(`{"shape": [31], "data_type": "uint8", "fill_value": 0, "dimension_names": ["time"],
		"chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[31]]}},
		"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}], "zarr_format": 3, "node_type": "array"}`))
	if err != nil {
		return err
	}
	a, err := zarrstore.Create(dir, face, nil)
	if err != nil {
		return err
	}
	if err := a.Append(ctx, 0, 28, codec.Elems{Fixed: make([]byte, 28)}, 28); err != nil {
		return err
	}
	if a, err = zarrstore.Open(dir, nil); err != nil {
		return err
	}
	d := a.Grid().Dim(0)
	fmt.Printf("shape %v, chunks %d and %d\n", a.Shape(), d.DataSize(0), d.DataSize(1))
	return nil
}
