package netcdffile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"varve/manifest/ingest"
	"varve/manifest/store"
	"varve/readers/source"
)

// TestLargeChunk checks that a large chunk is decoded once, although the file is read in pieces and the store has no cache.
func TestLargeChunk(t *testing.T) {
	folder := t.TempDir()
	values := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, largeChunk/8)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, err := z.Write(values)
	err = errors.Join(err, z.Close(), os.MkdirAll(filepath.Join(folder, "v/c"), 0o700),
		os.WriteFile(filepath.Join(folder, "zarr.json"), []byte(`{"zarr_format":3,"node_type":"group","attributes":{}}`), 0o600),
		os.WriteFile(filepath.Join(folder, "v/zarr.json"), []byte(`{"shape":[8388608],"data_type":"int64","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4194304]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":1}}],
			"attributes":{},"dimension_names":["x"],"zarr_format":3,"node_type":"array"}`), 0o600),
		os.WriteFile(filepath.Join(folder, "v/c/0"), zipped.Bytes(), 0o600), os.WriteFile(filepath.Join(folder, "v/c/1"), zipped.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{folder}}}); err != nil {
		t.Fatal(err)
	}
	var reads atomic.Int64
	trace := func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
		if op.Name == "store.read" {
			reads.Add(1)
		}
		return ctx, func(error) {}
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true, CacheBytes: -1, Trace: trace})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	f, err := Open(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	piece := make([]byte, 1<<20)
	for off := int64(0); off < f.Size(); off += int64(len(piece)) {
		n, err := f.ReadAt(t.Context(), piece, off)
		if n == 0 {
			t.Fatal(err)
		}
		all = append(all, piece[:n]...)
	}
	if got := reads.Load(); got != 2 {
		t.Errorf("2 chunks were decoded %d times", got)
	}
	if !bytes.HasSuffix(all, append(values, values...)) {
		t.Error("the file does not end with the values")
	}
}
