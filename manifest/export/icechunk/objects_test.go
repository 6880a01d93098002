package icechunk

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/repo"
	"varve/readers/source/storetest"
)

const (
	away  = "s3://bucket/a b/repo%"
	below = "bucket/a b/repo%/"
)

// stored returns the contents of a repository's objects.
func stored(m *storetest.Memory) map[string][]byte {
	out := map[string][]byte{}
	for _, name := range m.Names(below) {
		out[strings.TrimPrefix(name, below)] = m.Get(name)
	}
	return out
}

// isStored checks that a repository in a store has the same objects as one in a folder, and no others.
func isStored(t *testing.T, m *storetest.Memory, dir string) {
	t.Helper()
	got, want := stored(m), tree(t, dir)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if !bytes.Equal(got[key], want[key]) {
			t.Errorf("%s: %d bytes, want %d", key, len(got[key]), len(want[key]))
		}
		delete(got, key)
	}
	for key := range got {
		t.Errorf("%s is left", key)
	}
}

// lastPut returns the object of the repository that was stored last.
func lastPut(m *storetest.Memory) (last string) {
	for _, r := range m.Log() {
		if key, ok := strings.CutPrefix(r, "PUT "+below); ok {
			last = key
		}
	}
	return last
}

// TestObjects checks that creating, appending and replacing write the same files in a store as in a folder,
// and that repo is stored last.
func TestObjects(t *testing.T) {
	m := storetest.NewMemory(t)
	a := newArchive(t)
	v := a.add(t, "/g/v", 3, 2, 3, 2)
	v.kinds[1] = manifest.Reencoded
	local := filepath.Join(t.TempDir(), "repo")
	opts := Options{InlineBytes: 1, Workers: 1, clock: func() time.Time { return fixed }}
	both := func() {
		t.Helper()
		r := a.export(t, away, opts)
		if l := a.export(t, local, opts); r.Appended != l.Appended || r.Unchanged != l.Unchanged || r.Snapshot != l.Snapshot || r.Counts != l.Counts {
			t.Errorf("%+v, in a folder %+v", r, l)
		}
		if last := lastPut(m); !r.Unchanged && last != repoKey {
			t.Errorf("stored last: %s", last)
		}
		isStored(t, m, local)
	}
	both()
	a.id = "second"
	v.grow(t, 3, 2, 3, 2, 4)
	both()
	both()
	opts.Replace = true
	a.id = "third"
	both()
}

func TestOthersInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	a := newArchive(t)
	a.add(t, "/v", 3, 2, 3)
	m.Put(below+"precious", nil)
	if _, err := a.try(away, Options{Replace: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if got := stored(m); len(got) != 1 {
		t.Errorf("there are %q", fileNames(got))
	}
	m.Remove(below + "precious")
	m.Put(below+"refs/branch.main/ref.json", nil)
	if _, err := a.try(away, Options{}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "Icechunk 1") {
		t.Errorf("got %v", err)
	}
	m.SetCareless(true)
	if _, err := a.try("s3://bucket/other", Options{}); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "s3://bucket/other") {
		t.Errorf("got %v", err)
	}
	if got := m.Names("bucket/other"); len(got) > 0 {
		t.Errorf("there are %q", got)
	}
}

// TestStoppedInStore stops exports before the file repo: the old repo or none remains, and the new objects
// are removed. Objects of a killed export block later ones, except with Replace.
func TestStoppedInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	a := newArchive(t)
	v := a.add(t, "/v", 3, 2, 3)
	deny := func(all bool) {
		var dead atomic.Bool
		m.SetFault(func(r *http.Request) storetest.Fault {
			if r.Method == http.MethodPut && strings.HasPrefix(r.URL.Path, "/"+below+"snapshots/") && !strings.HasSuffix(r.URL.Path, firstSnapshot.String()) {
				dead.Store(all)
				return storetest.Denied
			}
			if dead.Load() {
				return storetest.Denied
			}
			return nil
		})
	}
	deny(false)
	if _, err := a.try(away, Options{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	for key := range stored(m) {
		if !strings.HasSuffix(key, "/"+firstSnapshot.String()) {
			t.Errorf("%s is left", key)
		}
	}
	deny(true)
	if _, err := a.try(away, Options{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	m.SetFault(nil)
	if len(stored(m)) < 4 || stored(m)[repoKey] != nil {
		t.Errorf("there are %q", fileNames(stored(m)))
	}
	if _, err := a.try(away, Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over the rest: %v", err)
	}
	a.id = "second"
	a.export(t, away, Options{Replace: true})
	before := stored(m)
	a.id = "third"
	v.grow(t, 3, 2, 3, 4)
	for _, replace := range []bool{false, true} {
		deny(false)
		if _, err := a.try(away, Options{Replace: replace}); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
		m.SetFault(nil)
		if got := stored(m); !maps.EqualFunc(got, before, bytes.Equal) && !replace {
			t.Errorf("there are %q, not %q", fileNames(got), fileNames(before))
		} else if !slices.Equal(fileNames(got), fileNames(before)) || !bytes.Equal(got[repoKey], before[repoKey]) {
			t.Errorf("there are %q, not %q", fileNames(got), fileNames(before))
		}
	}
}

// TestMeanwhileInStore checks that an export removes its objects if another process has committed or created
// the repository.
func TestMeanwhileInStore(t *testing.T) {
	for name, opts := range map[string]*Options{"made": nil, "appended": {}, "replaced": {Replace: true}} {
		t.Run(name, func(t *testing.T) {
			m := storetest.NewMemory(t)
			a := newArchive(t)
			v := a.add(t, "/v", 3, 2, 3)
			if opts != nil {
				a.export(t, away, Options{})
				a.id = "second"
				v.grow(t, 3, 2, 3, 4)
			}
			before := fileNames(stored(m))
			in := a.input()
			in.source = func(_ context.Context, row int64) (manifest.Source, error) {
				m.Put(below+repoKey, []byte("theirs"))
				return a.sources[row], nil
			}
			if _, err := write(t.Context(), in, away, opts.defaults(), a); !errors.Is(err, repo.ErrConflict) {
				t.Errorf("got %v", err)
			}
			after := fileNames(stored(m))
			after = slices.DeleteFunc(after, func(key string) bool {
				return !slices.Contains(before, key) && (key == repoKey || strings.HasSuffix(key, firstSnapshot.String()))
			})
			if !slices.Equal(after, before) || string(stored(m)[repoKey]) != "theirs" {
				t.Errorf("there are %q, not %q", after, before)
			}
		})
	}
}

// TestLostAnswers checks that the outcome of requests without answers is found out.
func TestLostAnswers(t *testing.T) {
	m := storetest.NewMemory(t)
	a := newArchive(t)
	v := a.add(t, "/v", 3, 2, 3)
	for _, id := range []string{"first", "second"} {
		a.id = id
		var lost atomic.Bool
		m.SetFault(func(r *http.Request) storetest.Fault {
			if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/"+repoKey) && !lost.Swap(true) {
				return storetest.Lost
			}
			return nil
		})
		if a.export(t, away, Options{}); !lost.Load() {
			t.Error("nothing was lost")
		}
		v.grow(t, 3, 2, 3, 4)
	}
}
