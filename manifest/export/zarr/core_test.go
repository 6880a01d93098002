package zarr

import (
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// TestCore copies files with the shuffle of netCDF-4 with core codecs. The copy must have the same values, name its
// extensions, and be copied unchanged by a second copy with the same codecs.
func TestCore(t *testing.T) {
	months, err := filepath.Glob("../../../fixtures/demo/*.nc")
	if err != nil || len(months) != 3 {
		t.Fatal(months, err)
	}
	build := func(names ...string) *store.Store {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "m.varve")
		if _, err := ingest.Build(t.Context(), dir, &ingest.Options{Sources: ingest.Sources{Names: names}, Writer: "test"}); err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), dir, &store.Options{Trusted: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	from := build(months...)
	rectilinear := Extension{Array: "/t2m", Part: "chunk_grid", Name: "rectilinear"}
	for _, test := range []struct {
		compressor codec.Compressor
		chunks     []Edges
		extensions []Extension
	}{
		{codec.ZstdCompressor, nil, []Extension{rectilinear}},
		{codec.GzipCompressor, []Edges{{Dim: "time", Sizes: []int64{30}}}, nil},
		{codec.BloscCompressor, []Edges{{Dim: "time", Sizes: []int64{30}}}, nil},
		{codec.NoCompressor, []Edges{{Dim: "time", Sizes: []int64{30}}}, nil},
	} {
		t.Run(string(test.compressor), func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "copy.zarr")
			r, err := Write(t.Context(), from, dest, &Options{Compressor: test.compressor, Chunks: test.chunks})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.Extensions, test.extensions) {
				t.Errorf("extensions: %v, want %v", r.Extensions, test.extensions)
			}
			read := build(dest)
			for _, a := range from.Arrays() {
				if want, got := wholeOf(t, from, a.Path()), wholeOf(t, read, a.Path()); !slices.Equal(want, got) {
					t.Errorf("%s: other values", a.Path())
				}
			}
			again, err := Write(t.Context(), read, filepath.Join(t.TempDir(), "again.zarr"), &Options{Compressor: test.compressor})
			if err != nil {
				t.Fatal(err)
			}
			// Coordinates are kept in the manifest, so only their chunks are encoded again.
			if again.Verbatim < 12 {
				t.Errorf("the second copy: %+v", again)
			}
		})
	}
}

// wholeOf returns all elements of an array.
func wholeOf(t *testing.T, s *store.Store, path string) []byte {
	t.Helper()
	a, err := s.Array(path)
	if err != nil {
		t.Fatal(err)
	}
	elems := codec.NewElems(a.Schema().Form(a.Grid().Shape()))
	if err := a.ReadRegion(t.Context(), grid.Whole(a.Grid().Shape()), elems); err != nil {
		t.Fatal(err)
	}
	return elems.Fixed
}
