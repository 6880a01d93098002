package ingest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/manifest"
	"varve/manifest/export/kerchunk"
	"varve/manifest/plan"
	"varve/manifest/relocate"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/manifest/verify"
)

// versionsFolder is where the sources were when the manifests in testdata/versions were written:
//
//	cp fixtures/demo/2021-*.nc /tmp/varve-archive/
//	varve build N.varve /tmp/varve-archive/2021-01.nc /tmp/varve-archive/2021-02.nc
//	varve append N.varve /tmp/varve-archive/2021-03.nc
//	varve compact N.varve
//
// Version 2 was built with --flip lat=decreasing --longitudes -180..180.
const versionsFolder = "/tmp/varve-archive"

// storedVersion copies the manifest of a stored version, and says where its sources are now.
func storedVersion(t *testing.T, name string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a.varve")
	if err := os.CopyFS(dir, os.DirFS(name)); err != nil {
		t.Fatal(err)
	}
	demo, err := filepath.Abs("../../fixtures/demo")
	if err == nil {
		_, err = relocate.Relocate(t.Context(), dir, &relocate.Options{Moves: []relocate.Move{{From: versionsFolder, To: demo}}, Allow: []string{demo}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStoredVersions opens manifests of each stored version of the format, and compares their values with those of a manifest
// that is built now. Every version that was released must stay readable.
func TestStoredVersions(t *testing.T) {
	configured(t)
	names, err := filepath.Glob("testdata/versions/*.varve")
	if err != nil || len(names) != manifest.VersionOfViews {
		t.Fatalf("%d manifests, %v; every version needs one", len(names), err)
	}
	for i, name := range names {
		dir := storedVersion(t, name)
		fresh, opts := filepath.Join(t.TempDir(), "fresh.varve"), optionsFor("../../fixtures/demo/2021-01.nc", "../../fixtures/demo/2021-02.nc", "../../fixtures/demo/2021-03.nc")
		if i == 1 {
			opts.Plan.Longitudes, opts.Plan.Flip = plan.Around0, map[string]plan.Direction{"lat": plan.Decreasing}
		}
		if outcome, err := Build(t.Context(), fresh, opts); err != nil || outcome.Snapshot.Varve != i+1 {
			t.Fatal(outcome, err)
		}
		for _, path := range []string{"/t2m", "/time", "/lat", "/lon"} {
			got, _ := decoded(t, dir, path, false)
			want, _ := decoded(t, fresh, path, false)
			if !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("%s: %s has the values %v, not %v", name, path, got, want)
			}
		}
		var messages int
		r, err := repo.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		for snap, err := range r.History(t.Context()) {
			if err == nil {
				err = r.Check(t.Context(), snap)
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			messages++
		}
		if err := r.Close(); err != nil || messages != 4 {
			t.Errorf("%s: %d snapshots, %v", name, messages, err)
		}
		outcome, err := Append(t.Context(), dir, optionsFor("../../fixtures/demo/2021-03.nc"))
		if err == nil {
			t.Errorf("%s: a file was appended again: %d sources", name, outcome.Snapshot.Sources)
		}
	}
}

// TestDamagedVersions changes single bytes of every file of a stored manifest. Each change must be noticed.
func TestDamagedVersions(t *testing.T) {
	configured(t)
	random := rand.New(rand.NewPCG(1, 0))
	dir := storedVersion(t, "testdata/versions/1.varve")
	snap := mustCheck(t, dir)
	needed := []string{"current", "snapshots/" + snap.ID + ".json"}
	for _, table := range snap.Tables {
		needed = append(needed, table.Name)
	}
	for _, name := range needed {
		file := filepath.Join(dir, filepath.FromSlash(name))
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for range 12 {
			bad := bytes.Clone(content)
			at := random.IntN(len(bad) - 1) // the last byte of current is a newline
			bad[at] ^= 1 << random.IntN(8)
			if err := os.WriteFile(file, bad, 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := checked(t.Context(), dir)
			var damage *manifest.DamageError
			if err == nil || !errors.As(err, &damage) && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: byte %d is %#x instead of %#x: %v", name, at, bad[at], content[at], err)
			}
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	mustCheck(t, dir)
}

// checked reads all files of the current snapshot.
func checked(ctx context.Context, dir string) (*manifest.Snapshot, error) {
	r, err := repo.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	id, err := r.Current(ctx)
	if err != nil {
		return nil, err
	}
	snap, err := r.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	return snap, r.Check(ctx, snap)
}

func mustCheck(t *testing.T, dir string) *manifest.Snapshot {
	t.Helper()
	snap, err := checked(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// TestDamagedSideFile changes a byte of the file of re-encoded chunks beside references. A manifest of the references must
// not read it.
func TestDamagedSideFile(t *testing.T) {
	configured(t)
	temp := t.TempDir()
	out, refs, again := filepath.Join(temp, "a.varve"), filepath.Join(temp, "refs.json"), filepath.Join(temp, "again.varve")
	mustBuild(t, out, "../../fixtures/demo/2021-01.nc", "../../fixtures/demo/2021-02.nc", "../../fixtures/demo/2021-03.nc")
	s, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := kerchunk.Write(t.Context(), s, refs, &kerchunk.Options{InlineBytes: 1}); err != nil {
		t.Fatal(err)
	}
	side := sideFile(t, temp)
	opts := optionsFor(refs)
	demo, err := filepath.Abs("../../fixtures/demo")
	if err != nil {
		t.Fatal(err)
	}
	opts.Allow = []string{demo, temp}
	if _, err := Build(t.Context(), again, opts); err != nil {
		t.Fatal(err)
	}
	if problems := problemsOf(t, again); len(problems) > 0 {
		t.Fatal(problems)
	}
	content, err := os.ReadFile(side)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, len(content) / 2, len(content) - 1} {
		bad := bytes.Clone(content)
		bad[at] ^= 0x10
		if err := os.WriteFile(side, bad, 0o666); err != nil {
			t.Fatal(err)
		}
		if len(problemsOf(t, again)) == 0 {
			t.Errorf("byte %d of %s was changed, and nothing is wrong", at, side)
		}
	}
}

// sideFile returns the file that is neither a manifest nor the references.
func sideFile(t *testing.T, dir string) (side string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && filepath.Ext(e.Name()) != ".json" {
			side = filepath.Join(dir, e.Name())
		}
	}
	if side == "" {
		t.Fatal("the export has no file of re-encoded chunks")
	}
	return side
}

func problemsOf(t *testing.T, dir string) []verify.Problem {
	t.Helper()
	s, err := store.Open(t.Context(), dir, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := verify.Verify(t.Context(), s, &verify.Options{Deep: true})
	if err != nil {
		t.Fatal(err)
	}
	return r.Problems
}
