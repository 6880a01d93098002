package ingest

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"varve/fixtures"
	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/compact"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers"
	"varve/readers/source"
)

// repairable writes archives, and builds manifests of them in several steps.
var repairable = map[string]func(t *testing.T, r *rand.Rand, dir, out string){
	"demo with checksums": func(t *testing.T, _ *rand.Rand, dir, out string) {
		copied(t, fixtures.Demo, dir, plan.Options{})
		opts := optionsFor(dir)
		opts.Checksums = true
		if _, err := Build(t.Context(), out, opts); err != nil {
			t.Fatal(err)
		}
	},
	"appends": func(t *testing.T, r *rand.Rand, dir, out string) {
		copied(t, fixtures.Demo, dir, plan.Options{})
		files, err := filepath.Glob(filepath.Join(dir, "demo", "*.nc"))
		if err != nil {
			t.Fatal(err)
		}
		mustBuild(t, out, files[0])
		for _, name := range files[1:] {
			if _, err := Append(t.Context(), out, optionsFor(name)); err != nil {
				t.Fatal(err)
			}
		}
	},
	"compacted": func(t *testing.T, _ *rand.Rand, dir, out string) {
		copied(t, fixtures.Demo, dir, plan.Options{})
		mustBuild(t, out, dir)
		if _, err := compact.Compact(t.Context(), out, &compact.Options{Store: store.Options{Trusted: true}}); err != nil {
			t.Fatal(err)
		}
	},
	"netCDF-3": func(t *testing.T, r *rand.Rand, dir, out string) {
		newArchive(t, r, dir, 2)
		mustBuild(t, out, dir)
	},
	"names of ecCodes": func(t *testing.T, _ *rand.Rand, dir, out string) {
		copied(t, os.DirFS("../../fixtures/gribindex"), dir, plan.Options{}, "gfs.20240101.f006.grib2")
		opts := optionsFor(dir)
		opts.Plan.Vars, opts.Plan.Formats = []string{"2t", "prmsl"}, readers.Settings{"names": "eccodes"}
		if _, err := Build(t.Context(), out, opts); err != nil {
			t.Fatal(err)
		}
	},
	"shards": func(t *testing.T, _ *rand.Rand, dir, out string) {
		store := filepath.Join(dir, "a.zarr")
		if err := os.CopyFS(store, os.DirFS("../../fixtures/zarr/sharded")); err != nil {
			t.Fatal(err)
		}
		opts := optionsFor(store)
		opts.Plan.Vars, opts.Plan.Formats = []string{"start"}, readers.Settings{"keep-shards": true}
		if _, err := Build(t.Context(), out, opts); err != nil {
			t.Fatal(err)
		}
	},
	"HDF5 layouts": func(t *testing.T, _ *rand.Rand, dir, out string) {
		copied(t, os.DirFS("../../fixtures/hdf5"), dir, plan.Options{}, "layouts.h5")
		opts := optionsFor(dir)
		opts.Plan.Drop = []string{"external"}
		if _, err := Build(t.Context(), out, opts); err != nil {
			t.Skip(err)
		}
	},
}

// TestRepair damages each table of manifests in each way, repairs it, and compares it with the table from before.
func TestRepair(t *testing.T) {
	for name, build := range repairable {
		t.Run(name, func(t *testing.T) {
			configured(t)
			seed := soak.Seed(t)
			r := rand.New(rand.NewPCG(seed, 1))
			dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.varve")
			build(t, r, dir, out)
			snap := snapshotOf(t, out)
			answers := answersOf(t, out, true)
			for _, table := range snap.Tables {
				for what, damage := range damages {
					path := filepath.Join(out, filepath.FromSlash(table.Name))
					was, err := os.ReadFile(path)
					if err != nil {
						t.Fatal(err)
					}
					damage(t, r, path, was)
					opts := optionsFor()
					if table.Kind == manifest.Sources {
						if _, err := Repair(t.Context(), out, optionsFor()); !errors.Is(err, errNoSources) && len(snap.Tables) > 0 && !hasOther(snap, table) {
							t.Errorf("%s, %s: %v, want errNoSources", what, table.Kind, err)
						}
						opts.Sources.Names = []string{dir}
					}
					result, err := Repair(t.Context(), out, opts)
					if err != nil {
						t.Fatalf("%s, %s: %v", what, table.Kind, err)
					}
					if table.Kind == manifest.Chunks || table.Kind == manifest.Patches {
						if result.Snapshot == nil || result.Compacted == 0 || result.Snapshot.Parent != snap.ID {
							t.Errorf("%s, %s: %+v", what, table.Kind, result)
						}
						checkAnswers(t, out, answers)
						if err := os.WriteFile(path, was, 0o666); err != nil {
							t.Fatal(err)
						}
						restore(t, out, snap.ID)
						snap.ID = snapshotOf(t, out).ID
						continue
					}
					if is, err := os.ReadFile(path); err != nil || !bytes.Equal(is, was) {
						t.Errorf("%s, %s: another file: %v", what, table.Kind, err)
					}
					if id := snapshotOf(t, out).ID; id != snap.ID || len(result.Tables) != 1 {
						t.Errorf("%s, %s: %d tables are repaired, snapshot %s", what, table.Kind, len(result.Tables), id)
					}
				}
			}
			checkAnswers(t, out, answers)
			if result, err := Repair(t.Context(), out, optionsFor()); err != nil || len(result.Tables) > 0 || result.Snapshot != nil {
				t.Errorf("an intact manifest: %+v, %v", result, err)
			}
		})
	}
}

// damages are ways to damage a file.
var damages = map[string]func(t *testing.T, r *rand.Rand, path string, was []byte){
	"removed": func(t *testing.T, _ *rand.Rand, path string, _ []byte) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	},
	"truncated": func(t *testing.T, r *rand.Rand, path string, was []byte) {
		if err := os.WriteFile(path, was[:r.IntN(len(was))], 0o666); err != nil {
			t.Fatal(err)
		}
	},
	"changed": func(t *testing.T, r *rand.Rand, path string, was []byte) {
		b := bytes.Clone(was)
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
	},
}

// hasOther reports whether a snapshot has another table of the same kind.
func hasOther(snap *manifest.Snapshot, table manifest.Table) bool {
	return slices.ContainsFunc(snap.Tables, func(o manifest.Table) bool { return o.Kind == table.Kind && o.Name != table.Name })
}

// sourcesOf returns the files of an archive in order.
func sourcesOf(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func snapshotOf(t *testing.T, out string) *manifest.Snapshot {
	t.Helper()
	repository, err := repo.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	id, err := repository.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	snap, err := repository.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

func restore(t *testing.T, out, id string) {
	t.Helper()
	repository, err := repo.Open(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	if _, err := repository.Restore(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

// checkAnswers compares the values of a manifest with those from before.
func checkAnswers(t *testing.T, out string, was map[string]answer) {
	t.Helper()
	is := answersOf(t, out, true)
	for what := range maps.Keys(was) {
		if (was[what].err == nil) != (is[what].err == nil) || !bytes.Equal(was[what].data, is[what].data) {
			t.Errorf("%s: other values: %v", what, is[what].err)
		}
	}
}

// TestRepairRefuses checks that nothing is repaired from sources that changed.
func TestRepairRefuses(t *testing.T) {
	configured(t)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out.varve")
	copied(t, fixtures.Demo, dir, plan.Options{})
	snap := mustBuild(t, out, dir)
	refs := filepath.Join(out, filepath.FromSlash(snap.Tables[slices.IndexFunc(snap.Tables, func(t manifest.Table) bool { return t.Kind == manifest.Refs })].Name))
	if err := os.Remove(refs); err != nil {
		t.Fatal(err)
	}
	name := sourcesOf(t, dir)[1]
	if err := os.Chtimes(name, time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := Repair(t.Context(), out, optionsFor()); !errors.Is(err, source.ErrChanged) {
		t.Errorf("%v, want source.ErrChanged", err)
	}
	if _, err := os.Stat(refs); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a table was written: %v", err)
	}
	if left := sourcesOf(t, filepath.Join(out, "drafts")); len(left) > 0 {
		t.Errorf("drafts are left: %v", left)
	}
}
