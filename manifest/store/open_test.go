package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/table"
	"varve/manifest/repo"
)

// publish writes a manifest from memory to a folder.
func publish(t testing.TB, m *memoryTables, snap *manifest.Snapshot) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "a.varve")
	ctx := context.Background()
	repository, err := repo.Create(ctx, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	add := func(kind manifest.TableKind, rows int, write func(w io.Writer) error) manifest.Table {
		w, err := repository.NewTable(ctx, kind)
		if err == nil {
			err = write(w)
		}
		if err != nil {
			t.Fatal(err)
		}
		tab, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		tab.Rows = int64(rows)
		snap.Tables = append(snap.Tables, tab)
		return tab
	}
	add(manifest.Refs, len(m.refs), func(w io.Writer) error {
		out := table.NewRefs(w)
		for _, r := range m.refs {
			if err := out.Append(&manifest.RefColumns{Offsets: []int64{r.Offset}, Sizes: []int64{r.Size}, Masks: []uint32{r.Mask}, Others: []int32{r.Other}}); err != nil {
				return err
			}
		}
		return out.Close()
	})
	add(manifest.Sources, len(m.sources), func(w io.Writer) error { return writeRows(table.NewSources(w), m.sources) })
	var headers []*manifest.FileHeader
	for _, id := range slices.Sorted(maps.Keys(m.headers)) {
		headers = append(headers, manifest.NewFileHeader(m.headers[id]))
	}
	add(manifest.Headers, len(headers), func(w io.Writer) error { return writeRows(table.NewHeaders(w), headers) })
	if len(m.inline) > 0 {
		add(manifest.Blobs, len(m.inline), func(w io.Writer) error { return writeRows(table.NewInline(w), m.inline) })
	}
	if tiles := m.placements["tiles"]; len(tiles) > 0 {
		tab := add(manifest.Tiles, len(tiles), func(w io.Writer) error { return writeRows(table.NewTiles(w, len(snap.Placements[0].Dims)), tiles) })
		snap.Placements[0].Segments[0].Table = tab.Name
	} else {
		snap.Placements[0].Segments = nil
	}
	snap.Varve, snap.Sources, snap.Refs = manifest.Version, int64(len(m.sources)), int64(len(m.refs))
	if err := repository.Publish(ctx, snap, ""); err != nil {
		t.Fatal(err)
	}
	return dir
}

func writeRows[T any](w *table.Writer[T], rows []T) error {
	return errors.Join(w.Append(rows...), w.Close())
}

// TestOpen reads a manifest from a folder.
func TestOpen(t *testing.T) {
	ownConfig(t)
	m, snap, truth := archive(t, 4, false)
	dir := publish(t, m, snap)
	s, err := Open(t.Context(), dir, &Options{Allow: []string{filepath.Dir(m.sources[0].URL)}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(t.Context(), t, s); err != nil || !bytes.Equal(got, truth) {
		t.Errorf("reading: %v", err)
	}
	if src, err := s.Source(t.Context(), 2); err != nil || src.URL != m.sources[2].URL || len(s.Arrays()) != 1 || s.Snapshot().ID == "" {
		t.Errorf("source 2 is %+v (%v)", src, err)
	}
	if _, err := s.Array("w"); !errors.Is(err, ErrNoArray) {
		t.Errorf("got %v, want %v", err, ErrNoArray)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), dir+"x", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := Open(t.Context(), dir, &Options{Snapshot: "zz"}); err == nil {
		t.Error("opening a missing snapshot succeeds, want an error")
	}
}

// TestIsKept checks that IsKept distinguishes a missing snapshot from a damaged one.
func TestIsKept(t *testing.T) {
	m, snap, _ := archive(t, 1, true)
	dir := publish(t, m, snap)
	s, err := Open(t.Context(), dir, &Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if kept, err := s.IsKept(t.Context()); !kept || err != nil {
		t.Errorf("existing snapshot: %v, %v", kept, err)
	}
	name := filepath.Join(dir, "snapshots", s.Snapshot().ID+".json")
	if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.IsKept(t.Context()); kept || !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("damaged snapshot: %v, %v", kept, err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.IsKept(t.Context()); kept || err != nil {
		t.Errorf("missing snapshot: %v, %v", kept, err)
	}
}

// TestOpenRandom compares reads with known values, like TestRandomArrays, but with tables in files.
func TestOpenRandom(t *testing.T) {
	r := newRand()
	for range 20 {
		w := newWorld(t, r)
		dir := publish(t, w.tables, w.snapshot())
		s, err := Open(t.Context(), dir, &Options{Trusted: true})
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Array("v")
		if err != nil {
			t.Fatal(err)
		}
		w.checkRegions(a)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
