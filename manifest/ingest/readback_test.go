package ingest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest/export/icechunk"
	"varve/manifest/export/kerchunk"
	"varve/manifest/export/zarr"
	"varve/manifest/store"
	"varve/readers"
)

// TestReadBack exports manifests of random archives in each form, moves the exports with the files, and builds manifests of the
// exports, which must have the values of the files.
func TestReadBack(t *testing.T) {
	configured(t)
	exports := map[string]func(s *store.Store, folder, to string) error{
		"copy.zarr": func(s *store.Store, _, to string) error {
			_, err := zarr.Write(t.Context(), s, to, &zarr.Options{})
			return err
		},
		"refs.json": func(s *store.Store, folder, to string) error {
			_, err := kerchunk.Write(t.Context(), s, to, &kerchunk.Options{Relative: folder})
			return err
		},
		"refs.parq": func(s *store.Store, folder, to string) error {
			_, err := kerchunk.Write(t.Context(), s, to, &kerchunk.Options{Relative: folder, Regular: true})
			return err
		},
		"plain.json": func(s *store.Store, _, to string) error {
			_, err := kerchunk.Write(t.Context(), s, to, &kerchunk.Options{})
			return err
		},
		"repo": func(s *store.Store, folder, to string) error {
			_, err := icechunk.Write(t.Context(), s, to, &icechunk.Options{Containers: []icechunk.Container{{Name: "a", Prefix: folder}}})
			return err
		},
	}
	for seed := range soak.Seeds(t, 6) {
		r := rand.New(rand.NewPCG(seed, 47))
		dir := t.TempDir()
		before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
		a := newArchive(t, r, filepath.Join(before, "files"), 1+int(seed%3))
		mustBuild(t, filepath.Join(dir, "a.varve"), a.files...)
		st, err := store.Open(t.Context(), filepath.Join(dir, "a.varve"), nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, export := range exports {
			if err := export(st, before, filepath.Join(before, name)); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		back := func(name, from string, settings readers.Settings) {
			out := filepath.Join(dir, name+filepath.Base(from)+".varve")
			opts := optionsFor(filepath.Join(from, name))
			opts.Plan.Formats = settings
			if _, err := Build(t.Context(), out, opts); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			if !a.check(t, out) {
				t.Fatalf("seed %d: other values from %s", seed, name)
			}
		}
		back("plain.json", before, nil)
		if err := os.Rename(before, after); err != nil {
			t.Fatal(err)
		}
		back("copy.zarr", after, nil)
		back("refs.json", after, readers.Settings{"relative": after})
		back("refs.parq", after, readers.Settings{"relative": after})
		back("repo", after, readers.Settings{"container": []string{"a=" + after}})
	}
}
