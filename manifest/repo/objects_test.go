package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/internal/home"
	"varve/readers/source/storetest"
)

// TestRequests counts the requests that opening, reading and publishing a manifest make.
func TestRequests(t *testing.T) {
	m := storetest.NewMemory(t)
	h := &homes{store: m}
	r := h.repository(t)
	snap := mustPublish(t, r, "one", "two", strings.Repeat("three", 1<<18))
	m.Log()
	again := reopen(t, r)
	if got := current(t, again); got.ID != snap.ID {
		t.Errorf("opened snapshot %s", got.ID)
	}
	if log := m.Log(); len(log) != 3 { // current to open, current to read, the snapshot
		t.Errorf("opening: %q", log)
	}
	for round := range 3 {
		for _, table := range snap.Tables[:2] {
			f, err := again.OpenTable(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			if log := m.Log(); len(log) > 0 {
				t.Errorf("opening a table: %q", log)
			}
			for i := range f.Size() {
				if _, err := f.ReadAt(make([]byte, 1), i); err != nil {
					t.Fatal(err)
				}
			}
			if log := m.Log(); round == 0 && len(log) != 1 || round > 0 && len(log) > 0 {
				t.Errorf("reading a table: %q", log)
			}
		}
	}
	if err := again.Check(t.Context(), snap); err != nil {
		t.Error(err)
	}
	if log := m.Log(); len(log) > 8 {
		t.Errorf("reading all tables: %q", log)
	}
	next := *snap
	next.Created = next.Created.AddDate(0, 0, 1)
	if err := r.Publish(t.Context(), &next, snap.ID); err != nil {
		t.Fatal(err)
	}
	// 4 for the lease, current, 3 tables, the snapshot, current, and the end of the lease: this Repository has not read the
	// snapshot whose tables it keeps.
	if log := m.Log(); len(log) != 11 {
		t.Errorf("publishing: %d requests, %q", len(log), log)
	}
	loaded, snap, err := OpenCurrent(t.Context(), r.Name())
	if err != nil {
		t.Fatal(err)
	}
	if log := m.Log(); len(log) != 2 {
		t.Errorf("opening the current snapshot: %q", log)
	}
	next = *snap
	next.Created = next.Created.AddDate(0, 0, 1)
	if err := errors.Join(loaded.Publish(t.Context(), &next, snap.ID), loaded.Close()); err != nil {
		t.Fatal(err)
	}
	if log := m.Log(); len(log) != 8 {
		t.Errorf("publishing after it was read: %d requests, %q", len(log), log)
	}
}

// TestRequestsOfGC counts the requests by which a GC removes many files.
func TestRequestsOfGC(t *testing.T) {
	m := storetest.NewMemory(t)
	r := (&homes{store: m}).repository(t)
	mustPublish(t, r, "one")
	const left = 1500
	for n := range left {
		m.Put(strings.TrimPrefix(r.Name(), "s3://")+fmt.Sprintf("/tables/refs-%064x.parquet", n), nil)
	}
	m.Log()
	done, err := r.GC(t.Context(), &GCOptions{Keep: 1})
	if err != nil || len(done.Files) != left {
		t.Errorf("removed %d files, %v", len(done.Files), err)
	}
	removing := 0
	for _, request := range m.Log() {
		if strings.HasPrefix(request, "POST ") || strings.HasPrefix(request, "DELETE ") && !strings.Contains(request, "/locks/") {
			removing++
		}
	}
	if removing != 2 {
		t.Errorf("%d requests removed %d files", removing, left)
	}
}

// TestNoPlaceForDrafts checks that the error for a missing temporary folder names TMPDIR and is not an
// fs.ErrNotExist, which callers would take for a missing source.
func TestNoPlaceForDrafts(t *testing.T) {
	r := (&homes{store: storetest.NewMemory(t)}).repository(t)
	for _, name := range []string{"TMPDIR", "TMP"} {
		t.Setenv(name, filepath.Join(t.TempDir(), "none"))
	}
	if _, err := r.NewTable(t.Context(), manifest.Refs); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("got %v", err)
	}
}

// TestCarelessStore checks that a store that ignores conditional requests is rejected before anything
// is written.
func TestCarelessStore(t *testing.T) {
	m := storetest.NewMemory(t)
	m.SetCareless(true)
	r := (&homes{store: m}).repository(t)
	_, err := r.NewTable(t.Context(), manifest.Refs)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), r.Name()) {
		t.Errorf("got %v", err)
	}
	if left := m.Names("bucket/"); len(left) > 0 {
		t.Errorf("files remain: %q", left)
	}
}

// during calls f once, at the first request with this method whose path contains part.
func during(m *storetest.Memory, method, part string, f func() storetest.Fault) {
	var once atomic.Bool
	m.SetFault(func(r *http.Request) storetest.Fault {
		if r.Method == method && strings.Contains(r.URL.Path, part) && once.CompareAndSwap(false, true) {
			return f()
		}
		return nil
	})
}

// TestWriterThatSlept checks that a writer that was suspended returns ErrConflict and does not publish,
// because GC may have removed its files.
func TestWriterThatSlept(t *testing.T) {
	m := storetest.NewMemory(t)
	h := &homes{store: m}
	r := h.repository(t)
	mustPublish(t, r, "first")
	other := reopen(t, r)
	tables := func() (n int) {
		for _, name := range m.Names("bucket/") {
			n += strings.Count(name, "/tables/")
		}
		return n
	}
	before := tables()
	during(m, http.MethodPut, "/snapshots/", func() storetest.Fault {
		// The table is uploaded at the same time. If it came after GC, nothing would be lost, and publishing would go on.
		for start := time.Now(); tables() == before && time.Since(start) < time.Minute; {
			time.Sleep(time.Millisecond)
		}
		if _, err := other.GC(t.Context(), &GCOptions{Keep: 1}); !errors.Is(err, ErrBusy) {
			t.Errorf("GC while a writer uploads its files: %v", err)
		}
		m.Pass(2 * home.Life)
		if _, err := other.GC(t.Context(), &GCOptions{Keep: 1}); err != nil {
			t.Errorf("GC while a writer is suspended: %v", err)
		}
		return nil
	})
	if _, err := publishTexts(t.Context(), r, "second"); !errors.Is(err, ErrConflict) {
		t.Errorf("publishing after the pause: %v, want ErrConflict", err)
	}
	if err := r.Check(t.Context(), current(t, r)); err != nil {
		t.Error(err)
	}
	snap := mustPublish(t, r, "second")
	if err := r.Check(t.Context(), snap); err != nil {
		t.Error(err)
	}
	if got := messages(t, r); !reflect.DeepEqual(got, []string{"second", "first"}) {
		t.Errorf("history is %q", got)
	}
}

// TestGCThatDied checks that writers wait for GC while its mark counts and then continue, and that GC
// removes nothing if it continues after that.
func TestGCThatDied(t *testing.T) {
	m := storetest.NewMemory(t)
	h := &homes{store: m}
	r := h.repository(t)
	mustPublish(t, r, "first")
	mustPublish(t, r, "second")
	before := len(m.Names("bucket/"))
	dead := reopen(t, r)
	var waited atomic.Bool
	during(m, http.MethodDelete, "/snapshots/", func() storetest.Fault {
		if _, err := r.GC(t.Context(), &GCOptions{Keep: 1}); !errors.Is(err, ErrBusy) {
			t.Errorf("two GCs at a time: %v", err)
		}
		m.Pass(home.Life / 2)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := publishTexts(t.Context(), r, "third"); err != nil {
				t.Error(err)
			}
			waited.Store(true)
		})
		time.Sleep(50 * time.Millisecond)
		if waited.Load() {
			t.Error("a writer did not wait for GC")
		}
		m.Pass(2 * sweepLife)
		wg.Wait()
		return storetest.Denied
	})
	if done, err := dead.GC(t.Context(), &GCOptions{Keep: 1}); !errors.Is(err, fs.ErrPermission) || len(done.Files) > 0 {
		t.Errorf("removed %q, %v", done.Files, err)
	}
	if err := r.Check(t.Context(), current(t, r)); err != nil || current(t, r).Message != "third" {
		t.Error(err)
	}
	if p, marked := isMarked(m.Get(strings.TrimPrefix(r.Name(), "s3://") + "/current")); marked {
		t.Errorf("the mark remains: %+v", p)
	}
	if after := len(m.Names("bucket/")); after != before+2 {
		t.Errorf("of %d files and 2 new ones, %d remain: %q", before, after, m.Names("bucket/"))
	}
}

// TestSweepEnds checks that GC stops if its mark is too old or was replaced.
func TestSweepEnds(t *testing.T) {
	m := storetest.NewMemory(t)
	h := &homes{store: m}
	r := h.repository(t)
	mustPublish(t, r, "first")
	o := r.files.(*objects)
	release, err := o.lockForGC(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mark := o.sweep.mark
	o.sweep.since = home.Since(time.Time(o.sweep.since).Add(-2 * sweepRenew))
	if _, err := o.Remove(t.Context(), "tables/none"); err != nil || o.sweep.mark.Write == mark.Write {
		t.Errorf("the mark was not renewed: %v", err)
	}
	o.sweep.since = home.Since(time.Time(o.sweep.since).Add(-2 * sweepRenew))
	h.change(t, r.Name()+"/current", func(b []byte) []byte { return []byte(strings.Replace(string(b), o.sweep.mark.Write, "another", 1)) })
	if _, err := o.Remove(t.Context(), "tables/none"); !errors.Is(err, ErrBusy) {
		t.Errorf("with the mark of another GC: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
	if p, marked := isMarked(m.Get(strings.TrimPrefix(r.Name(), "s3://") + "/current")); !marked || p.Write != "another" {
		t.Errorf("the mark of another GC is gone: %+v", p)
	}
}

// TestLostAnswer checks that Publish returns no conflict if the answer to its request is lost, and another
// writer publishes the next snapshot before the request is repeated.
func TestLostAnswer(t *testing.T) {
	m := storetest.NewMemory(t)
	h := &homes{store: m}
	r := h.repository(t)
	mustPublish(t, r, "first")
	other := reopen(t, r)
	during(m, http.MethodPut, "/current", func() storetest.Fault {
		return func(_ http.ResponseWriter, done func()) {
			done()
			mustPublish(t, other, "third")
			panic(http.ErrAbortHandler)
		}
	})
	mustPublish(t, r, "second")
	if got := messages(t, r); !reflect.DeepEqual(got, []string{"third", "second", "first"}) {
		t.Errorf("history is %q", got)
	}
}

// TestStoreFaults publishes while requests fail, some of them after they took effect. It checks that exactly
// the snapshots for which Publish returned no error are published, and that nothing is damaged.
func TestStoreFaults(t *testing.T) {
	m := storetest.NewMemory(t)
	h := &homes{store: m}
	r := h.repository(t)
	mustPublish(t, r, "first")
	want := []string{"first"}
	faults := []storetest.Fault{storetest.Busy, storetest.Cut, storetest.Lost, storetest.Denied}
	for n := range 60 {
		var calls atomic.Int64
		m.SetFault(func(*http.Request) storetest.Fault {
			if calls.Add(1) == int64(n) {
				return faults[n%len(faults)]
			}
			return nil
		})
		text := fmt.Sprint("snapshot ", n)
		_, err := publishTexts(t.Context(), r, text)
		m.SetFault(nil)
		if err == nil {
			want = slices.Insert(want, 0, text)
		} else if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("fault %d: %v", n, err)
		}
		if err := errors.Join(r.discard(), r.stopWriting(), r.Check(t.Context(), current(t, r))); err != nil {
			t.Fatal(err)
		}
		if got := current(t, r).Message; got != want[0] {
			t.Fatalf("fault %d: the current snapshot is %q after %v", n, got, err)
		}
	}
	if len(want) < 45 {
		t.Errorf("only %d were published", len(want))
	}
	m.Pass(2 * home.Life)
	if _, err := r.GC(t.Context(), &GCOptions{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if left := m.Names("bucket/"); len(left) != 3 { // current, a snapshot, a table
		t.Errorf("files remain after GC: %q", left)
	}
}

// TestCreateRefusesObjects checks that Create rejects a prefix with objects that are not part of a
// manifest.
func TestCreateRefusesObjects(t *testing.T) {
	m := storetest.NewMemory(t)
	m.Put("bucket/mine/precious.nc", []byte("x"))
	m.Put("bucket/old/tables/refs-1.parquet", []byte("x"))
	published := (&homes{store: m}).repository(t)
	mustPublish(t, published, "a")
	for name, want := range map[string]error{
		"s3://bucket/mine": manifest.ErrForeign, "s3://bucket": errors.ErrUnsupported, "s3://bucket/a/../b": errors.ErrUnsupported,
		published.Name(): fs.ErrExist, "s3://bucket/old": nil, "s3://bucket/new/": nil, "https://host/a": errors.ErrUnsupported,
	} {
		r, err := Create(t.Context(), name, nil)
		if !errors.Is(err, want) || want != nil && !strings.Contains(err.Error(), strings.TrimSuffix(name, "/")) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			r.Close()
		}
	}
}

// TestInteropRepositories publishes with several concurrent writers in real object stores. It checks that
// exactly one of them succeeds each time, and that no snapshot is lost.
func TestInteropRepositories(t *testing.T) {
	for kind, start := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			root := start(t).Root
			testTwoWriters(t, &homes{store: nil, root: root + "/two"})
			r := (&homes{root: root + "/many"}).repository(t)
			for round := range 5 {
				raceToPublish(t, r, round)
			}
			if got := messages(t, r); len(got) != 5 {
				t.Errorf("history is %q", got)
			}
			if _, err := r.GC(t.Context(), &GCOptions{Keep: 1}); err != nil {
				t.Error(err)
			}
			if err := r.Check(t.Context(), current(t, r)); err != nil {
				t.Error(err)
			}
		})
	}
}

// raceToPublish makes several writers publish a snapshot with the same parent.
func raceToPublish(t *testing.T, r *Repository, round int) {
	parent, err := r.Current(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			w, err := Create(t.Context(), r.Name(), &CreateOptions{Replace: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			table, err := writeTable(t.Context(), w, manifest.Refs, fmt.Sprint(round, i))
			if err == nil {
				err = w.Publish(t.Context(), &manifest.Snapshot{Message: fmt.Sprint(round), Tables: []manifest.Table{table}}, parent)
			}
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("round %d: %d writers published, want 1", round, won.Load())
	}
}
