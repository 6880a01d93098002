package zarr

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest/zarrstore"
	"varve/zarrjson"
)

// benchArchive is a Zarr of 64 MiB in chunks of 1 MiB.
func benchArchive(b *testing.B) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "in.zarr")
	typ, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Float, Size: 4})
	if err != nil {
		b.Fatal(err)
	}
	schema := &zarrjson.Array{Shape: []int64{16, 1024, 1024}, DataType: typ, ChunkGrid: zarrjson.RegularGrid(1, 512, 512),
		DimensionNames: zarrjson.Names("time", "y", "x"), Codecs: codec.IndexCodecs()[:1]}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "zarr.json"), []byte(`{"attributes":{},"zarr_format":3,"node_type":"group"}`), 0o644); err != nil {
		b.Fatal(err)
	}
	a, err := zarrstore.Create(b.Context(), filepath.Join(dir, "v"), schema, nil)
	if err != nil {
		b.Fatal(err)
	}
	e := codec.NewElems(schema.Form(schema.Shape))
	for i := range e.Fixed {
		e.Fixed[i] = byte(i >> 8)
	}
	if err := a.WriteRegion(context.Background(), grid.Whole(schema.Shape), e); err != nil {
		b.Fatal(err)
	}
	return dir
}

// BenchmarkWrite copies chunks as they are, into shards, and into chunks of other lengths.
func BenchmarkWrite(b *testing.B) {
	s := newSample(b, benchArchive(b))
	for name, o := range map[string]Options{
		"as it is":    {},
		"into shards": {Shards: []Edges{{Dim: "time", Sizes: []int64{8}}}},
		"re-chunked":  {Chunks: []Edges{{Dim: "time", Sizes: []int64{8}}, {Dim: "y", Sizes: []int64{128}}, {Dim: "x", Sizes: []int64{128}}}},
	} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			b.SetBytes(64 << 20)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s.copy(b, filepath.Join(dir, fmt.Sprint(i)), o)
			}
		})
	}
}
