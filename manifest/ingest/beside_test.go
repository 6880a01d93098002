package ingest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/readers/source"
)

// TestChangedBeside checks that a file beside a source, from which the source has metadata, belongs to the source: verify reports a
// change, and both kinds of sync read the source again.
func TestChangedBeside(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	beside := filepath.Join(dir, "world.tfw")
	for _, name := range []string{"world.tif", "world.tfw"} {
		data, err := os.ReadFile(filepath.Join("../../fixtures/tiff/sidecars", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	opts := &Options{Sources: Sources{Names: []string{dir}}}
	if _, err := Build(t.Context(), out, opts); err != nil {
		t.Fatal(err)
	}
	if r, err := Sync(t.Context(), out, opts); err != nil || r.IsNew() {
		t.Fatalf("nothing changed: %+v, %v", r, err)
	}
	was := "500005"
	for i, sync := range []func() (*SyncResult, error){
		func() (*SyncResult, error) { return Sync(t.Context(), out, opts) },
		func() (*SyncResult, error) { return SyncFiles(t.Context(), out, []string{beside}, opts) },
	} {
		text, err := os.ReadFile(beside)
		is := []string{"600005", "700005"}[i]
		later := time.Now().Add(time.Duration(i+1) * time.Minute)
		if err = errors.Join(err, os.WriteFile(beside, []byte(strings.Replace(string(text), was, is, 1)), 0o600), os.Chtimes(beside, later, later)); err != nil {
			t.Fatal(err)
		}
		if err := verified(t.Context(), out); !errors.Is(err, source.ErrChanged) || !strings.Contains(err.Error(), "world.tfw") {
			t.Errorf("%v, want an error that names world.tfw", err)
		}
		if r, err := sync(); err != nil || len(r.Replaced) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if err := verified(t.Context(), out); err != nil {
			t.Error(err)
		}
		was = is
	}
}
