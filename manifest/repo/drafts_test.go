package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"varve/manifest"
)

// TestDropPatches checks that a snapshot lists only the files of compacted chunks that its arrays use.
func TestDropPatches(t *testing.T) {
	r := newRepository(t)
	snap := fullSnapshot(t)
	var names []string
	for _, kind := range []manifest.TableKind{manifest.Chunks, manifest.Patches, manifest.Chunks, manifest.Patches, manifest.Refs} {
		table, err := writeTable(t.Context(), r, kind, fmt.Sprint(kind, len(names)))
		if err != nil {
			t.Fatal(err)
		}
		table.Rows, table.First = 5, 7
		snap.Tables = append(snap.Tables, table)
		names = append(names, table.Name)
	}
	snap.Arrays[0].Patches[0].File, snap.Arrays[0].Patches[0].Table = names[2], names[3]
	if err := r.Publish(t.Context(), snap, ""); err != nil {
		t.Fatal(err)
	}
	got, err := r.Load(t.Context(), snap.ID)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, table := range got.Tables {
		left = append(left, table.Name)
		if (table.Kind == manifest.Refs) == (table.First == 0) {
			t.Errorf("%s: first row is %d", table.Name, table.First)
		}
	}
	if !slices.Equal(left, names[2:]) {
		t.Errorf("remaining tables: %q", left)
	}
	if filepath.Ext(names[0]) != ".bin" {
		t.Errorf("chunks: %s", names[0])
	}
}

// TestDraft checks that another Repository can load a draft and its tables, that GC keeps them while a
// Repository uses them, and that GC removes them when all are closed.
func TestDraft(t *testing.T) { everywhere(t, testDraft) }

func testDraft(t *testing.T, h *homes) {
	r := h.repository(t)
	first := mustPublish(t, r, "one")
	if _, err := r.LoadDraft(t.Context(), "work"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no draft: %v", err)
	}
	table, err := writeTable(t.Context(), r, manifest.Chunks, "chunks")
	if err != nil {
		t.Fatal(err)
	}
	snap := fullSnapshot(t)
	snap.Tables = []manifest.Table{table}
	if err := r.SaveDraft(t.Context(), "work", snap); err != nil {
		t.Fatal(err)
	}
	other, err := Open(t.Context(), r.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	got, err := other.LoadDraft(t.Context(), "work")
	if err != nil || !reflect.DeepEqual(got.Tables, snap.Tables) || got.Message != snap.Message {
		t.Fatalf("%+v (%v)", got, err)
	}
	src, err := other.FileOf(t.Context(), table)
	if want := r.path(table.Name); err != nil || src.URL != want || src.Size != table.Bytes {
		t.Errorf("%+v, want %s (%v)", src, want, err)
	}
	if _, err := r.GC(t.Context(), &GCOptions{Keep: 1}); !errors.Is(err, ErrBusy) {
		t.Errorf("GC while a writer uses the draft: %v", err)
	}
	if id := current(t, r).ID; id != first.ID {
		t.Errorf("current is %s", id)
	}
	if err := errors.Join(r.Close(), other.Close()); err != nil {
		t.Fatal(err)
	}
	if other, err = Open(t.Context(), r.Name()); err != nil {
		t.Fatal(err)
	}
	if _, err := other.GC(t.Context(), &GCOptions{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := other.LoadDraft(t.Context(), "work"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("draft after GC: %v", err)
	}
	if _, err := other.FileOf(t.Context(), table); !isMissing(err) {
		t.Errorf("table after GC: %v", err)
	}
	if err := errors.Join(other.RemoveDraft(t.Context(), "work"), other.Close()); err != nil {
		t.Error(err)
	}
}
