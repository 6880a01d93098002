package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/readers/source"
)

// some returns a random part of a list, with at least one element, in the same order.
func some(r *rand.Rand, list []string) (out []string) {
	for len(out) == 0 {
		for _, s := range list {
			if r.IntN(3) > 0 {
				out = append(out, s)
			}
		}
	}
	return out
}

// modify gives files another modification time, so that they count as changed.
func modify(t *testing.T, names []string) {
	t.Helper()
	for _, name := range names {
		now := time.Unix(1e9+rand.Int64N(1e8), 0)
		if err := os.Chtimes(name, now, now); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRandomSyncs syncs a manifest with random parts of an archive, some files of which change in between, and then with the
// whole archive. The result must equal a new build.
func TestRandomSyncs(t *testing.T) {
	configured(t)
	n := uint64(60)
	if testing.Short() {
		n = 15
	}
	added, replaced, removed := 0, 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 7))
		a := newArchive(t, r, filepath.Join(t.TempDir(), "files"), []int{1, 2, 1, 3}[seed%4])
		opts := func(files []string) *Options {
			o := optionsFor(files...)
			if len(a.dims) > 1 {
				o.Plan.Concat = a.dims
			}
			if a.broadcasts != nil {
				o.Plan.Broadcast = a.broadcasts.broadcast
			}
			return o
		}
		out := filepath.Join(t.TempDir(), "a.varve")
		// The options of a part may refuse the rest, so the first build has all files.
		if _, err := Build(t.Context(), out, opts(a.files)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for step := range 4 {
			files := a.files
			if step < 3 {
				files = some(r, a.files)
			}
			if r.IntN(2) == 0 {
				modify(t, some(r, a.files)[:1])
			}
			result, err := Sync(t.Context(), out, opts(files))
			var refused *plan.Error
			if step < 3 && errors.As(err, &refused) {
				continue // a part of an archive may have holes
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			added, replaced, removed = added+len(result.Added), replaced+len(result.Replaced), removed+len(result.Removed)
			if again, err := Sync(t.Context(), out, opts(files)); err != nil || again.IsNew() || again.Kept != int64(len(files)) {
				t.Fatalf("seed %d: the second sync: %+v, %v", seed, again, err)
			}
		}
		if !a.check(t, out) || a.broadcasts != nil && !a.broadcasts.check(t, out) {
			t.Fatalf("seed %d: other values", seed)
		}
		fresh := filepath.Join(t.TempDir(), "b.varve")
		built, err := Build(t.Context(), fresh, opts(a.files))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := facts(t, current(t, out)), facts(t, built.Snapshot); got != want {
			t.Fatalf("seed %d: the synced manifest is\n%s\nand a built one\n%s", seed, got, want)
		}
	}
	t.Logf("%d files added, %d replaced, %d removed", added, replaced, removed)
	if added == 0 || replaced == 0 || removed == 0 {
		t.Error("some kind of change did not occur")
	}
}

// current returns the current snapshot of a manifest.
func current(t *testing.T, dir string) *manifest.Snapshot {
	t.Helper()
	r, err := repo.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	id, err := r.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRefresh checks that only named files are scanned again, that a file that is gone is an error, and that removing all
// files is refused.
func TestRefresh(t *testing.T) {
	configured(t)
	r := rand.New(rand.NewPCG(3, 9))
	a := newArchive(t, r, filepath.Join(t.TempDir(), "files"), 1)
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := Build(t.Context(), out, optionsFor(a.files...)); err != nil {
		t.Fatal(err)
	}
	modify(t, a.files)
	last := a.files[len(a.files)-1]
	result, err := Refresh(t.Context(), out, optionsFor(last))
	if err != nil || !slices.Equal(result.Replaced, []string{last}) || result.Kept != int64(len(a.files)-1) {
		t.Fatalf("%+v, %v", result, err)
	}
	if result, err = Refresh(t.Context(), out, optionsFor()); err != nil || len(result.Replaced) != len(a.files)-1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if !a.check(t, out) {
		t.Error("other values")
	}
	before := current(t, out).ID
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if _, err := Refresh(t.Context(), out, optionsFor()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
	if _, err := Sync(t.Context(), out, optionsFor()); !errors.Is(err, ErrNoFiles) {
		t.Errorf("no files: %v", err)
	}
	if _, err := Refresh(t.Context(), out, optionsFor(out+"/current")); !errors.Is(err, ErrNoSource) {
		t.Errorf("a file that is no source: %v", err)
	}
	all := func(files []*manifest.File) ([]bool, error) { return slices.Repeat([]bool{true}, len(files)), nil }
	if _, err := Remove(t.Context(), out, all, nil); err == nil {
		t.Error("all sources were removed")
	}
	if current(t, out).ID != before {
		t.Error("a refused command made a snapshot")
	}
}

// TestRefreshOfVersions checks that references which say the version of a file are not used for another one.
func TestRefreshOfVersions(t *testing.T) {
	configured(t)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "a.varve")
	name, data := filepath.Join(dir, writeKerchunk(t, dir, 0)), filepath.Join(dir, "part0.bin")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Trim(string(regexp.MustCompile(`"[^"]*part0\.bin"`).Find(text)), `"`)
	versions := fmt.Sprintf(`{"version":1,"sources":{%q:{"size":%d,"modified":%q}},"refs":%s}`, url, info.Size(), info.ModTime().UTC().Format(time.RFC3339Nano), refsOf(t, text))
	if err := os.WriteFile(name, []byte(versions), 0o666); err != nil {
		t.Fatal(err)
	}
	mustBuild(t, out, name)
	if r, err := Refresh(t.Context(), out, optionsFor()); err != nil || r.IsNew() {
		t.Fatalf("refresh without changes: %+v, %v", r, err)
	}
	for _, change := range []func() error{
		func() error { later := info.ModTime().Add(time.Hour); return os.Chtimes(data, later, later) },
		func() error {
			return errors.Join(os.Truncate(data, info.Size()+8), os.Chtimes(data, info.ModTime(), info.ModTime()))
		},
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if _, err := Refresh(t.Context(), out, optionsFor()); err == nil || !strings.Contains(err.Error(), "part0.bin") || !errors.Is(err, source.ErrChanged) {
			t.Errorf("refresh after a change: %v", err)
		}
	}
}

// refsOf returns the member "refs" of a set of references.
func refsOf(t *testing.T, text []byte) json.RawMessage {
	t.Helper()
	var set struct{ Refs json.RawMessage }
	if err := json.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	return set.Refs
}

// TestSyncOfReferences checks that sources keep what they name in other files when other sources are removed or scanned again,
// and that a source is scanned again if a file that it names has changed.
func TestSyncOfReferences(t *testing.T) {
	configured(t)
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "a.varve")
	var files []string
	for i := range 4 {
		files = append(files, filepath.Join(dir, writeKerchunk(t, dir, i)))
	}
	mustBuild(t, out, files...)
	check := func(step string, r *SyncResult, err error, replaced, left []string) {
		t.Helper()
		if err != nil || !slices.Equal(r.Replaced, replaced) {
			t.Fatalf("%s: %+v, %v; want %q", step, r, err, replaced)
		}
		got, names, err := describe(t.Context(), out)
		if err != nil || !slices.Equal(names, left) {
			t.Fatalf("%s: %q, %v; want %q", step, names, err, left)
		}
		fresh := filepath.Join(t.TempDir(), "b.varve")
		mustBuild(t, fresh, left...)
		if want, _, err := describe(t.Context(), fresh); err != nil || got != want {
			t.Fatalf("%s: %v: the manifest has\n%s", step, err, difference(got, want))
		}
	}
	r, err := Refresh(t.Context(), out, optionsFor())
	check("refresh without changes", r, err, nil, files)
	modify(t, []string{filepath.Join(dir, "part1.bin")})
	r, err = Refresh(t.Context(), out, optionsFor())
	check("refresh", r, err, files[1:2], files)
	modify(t, files[2:3])
	r, err = Refresh(t.Context(), out, optionsFor())
	check("refresh of the references", r, err, files[2:3], files)
	r, err = Remove(t.Context(), out, func(all []*manifest.File) (gone []bool, err error) {
		for _, f := range all {
			gone = append(gone, f.URL == files[0])
		}
		return gone, nil
	}, optionsFor())
	check("remove", r, err, nil, files[1:])
	modify(t, []string{filepath.Join(dir, "shared.bin")})
	// The other sources still name the former version.
	if r, err = Refresh(t.Context(), out, optionsFor(files[3])); err != nil || !slices.Equal(r.Replaced, files[3:]) {
		t.Fatalf("refresh of one: %+v, %v", r, err)
	}
	r, err = Sync(t.Context(), out, optionsFor(files[1], files[3]))
	check("sync", r, err, files[1:2], []string{files[1], files[3]})
	modify(t, []string{filepath.Join(dir, "part3.bin")})
	o := optionsFor(dir)
	r, err = SyncFiles(t.Context(), out, []string{filepath.Join(dir, "part3.bin"), filepath.Join(dir, "other.bin")}, o)
	check("sync of a file", r, err, files[3:], []string{files[1], files[3]})
}
