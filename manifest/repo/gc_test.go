package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"varve/manifest"
	"varve/manifest/internal/home"
)

// TestGC checks which files GC removes for each number of snapshots to keep.
func TestGC(t *testing.T) { everywhere(t, testGC) }

func testGC(t *testing.T, h *homes) {
	for keep := 1; keep <= 5; keep++ {
		t.Run(fmt.Sprint("keep ", keep), func(t *testing.T) {
			r := h.repository(t)
			for i := range 4 {
				mustPublish(t, r, "shared", fmt.Sprint("own ", i))
			}
			before := h.size(t, r)
			done, err := r.GC(t.Context(), &GCOptions{Keep: keep})
			if err != nil {
				t.Fatal(err)
			}
			kept := min(keep, 4)
			if got := len(messages(t, r)); got != kept {
				t.Errorf("%d snapshots remain", got)
			}
			if want := 2 * (4 - kept); len(done.Files) != want {
				t.Errorf("removed %q, want %d files", done.Files, want)
			}
			if freed := before - h.size(t, r); done.Bytes != freed {
				t.Errorf("GC reports %d bytes, but freed %d", done.Bytes, freed)
			}
			for snap, err := range r.History(t.Context()) {
				if err := errors.Join(err, r.Check(t.Context(), snap)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	if _, err := h.repository(t).GC(t.Context(), &GCOptions{Keep: 0}); err == nil {
		t.Error("GC(0) succeeded, want an error")
	}
}

func sizeOf(tb testing.TB, r *Repository) (n int64) {
	tb.Helper()
	err := filepath.WalkDir(r.Name(), func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// TestGCWaitsForWriters checks that GC refuses to run while tables are being written.
func TestGCWaitsForWriters(t *testing.T) { everywhere(t, testGCWaitsForWriters) }

func testGCWaitsForWriters(t *testing.T, h *homes) {
	r := h.repository(t)
	first := mustPublish(t, r, "first")
	writer := reopen(t, r)
	table, err := writeTable(t.Context(), writer, manifest.Refs, "second")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.GC(t.Context(), &GCOptions{Keep: 1}); !errors.Is(err, ErrBusy) {
		t.Fatalf("GC while a process writes: %v", err)
	}
	if _, err := writer.GC(t.Context(), &GCOptions{Keep: 1}); !errors.Is(err, ErrBusy) {
		t.Fatalf("GC while it writes itself: %v", err)
	}
	snap := &manifest.Snapshot{Tables: []manifest.Table{table}}
	if err := writer.Publish(t.Context(), snap, first.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.GC(t.Context(), &GCOptions{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(t.Context(), snap); err != nil {
		t.Error(err)
	}
}

// TestGCRemovesLeftovers checks that GC removes the files of a writer that found at the last moment that
// another writer had published, and the drafts of a writer that crashed.
func TestGCRemovesLeftovers(t *testing.T) { everywhere(t, testGCRemovesLeftovers) }

func testGCRemovesLeftovers(t *testing.T, h *homes) {
	r := h.repository(t)
	snap := mustPublish(t, r, "first")
	lost := []string{snapshotName(home.VersionOf([]byte("lost"))), manifest.TableName(manifest.Refs, home.VersionOf([]byte("lost"))), "drafts/crashed"}
	for _, name := range lost {
		h.write(t, r.Name()+"/"+name, "lost")
	}
	done, err := r.GC(t.Context(), &GCOptions{Keep: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(done.Files, lost) {
		t.Errorf("removed %q, want %q", done.Files, lost)
	}
	if err := r.Check(t.Context(), snap); err != nil {
		t.Error(err)
	}
}

// TestLosersLeaveNothing checks that a writer removes its files if another writer has published before it.
func TestLosersLeaveNothing(t *testing.T) { everywhere(t, testLosersLeaveNothing) }

func testLosersLeaveNothing(t *testing.T, h *homes) {
	r := h.repository(t)
	mustPublish(t, r, "first")
	before := h.size(t, r)
	loser, err := Open(t.Context(), r.Name())
	if err != nil {
		t.Fatal(err)
	}
	table, err := writeTable(t.Context(), loser, manifest.Refs, "lost")
	if err != nil {
		t.Fatal(err)
	}
	if err := loser.checkPresent(t.Context(), &manifest.Snapshot{Tables: []manifest.Table{table}}, ""); err != nil {
		t.Errorf("its own table: %v", err)
	}
	if err := r.checkPresent(t.Context(), &manifest.Snapshot{Tables: []manifest.Table{table}}, ""); !isMissing(err) {
		t.Errorf("another's table: %v", err)
	}
	if err := loser.Publish(t.Context(), &manifest.Snapshot{Tables: []manifest.Table{table}}, ""); !errors.Is(err, ErrConflict) {
		t.Fatal(err)
	}
	if err := loser.Close(); err != nil {
		t.Fatal(err)
	}
	if after := h.size(t, r); after != before {
		t.Errorf("%d bytes remain", after-before)
	}
}

// TestGCNeedsEverySnapshot checks that GC removes nothing if it cannot read a snapshot that it keeps:
// that snapshot might need any file.
func TestGCNeedsEverySnapshot(t *testing.T) { everywhere(t, testGCNeedsEverySnapshot) }

func testGCNeedsEverySnapshot(t *testing.T, h *homes) {
	r := h.repository(t)
	old := mustPublish(t, r, "old")
	mustPublish(t, r, "new")
	h.change(t, r.Name()+"/"+snapshotName(old.ID), func(b []byte) []byte { return b[:5] })
	if done, err := r.GC(t.Context(), &GCOptions{Keep: 2}); err == nil || len(done.Files) > 0 {
		t.Errorf("removed %q, %v", done.Files, err)
	}
	done, err := r.GC(t.Context(), &GCOptions{Keep: 1})
	if err != nil || !slices.Contains(done.Files, snapshotName(old.ID)) {
		t.Errorf("a damaged snapshot that is not kept: removed %q, %v", done.Files, err)
	}
}

// TestDrop checks that a dropped table is gone, also if another table had the same content, and that a
// published table stays.
func TestDrop(t *testing.T) { everywhere(t, testDrop) }

func testDrop(t *testing.T, h *homes) {
	r := h.repository(t)
	snap := mustPublish(t, r, "one")
	drafts := filepath.Join(r.Name(), "drafts")
	for _, taken := range []bool{false, true} {
		if taken && runtime.GOOS == "windows" {
			continue // Windows does not remove a folder with an open file
		}
		w, err := r.NewTable(t.Context(), manifest.Refs)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("more")); err != nil {
			t.Fatal(err)
		}
		table, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		if taken && h.store == nil {
			if err := errors.Join(os.RemoveAll(drafts), os.Mkdir(drafts, 0o777)); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Drop(table); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(drafts); h.store == nil && (err != nil || len(left) > 0) {
			t.Errorf("%d drafts remain: %v", len(left), err)
		}
		if err := r.checkTable(t.Context(), table); !isMissing(err) {
			t.Errorf("a dropped table still exists: %v", err)
		}
	}
	if err := errors.Join(r.Drop(snap.Tables[0]), r.Check(t.Context(), snap)); err != nil {
		t.Error(err)
	}
}

// TestLog checks that Log agrees with History, and that it finds fields in any order.
func TestLog(t *testing.T) { everywhere(t, testLog) }

func testLog(t *testing.T, h *homes) {
	r := h.repository(t)
	for i := range 3 {
		mustPublish(t, r, "shared", fmt.Sprint("own ", i))
	}
	var log []manifest.Entry
	for e, err := range r.Log(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, *e)
	}
	for s, err := range r.History(t.Context()) {
		want := manifest.Entry{ID: s.ID, Parent: s.Parent, Created: s.Created, Message: s.Message, Writer: s.Writer, Sources: s.Sources, Refs: s.Refs}
		if err != nil || len(log) == 0 || log[0] != want {
			t.Fatalf("got %+v, want %+v (%v)", log, want, err)
		}
		log = log[1:]
	}
	if len(log) > 0 {
		t.Errorf("unexpected entries: %+v", log)
	}
	d, err := manifest.DecodeEntry([]byte(`{"tables":[{"refs":1}],"message":"m","new":{"varve":7},"varve":1,"refs":5}`))
	if err != nil || d.Message != "m" || d.Refs != 5 {
		t.Errorf("got %+v (%v)", d, err)
	}
	for _, bad := range []string{"", "[", `{"varve":3}`, `{"varve":1,"parent":"x"}`, `{"varve":1,"refs":"x"}`, `{"varve":1,`} {
		if _, err := manifest.DecodeEntry([]byte(bad)); err == nil {
			t.Errorf("%q was decoded, want an error", bad)
		}
	}
}
