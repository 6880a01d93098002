package ingest

import (
	"path/filepath"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
)

// TestGeneration: a manifest has the lowest generation of varve that scanned or planned any of its
// sources, until it is built again.
func TestGeneration(t *testing.T) {
	folder := "../../fixtures/hdf5/"
	out := filepath.Join(t.TempDir(), "out.varve")
	options := func(force bool, names ...string) *Options {
		o := &Options{Sources: Sources{Names: names}, Force: force}
		o.Plan.Concat = []string{"phony_dim_0"}
		return o
	}
	one, two := folder+"phony_numbers_1.h5", folder+"phony_numbers_2.h5"
	repository := func(do func(r *repo.Repository) error) {
		t.Helper()
		r, err := repo.Open(t.Context(), out)
		if err != nil {
			t.Fatal(err)
		}
		if err := closing(r, do(r)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, made *Result, err error, want int) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		repository(func(r *repo.Repository) error {
			kept, err := r.Load(t.Context(), made.Snapshot.ID)
			if err == nil && (made.Snapshot.Generation != want || kept.Generation != want) {
				t.Errorf("%s: the generation is %d, stored as %d, want %d", what, made.Snapshot.Generation, kept.Generation, want)
			}
			return err
		})
	}
	made, err := Build(t.Context(), out, options(false, one))
	check("built", made, err, manifest.Generation)
	repository(func(r *repo.Repository) error {
		parent := made.Snapshot.ID
		older := *made.Snapshot
		older.ID, older.Created, older.Parent, older.Generation = "", time.Time{}, parent, 0
		return r.Publish(t.Context(), &older, parent)
	})
	made, err = Append(t.Context(), out, options(false, two))
	check("appended to an older one", made, err, 0)
	made, err = Build(t.Context(), out, options(true, one))
	check("built again", made, err, manifest.Generation)
	made, err = Append(t.Context(), out, options(false, two))
	check("appended to", made, err, manifest.Generation)
}

// TestGenerationOfPart: a scan part records the generation of varve that wrote it.
func TestGenerationOfPart(t *testing.T) {
	name := filepath.Join(t.TempDir(), "part")
	if _, err := Scan(t.Context(), name, &Options{Sources: Sources{Names: []string{"../../fixtures/hdf5/phony_numbers_1.h5"}}}); err != nil {
		t.Fatal(err)
	}
	file, err := openPartFile(name)
	if err != nil {
		t.Fatal(err)
	}
	part, err := table.OpenPart(name, file, table.NewCache(1<<20))
	if err != nil {
		t.Fatal(err)
	}
	if part.Generation != manifest.Generation {
		t.Errorf("the part has generation %d, want %d", part.Generation, manifest.Generation)
	}
	if err := part.Close(); err != nil {
		t.Error(err)
	}
}
