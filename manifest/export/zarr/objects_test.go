package zarr

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/fixtures/soak"
	"varve/manifest/repo"
	"varve/readers/source/storetest"
)

const away = "s3://bucket/a b/copy%.zarr"

// below is the prefix of all keys of a copy.
const below = "bucket/a b/copy%.zarr/"

// files returns the contents of all objects of a copy, by their keys.
func files(m *storetest.Memory) map[string]string {
	all := map[string]string{}
	for _, name := range m.Names(below) {
		all[strings.TrimPrefix(name, below)] = string(m.Get(name))
	}
	return all
}

// fetched returns a folder with the objects of a copy in a store.
func fetched(t *testing.T, m *storetest.Memory) string {
	t.Helper()
	dir := t.TempDir()
	for key, content := range files(m) {
		name := filepath.Join(dir, filepath.FromSlash(key))
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// same compares a copy in a store with a copy in a folder.
func (s *sample) same(t *testing.T, m *storetest.Memory, o Options) {
	t.Helper()
	local := filepath.Join(t.TempDir(), "local")
	o.Append, o.Force = false, false
	s.copy(t, local, o)
	want := map[string]string{}
	err := filepath.WalkDir(local, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		key, _ := filepath.Rel(local, path)
		want[filepath.ToSlash(key)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := files(m)
	for key, content := range want {
		if now, ok := got[key]; !ok || now != content {
			t.Errorf("%s: is there: %t, of %d bytes, which are to be %d", key, ok, len(now), len(content))
		}
		delete(got, key)
	}
	for key := range got {
		t.Errorf("%s is left", key)
	}
}

// invisible checks that no reader finds a copy.
func invisible(t *testing.T, m *storetest.Memory) {
	t.Helper()
	for _, key := range []string{"zarr.json", ".zgroup", ".zmetadata", stateName} {
		if m.Get(below+key) != nil {
			t.Errorf("%s is there", key)
		}
	}
}

func TestObjects(t *testing.T) {
	for name, o := range map[string]Options{
		"as it is": {},
		"sharded":  {Chunks: []Edges{{Dim: "time", Sizes: []int64{5}}}, Shards: []Edges{{Dim: "time", Sizes: []int64{20}}}},
		"format 2": {Format: 2, Chunks: []Edges{{Dim: "time", Sizes: []int64{9}}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := storetest.NewMemory(t)
			s := newSample(t, january, february)
			s.copy(t, away, o)
			s.same(t, m, o)
			s.compare(t, fetched(t, m), cmp.Or(o.Format, 3))
			root := map[int]string{2: ".zmetadata"}[o.Format]
			if root == "" {
				root = "zarr.json"
			}
			puts := slices.DeleteFunc(m.Log(), func(r string) bool { return !strings.HasPrefix(r, "PUT "+below) || strings.Contains(r, "/.varve/") })
			if last := puts[len(puts)-1]; last != "PUT "+below+root {
				t.Errorf("stored last: %s", last)
			}
			if _, err := Write(t.Context(), s.store, away, nil); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), away) {
				t.Errorf("over a copy: %v", err)
			}
			s.same(t, m, o)
			s.append(t, march)
			o.Append = true
			if r := s.copy(t, away, o); !r.Appended {
				t.Errorf("appended: %+v", r)
			}
			s.same(t, m, o)
			o = Options{Force: true, Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}}}
			s.copy(t, away, o)
			s.same(t, m, o)
		})
	}
}

// TestObjectsOfOthers checks that objects that varve did not copy do not change.
func TestObjectsOfOthers(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put(below+"precious", []byte("x"))
	s := newSample(t, january)
	if _, err := Write(t.Context(), s.store, away, &Options{Force: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if got := files(m); len(got) != 1 {
		t.Errorf("there are %q", got)
	}
}

// stopAt stops a copy when it stores its nth chunk.
func stopAt(m *storetest.Memory, n int64, what func() storetest.Fault) {
	var seen atomic.Int64
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/c/") && seen.Add(1) > n {
			return what()
		}
		return nil
	})
}

// TestStoppedInStore stops copies before the end. No reader finds a copy, and the next attempt continues.
func TestStoppedInStore(t *testing.T) {
	o := Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}}, Workers: 1}
	for _, what := range []string{"denied", "cancelled"} {
		t.Run(what, func(t *testing.T) {
			m := storetest.NewMemory(t)
			s := newSample(t, january, february, march)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stopAt(m, 5, func() storetest.Fault {
				if what == "cancelled" {
					cancel()
				}
				return storetest.Denied
			})
			_, err := Write(ctx, s.store, away, &o)
			if want := map[string]error{"denied": fs.ErrPermission, "cancelled": context.Canceled}[what]; !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
			invisible(t, m)
			m.SetFault(nil)
			m.Pass(10 * time.Second)
			if _, err := Write(t.Context(), s.store, away, &Options{}); !errors.Is(err, fs.ErrExist) {
				t.Errorf("going on with other options: %v", err)
			}
			m.Pass(10 * time.Second)
			if r := s.copy(t, away, o); r.Resumed < 5 {
				t.Errorf("gone on: %+v", r)
			}
			s.same(t, m, o)
		})
	}
}

// TestKilledInStore checks that the claim of a killed copy excludes others until it expires, and that chunks without a
// stored record are copied again.
func TestKilledInStore(t *testing.T) {
	o := Options{Workers: 1}
	for _, force := range []bool{false, true} {
		m := storetest.NewMemory(t)
		s := newSample(t, january, february)
		stopAt(m, 2, func() storetest.Fault {
			m.SetFault(func(*http.Request) storetest.Fault { return storetest.Denied }) // nothing is heard of it any more
			return storetest.Denied
		})
		if _, err := Write(t.Context(), s.store, away, &o); !errors.Is(err, fs.ErrPermission) {
			t.Fatalf("got %v", err)
		}
		m.SetFault(nil)
		invisible(t, m)
		o.Force = force
		if _, err := Write(t.Context(), s.store, away, &o); !errors.Is(err, repo.ErrBusy) || !strings.Contains(err.Error(), away) {
			t.Errorf("at once: %v", err)
		}
		m.Pass(2 * time.Minute)
		s.copy(t, away, o)
		s.same(t, m, o)
	}
}

// TestTwoInStore checks that exactly one of several concurrent copies succeeds, and that the others are refused.
func TestTwoInStore(t *testing.T) {
	m := storetest.NewMemory(t)
	s := newSample(t, january, february)
	var wg sync.WaitGroup
	var done, busy atomic.Int64
	for range 4 {
		wg.Go(func() {
			_, err := Write(t.Context(), s.store, away, &Options{})
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, repo.ErrBusy), errors.Is(err, fs.ErrExist):
				busy.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if done.Load() != 1 || busy.Load() != 3 {
		t.Errorf("%d are done and %d were refused", done.Load(), busy.Load())
	}
	s.same(t, m, Options{})
}

// TestRootOfOthers checks that an export does not replace a root that another process stored meanwhile.
func TestRootOfOthers(t *testing.T) {
	m := storetest.NewMemory(t)
	s := newSample(t, january)
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "t2m/zarr.json") {
			m.Put(below+"zarr.json", []byte("theirs"))
		}
		return nil
	})
	if _, err := Write(t.Context(), s.store, away, nil); !errors.Is(err, repo.ErrConflict) {
		t.Errorf("got %v", err)
	}
	if got := string(m.Get(below + "zarr.json")); got != "theirs" || m.Get(below+stateName) != nil {
		t.Errorf("the root is %q", got)
	}
}

// TestFaultsOfStore copies while requests fail with every temporary error.
func TestFaultsOfStore(t *testing.T) {
	seed := soak.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	m := storetest.NewMemory(t)
	var mu sync.Mutex
	m.SetFault(func(r *http.Request) storetest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if faults := []storetest.Fault{storetest.Busy, storetest.Cut, storetest.Lost}; random.IntN(12) == 0 {
			return faults[random.IntN(len(faults))]
		}
		return nil
	})
	s := newSample(t, january, february)
	s.copy(t, away, Options{})
	m.SetFault(nil)
	s.same(t, m, Options{})
}

// TestCarelessStore checks that a store that ignores conditions is refused before anything is written.
func TestCarelessStore(t *testing.T) {
	m := storetest.NewMemory(t)
	m.SetCareless(true)
	s := newSample(t, january)
	if _, err := Write(t.Context(), s.store, away, nil); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), away) {
		t.Errorf("got %v", err)
	}
	if got := files(m); len(got) > 0 {
		t.Errorf("left %q", got)
	}
}
