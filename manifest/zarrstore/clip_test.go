package zarrstore

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/serve"
	"varve/manifest/store"
	"varve/zarrjson"
)

// clippedSchema is an array whose inner chunks divide neither their shards nor these the array.
func clippedSchema(t *testing.T, nested bool) *zarrjson.Array {
	schema := schema16(t, 20, 20)
	schema.Shape = []int64{20, 17}
	schema.ChunkGrid = zarrjson.RegularGrid(8, 6)
	schema.DimensionNames = zarrjson.Names("y", "x")
	codecs := zstdCodecs
	if nested {
		codecs = shardCodecs("[2,3]", codecs)
	}
	schema.Codecs = parseCodecs(t, shardCodecs("[3,4]", codecs))
	return schema
}

func shardCodecs(shape, codecs string) string {
	return fmt.Sprintf(`{"name":"sharding_indexed","configuration":{"chunk_shape":%s,"codecs":[%s],"index_codecs":[%s]}}`, shape, codecs, indexCodec)
}

// TestClippedShards writes, reopens, grows, builds and serves arrays whose inner chunks do not divide their shards.
func TestClippedShards(t *testing.T) {
	for name, nested := range map[string]bool{"shards": false, "shards in shards": true} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a")
			schema := clippedSchema(t, nested)
			if _, err := Create(t.Context(), dir, schema, nil); err == nil {
				t.Fatal("version 1.0 of sharding takes them")
			}
			a, err := Create(t.Context(), dir, schema, &Options{Clip: true})
			if err != nil {
				t.Fatal(err)
			}
			whole := grid.Whole(schema.Shape)
			if err := a.WriteRegion(t.Context(), whole, line(20*17, 1)); err != nil {
				t.Fatal(err)
			}
			a = reopen(t, a)
			if err := a.Append(t.Context(), 0, 7, line(7*17, 9)); err != nil {
				t.Fatal(err)
			}
			want := append(line(20*17, 1).Fixed, line(7*17, 9).Fixed...)
			checkBuilt(t, dir, want)
			got := codec.NewElems(a.Schema().Form(a.Shape()))
			if err := reopen(t, a).ReadRegion(t.Context(), grid.Whole(a.Shape()), got); err != nil || !slices.Equal(got.Fixed, want) {
				t.Errorf("%v, %v", err, got.Fixed)
			}
		})
	}
}

// checkBuilt builds a manifest of an array. Its chunks are inner chunks, which clients of the server read.
func checkBuilt(t *testing.T, dir string, want []byte) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{dir}}}); err != nil {
		t.Fatal(err)
	}
	opts := store.Options{Allow: []string{dir}}
	st, err := store.Open(t.Context(), out, &opts)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if len(st.Arrays()) != 1 {
		t.Fatalf("%d arrays", len(st.Arrays()))
	}
	a := st.Arrays()[0]
	got := codec.NewElems(a.Schema().Form(a.Grid().Shape()))
	if err := a.ReadRegion(t.Context(), grid.Whole(a.Grid().Shape()), got); err != nil || !slices.Equal(got.Fixed, want) {
		t.Fatalf("%v, %v", err, got.Fixed)
	}
	if c, err := a.Count(t.Context()); err != nil || c.Reencoded > 0 || c.Verbatim == 0 {
		t.Errorf("%+v, %v", c, err)
	}
	handler, err := serve.New(t.Context(), []string{out}, &serve.Options{Store: opts})
	if err != nil {
		t.Fatal(err)
	}
	defer handler.Close()
	server := httptest.NewServer(handler)
	defer server.Close()
	if os.Getenv("VARVE_PYTHON") == "" {
		return
	}
	expect := filepath.Join(t.TempDir(), "expect")
	if err := os.WriteFile(expect, want, 0o644); err != nil {
		t.Fatal(err)
	}
	venv.Run(t, "zarr", "testdata/peer.py", "served", server.URL+"/"+strings.TrimPrefix(a.Path(), "/"), expect)
}
