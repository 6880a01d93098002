package kerchunk

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/repo"
	"varve/readers/source/storetest"
)

const prefix = "s3://bucket/a b/"

// stored is an archive whose sources are in an object store.
func stored(t *testing.T, m *storetest.Memory) *archive {
	t.Helper()
	a := regularArchive(t)
	for _, name := range a.files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m.Put("bucket/sources/"+filepath.Base(name), content)
	}
	a.source = func(_ context.Context, row int64) (manifest.Source, error) {
		return manifest.Source{URL: "s3://bucket/sources/" + filepath.Base(a.files[row])}, nil
	}
	return a
}

// namesIn returns the suffixes of an export's keys.
func namesIn(m *storetest.Memory) (names []string) {
	for _, name := range m.Names("bucket/a b/") {
		names = append(names, strings.TrimPrefix(name, "bucket/a b/"))
	}
	return names
}

// same compares an export in a store with one in a folder with the same options and patch URL.
func (a *archive) same(m *storetest.Memory, at string, r *Result, opts *Options) {
	a.t.Helper()
	o := Options{}
	if opts != nil {
		o = *opts
	}
	o.Force = false
	if o.PatchURL = r.Patches; o.PatchURL == "" {
		o.PatchURL = at + "/" + patchesName // as the file would be called
	}
	dir := a.t.TempDir()
	local := filepath.Join(dir, filepath.Base(at))
	if _, err := write(a.t.Context(), a.hierarchy, local, &o); err != nil {
		a.t.Fatal(err)
	}
	got := map[string]string{}
	for _, key := range namesIn(m) {
		if base := strings.TrimPrefix(at, prefix); strings.HasPrefix(key, base) {
			name := regexp.MustCompile(`-[A-Z2-7]{26}$`).ReplaceAllString(key, "")
			got[name] = string(m.Get("bucket/a b/" + key))
		}
	}
	want := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		key, _ := filepath.Rel(dir, path)
		want[filepath.ToSlash(key)] = string(content)
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			a.t.Errorf("%s has %d bytes, and not the %d that it is to have", key, len(got[key]), len(want[key]))
		}
		delete(got, key)
	}
	for key := range got {
		a.t.Errorf("%s is left", key)
	}
}

func TestObjects(t *testing.T) {
	for name, first := range map[string]string{"r.json": "r.json", "r.parquet": "r.parquet/.zmetadata"} {
		t.Run(name, func(t *testing.T) {
			m := storetest.NewMemory(t)
			a := stored(t, m)
			at := prefix + name
			result, err := write(t.Context(), a.hierarchy, at, &Options{InlineBytes: 1})
			if err != nil || result.Patched == 0 || !strings.HasPrefix(result.Patches, at) {
				t.Fatalf("%+v, %v", result, err)
			}
			a.same(m, at, result, &Options{InlineBytes: 1})
			var puts []string
			for _, r := range m.Log() {
				if strings.HasPrefix(r, "PUT bucket/a b/") && !strings.Contains(r, "/.varve/") {
					puts = append(puts, strings.TrimPrefix(r, "PUT bucket/a b/"))
				}
			}
			if i := slices.Index(puts, first); i != len(puts)-1 {
				t.Errorf("%s was not stored last: %q", first, puts)
			}
			before := namesIn(m)
			if _, err := write(t.Context(), a.hierarchy, at, nil); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), at) {
				t.Errorf("over an export: %v", err)
			}
			carried := a.hierarchy
			carried.past, _ = pastOf(nil, nil)
			_, err = write(t.Context(), carried, at, nil)
			var advice *manifest.RemedyError
			if !errors.Is(err, errors.ErrUnsupported) || !errors.As(err, &advice) || advice.Remedies[0].Option != "force" {
				t.Errorf("appended: %v", err)
			}
			if got := namesIn(m); !slices.Equal(got, before) {
				t.Errorf("there are %q, not %q", got, before)
			}
			for _, opts := range []*Options{{Force: true, InlineBytes: 1, RecordSize: 3}, {Force: true}} {
				if result, err = write(t.Context(), a.hierarchy, at, opts); err != nil {
					t.Fatal(err)
				}
				a.same(m, at, result, opts)
			}
		})
	}
}

// TestElsewhere checks that patches go into the references if the sources are not in the store.
func TestElsewhere(t *testing.T) {
	storetest.NewMemory(t)
	a := regularArchive(t)
	for _, name := range []string{"r.json", "r.parquet"} {
		result, err := write(t.Context(), a.hierarchy, prefix+name, &Options{InlineBytes: 1})
		if err != nil || result.Patched > 0 {
			t.Errorf("%+v, %v", result, err)
		}
		a.check(prefix + name)
	}
}

// TestOthersInStore checks that objects that are not an earlier export stay unchanged.
func TestOthersInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	a := stored(t, m)
	for key, at := range map[string]string{
		"precious/x": "precious", "c.zarr/.varve/copy.json": "c.zarr", "folder.json/x": "folder.json",
	} {
		m.Put("bucket/a b/"+key, []byte("x"))
		if _, err := write(t.Context(), a.hierarchy, prefix+at, &Options{Force: true}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", at, err)
		}
	}
	if got := namesIn(m); len(got) != 3 {
		t.Errorf("there are %q", got)
	}
}

// TestStoppedInStore checks that a stopped export is not visible, whatever it replaced, and does not block
// later ones.
func TestStoppedInStore(t *testing.T) {
	for _, force := range []bool{false, true} {
		m := storetest.NewMemory(t)
		a := stored(t, m)
		at, opts := prefix+"r.parquet", &Options{RecordSize: 3, Force: force}
		if force {
			if _, err := write(t.Context(), a.hierarchy, at, nil); err != nil {
				t.Fatal(err)
			}
		}
		var seen atomic.Int64
		m.SetFault(func(r *http.Request) storetest.Fault {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".parq") && seen.Add(1) > 3 {
				return storetest.Denied
			}
			return nil
		})
		if _, err := write(t.Context(), a.hierarchy, at, opts); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
		m.SetFault(nil)
		m.Pass(10 * time.Second)
		if names := namesIn(m); slices.Contains(names, "r.parquet/.zmetadata") || len(names) < 2 {
			t.Errorf("there are %q", names)
		}
		result, err := write(t.Context(), a.hierarchy, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		a.same(m, at, result, nil)
	}
}

// TestMeanwhileInStore checks that objects stored by another process during an export stay.
func TestMeanwhileInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	a := stored(t, m)
	var claimed, listings atomic.Int64
	m.SetFault(func(r *http.Request) storetest.Fault {
		switch {
		case r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/.varve/claim"):
			claimed.Add(1)
		case r.Method == http.MethodGet && claimed.Load() > 0 && r.URL.Query().Has("list-type") && listings.Add(1) == 2:
			m.Put("bucket/a b/r.parquet/repo", []byte("theirs"))
		}
		return nil
	})
	if _, err := write(t.Context(), a.hierarchy, prefix+"r.parquet", nil); !errors.Is(err, repo.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if got := namesIn(m); !slices.Equal(got, []string{"r.parquet/repo"}) {
		t.Errorf("there are %q", got)
	}
}

// TestFasterInStore checks that of two processes that replace the same references one wins, and that the
// other removes its objects.
func TestFasterInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	a := stored(t, m)
	at := prefix + "r.json"
	if _, err := write(t.Context(), a.hierarchy, at, &Options{InlineBytes: 1}); err != nil {
		t.Fatal(err)
	}
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, ".patches-") {
			m.Put("bucket/a b/r.json", []byte("theirs"))
		}
		return nil
	})
	if _, err := write(t.Context(), a.hierarchy, at, &Options{InlineBytes: 1, Force: true}); !errors.Is(err, repo.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if got := namesIn(m); len(got) != 2 || string(m.Get("bucket/a b/r.json")) != "theirs" {
		t.Errorf("there are %q", got)
	}
	m.Put("bucket/a b/r.parquet/.varve/claim", []byte("somebody"))
	if _, err := write(t.Context(), a.hierarchy, prefix+"r.parquet", nil); !errors.Is(err, repo.ErrBusy) {
		t.Errorf("while another export has the claim: %v", err)
	}
	m.Pass(2 * time.Minute)
	result, err := write(t.Context(), a.hierarchy, prefix+"r.parquet", nil)
	if err != nil {
		t.Fatal(err)
	}
	a.same(m, prefix+"r.parquet", result, nil)
}
