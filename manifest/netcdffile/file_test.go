package netcdffile

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"varve/manifest/ingest"
	"varve/manifest/store"
)

// built builds a manifest of sources and opens it.
func built(t testing.TB, opts *ingest.Options) *store.Store {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := ingest.Build(t.Context(), out, opts); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// written writes the file of a store to the disk.
func written(t testing.TB, st *store.Store, opts *Options) string {
	t.Helper()
	f, err := Open(t.Context(), st, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range f.Omitted() {
		t.Logf("omitted: %s: %v", o.Path, o.Why)
	}
	b := make([]byte, f.Size()+1)
	n, err := f.ReadAt(t.Context(), b, 0)
	if !errors.Is(err, io.EOF) || int64(n) != f.Size() {
		t.Fatalf("%d of %d bytes: %v", n, f.Size(), err)
	}
	name := filepath.Join(t.TempDir(), "virtual.nc")
	if err := os.WriteFile(name, b[:n], 0o600); err != nil {
		t.Fatal(err)
	}
	// Reads of any size give the same bytes.
	for _, size := range []int{1, 7, 4096, 100000} {
		part := make([]byte, size)
		for off := int64(0); off < f.Size(); off += 1 + int64(size)*7 {
			n, err := f.ReadAt(t.Context(), part, off)
			if err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(part[:n], b[off:][:n]) {
				t.Fatalf("%d bytes at %d differ: %v", size, off, err)
			}
		}
	}
	return name
}

func TestTry(t *testing.T) {
	st := built(t, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo"}, Match: "*.nc"}})
	name := written(t, st, nil)
	b, _ := os.ReadFile(name)
	os.WriteFile("/tmp/nc-try.nc", b, 0o644)
}
