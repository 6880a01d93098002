package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"varve/manifest"
	"varve/zarrjson"
)

func newRepository(tb testing.TB) *Repository {
	tb.Helper()
	return (&homes{}).repository(tb)
}

func reopen(tb testing.TB, r *Repository) *Repository {
	tb.Helper()
	again, err := Open(tb.Context(), r.Name())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := again.Close(); err != nil {
			tb.Error(err)
		}
	})
	return again
}

func writeTable(ctx context.Context, r *Repository, kind manifest.TableKind, content string) (manifest.Table, error) {
	w, err := r.NewTable(ctx, kind)
	if err != nil {
		return manifest.Table{}, err
	}
	for _, half := range []string{content[:len(content)/2], content[len(content)/2:]} {
		if _, err := w.Write([]byte(half)); err != nil {
			return manifest.Table{}, errors.Join(err, w.Abort())
		}
	}
	t, err := w.Commit()
	if err != nil {
		return manifest.Table{}, errors.Join(err, w.Abort())
	}
	t.Rows = int64(len(content))
	return t, nil
}

// publishTexts publishes a snapshot with one table for each text after the current snapshot.
func publishTexts(ctx context.Context, r *Repository, texts ...string) (*manifest.Snapshot, error) {
	parent, err := r.Current(ctx)
	if err != nil {
		return nil, err
	}
	snap := &manifest.Snapshot{Message: strings.Join(texts, ","), Sources: int64(len(texts))}
	for _, text := range texts {
		t, err := writeTable(ctx, r, manifest.Refs, text)
		if err != nil {
			return nil, err
		}
		snap.Tables = append(snap.Tables, t)
	}
	return snap, r.Publish(ctx, snap, parent)
}

func mustPublish(tb testing.TB, r *Repository, texts ...string) *manifest.Snapshot {
	tb.Helper()
	snap, err := publishTexts(tb.Context(), r, texts...)
	if err != nil {
		tb.Fatal(err)
	}
	return snap
}

func current(tb testing.TB, r *Repository) *manifest.Snapshot {
	tb.Helper()
	id, err := r.Current(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	snap, err := r.Load(tb.Context(), id)
	if err != nil {
		tb.Fatal(err)
	}
	return snap
}

func messages(tb testing.TB, r *Repository) []string {
	tb.Helper()
	var all []string
	for snap, err := range r.History(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, snap.Message)
	}
	return all
}

func fullSnapshot(tb testing.TB) *manifest.Snapshot {
	tb.Helper()
	schema, err := zarrjson.ParseArray([]byte(`{"shape":[59,4],"data_type":"float32",
		"chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[[31,28],4]}},
		"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":"NaN",
		"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
		"attributes":{"units":"K","note":"<a> & \u00e9","_FillValue":NaN},
		"dimension_names":["time",null],"zarr_format":3,"node_type":"array","storage_transformers":[]}`))
	if err != nil {
		tb.Fatal(err)
	}
	schema.Attributes = schema.Attributes.WithoutLayout()
	attributes, err := zarrjson.ParseAttributes([]byte(`{"title":"x","list":[1,2.50]}`))
	if err != nil {
		tb.Fatal(err)
	}
	return &manifest.Snapshot{
		Message: "build", Writer: "varve", Options: json.RawMessage(`{"strict":true}`), State: json.RawMessage(`[1]`), Merged: map[string]int64{"time": 3},
		Groups: []manifest.GroupSchema{{Path: "/"}, {Path: "/g x", Attributes: attributes.WithoutLayout()}},
		Arrays: []manifest.Array{{
			Path: "/g x/sst", Schema: schema, Placement: "p", Variables: []string{"/sst", "/SST"}, Dims: []string{"/time", "/x"},
			Renamed: map[string]string{"/t": "/time"}, Reading: manifest.Unpacked, Chunks: manifest.Counts{Verbatim: 2},
			Pieces: []manifest.Piece{{Origin: []int64{0, 0}, Shape: []int64{59, 4}, Values: "v"}},
			Patches: []manifest.Patched{{
				Table: "patches/rows", Row: 3, Rows: 2, File: "patches/bytes", Counts: []int64{2, 1}, Shift: []int64{1, 0}, Limit: []int64{1, 1},
			}},
		}},
		Placements: []manifest.PlacementTable{{ID: "p", Dims: []string{"/time"}, Segments: []manifest.Segment{{Table: "tables/tiles", Row: 1, Rows: 2, Shift: []int64{-3}}}}},
		Skipped:    []manifest.Skipped{{URL: "/tmp/ü #1.nc", Why: "empty"}},
		Sources:    2, Refs: 3,
	}
}

// TestSnapshotComesBack checks that a published snapshot has all its fields when it is loaded.
func TestSnapshotComesBack(t *testing.T) { everywhere(t, testSnapshotComesBack) }

func testSnapshotComesBack(t *testing.T, h *homes) {
	r := h.repository(t)
	snap := fullSnapshot(t)
	if err := r.Publish(t.Context(), snap, ""); err != nil {
		t.Fatal(err)
	}
	got := current(t, reopen(t, r))
	for i := range snap.Arrays {
		want, err := snap.Arrays[i].Schema.Encode(zarrjson.Indented)
		if err != nil {
			t.Fatal(err)
		}
		have, err := got.Arrays[i].Schema.Encode(zarrjson.Indented)
		if err != nil {
			t.Fatal(err)
		}
		if string(have) != string(want) {
			t.Errorf("zarr.json: got\n%s\nwant\n%s", have, want)
		}
		got.Arrays[i].Schema, snap.Arrays[i].Schema = nil, nil
	}
	for i := range snap.Groups {
		if have, want := string(got.Groups[i].Attributes.JSON()), string(snap.Groups[i].Attributes.JSON()); have != want {
			t.Errorf("attributes: got %s, want %s", have, want)
		}
		got.Groups[i].Attributes, snap.Groups[i].Attributes = zarrjson.Attributes{}, zarrjson.Attributes{}
	}
	if !reflect.DeepEqual(got, snap) {
		t.Errorf("got\n%+v\nwant\n%+v", got, snap)
	}
}

// TestSnapshotIsPlainJSON checks the JSON that programs without varve read.
func TestSnapshotIsPlainJSON(t *testing.T) {
	snap := fullSnapshot(t)
	schema := snap.Arrays[0].Schema
	if err := schema.Attributes.Set("_FillValue", []byte(`"AADAfw=="`)); err != nil {
		t.Fatal(err)
	}
	data, err := snap.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Arrays []struct {
			Path string
			Zarr struct {
				Shape     []int
				ChunkGrid struct{ Name string } `json:"chunk_grid"`
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	if a := doc.Arrays[0]; a.Path != "/g x/sst" || a.Zarr.Shape[0] != 59 || a.Zarr.ChunkGrid.Name != "rectilinear" {
		t.Errorf("decoded as %+v", a)
	}
	if lines := strings.Count(string(data), "\n"); lines > 40 {
		t.Errorf("the file has %d lines", lines)
	}
}

// TestCreateRefuses checks in which folders Create makes a repository.
func TestCreateRefuses(t *testing.T) {
	build := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	published := newRepository(t)
	mustPublish(t, published, "a")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name  string
		dir   string
		force bool
		ok    bool
	}{
		{"missing", filepath.Join(t.TempDir(), "a", "b"), false, true},
		{"empty", t.TempDir(), false, true},
		{"unfinished", build("tables/refs-1.parquet", "drafts/x", "locks/writers"), false, true},
		{"published", published.Name(), false, false},
		{"published, force", published.Name(), true, true},
		{"foreign", build("precious.nc"), false, false},
		{"foreign, force", build("precious.nc"), true, false},
		{"file", file, true, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r, err := Create(t.Context(), c.dir, &CreateOptions{Replace: c.force})
			if err == nil {
				defer r.Close()
			}
			if (err == nil) != c.ok {
				t.Errorf("Create: %v", err)
			}
			if foreign := strings.HasPrefix(c.name, "foreign"); errors.Is(err, manifest.ErrForeign) != foreign || foreign && !errors.Is(err, fs.ErrExist) {
				t.Errorf("%v: manifest.ErrForeign %v, want %v", err, !foreign, foreign)
			}
		})
	}
}

// TestForceKeepsHistory checks that Create with force keeps the snapshots of an existing repository.
func TestForceKeepsHistory(t *testing.T) { everywhere(t, testForceKeepsHistory) }

func testForceKeepsHistory(t *testing.T, h *homes) {
	r := h.repository(t)
	mustPublish(t, r, "one")
	again, err := Create(t.Context(), r.Name(), &CreateOptions{Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	mustPublish(t, again, "two")
	if got := messages(t, r); !reflect.DeepEqual(got, []string{"two", "one"}) {
		t.Errorf("history is %q", got)
	}
}

// TestOpenRefuses checks that Open rejects folders without a published snapshot, and invalid contents of
// the file current.
func TestOpenRefuses(t *testing.T) { everywhere(t, testOpenRefuses) }

func testOpenRefuses(t *testing.T, h *homes) {
	if _, err := Open(t.Context(), h.name(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	r := h.repository(t)
	if _, err := writeTable(t.Context(), r, manifest.Refs, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), r.Name()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unfinished: %v", err)
	}
	for name, content := range map[string]string{
		"newer":  `{"varve":2,"snapshot":""}`,
		"path":   `{"varve":1,"snapshot":"../../etc/passwd"}`,
		"no id":  `{"varve":1}`,
		"empty":  ``,
		"no map": `[]`,
	} {
		h.write(t, r.Name()+"/current", content)
		if _, err := Open(t.Context(), r.Name()); err == nil {
			t.Errorf("%s: opened, want an error", name)
		}
	}
}

// TestTwoWriters checks that exactly one of several writers with the same parent publishes its snapshot,
// and that this snapshot is complete.
func TestTwoWriters(t *testing.T) { everywhere(t, testTwoWriters) }

func testTwoWriters(t *testing.T, h *homes) {
	r := h.repository(t)
	first := mustPublish(t, r, "first")
	const writers = 8
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			w, err := Open(t.Context(), r.Name())
			if err != nil {
				errs[i] = err
				return
			}
			defer w.Close()
			table, err := writeTable(t.Context(), w, manifest.Refs, fmt.Sprint("writer ", i))
			if err == nil {
				err = w.Publish(t.Context(), &manifest.Snapshot{Message: fmt.Sprint(i), Tables: []manifest.Table{table}}, first.ID)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		switch {
		case err == nil && won < 0:
			won = i
		case err == nil:
			t.Errorf("writers %d and %d both published", won, i)
		case !errors.Is(err, ErrConflict):
			t.Errorf("writer %d: %v", i, err)
		}
	}
	got := messages(t, r)
	if won < 0 || !reflect.DeepEqual(got, []string{fmt.Sprint(won), "first"}) {
		t.Errorf("writer %d published, history is %q", won, got)
	}
	if err := r.Check(t.Context(), current(t, r)); err != nil {
		t.Error(err)
	}
}

func TestRestore(t *testing.T) { everywhere(t, testRestore) }

func testRestore(t *testing.T, h *homes) {
	r := h.repository(t)
	one := mustPublish(t, r, "one")
	mustPublish(t, r, "two")
	restored, err := r.Restore(t.Context(), one.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got := current(t, r); got.ID != restored.ID || !reflect.DeepEqual(got.Tables, one.Tables) {
		t.Errorf("current is %+v", got)
	}
	if got := messages(t, r); !reflect.DeepEqual(got, []string{"restore " + one.ID, "two", "one"}) {
		t.Errorf("history is %q", got)
	}
	h.remove(t, r.Name()+"/"+one.Tables[0].Name)
	if _, err := r.Restore(t.Context(), one.ID); !isMissing(err) {
		t.Errorf("restoring a snapshot with a missing table: %v", err)
	}
}

func TestFind(t *testing.T) { everywhere(t, testFind) }

func testFind(t *testing.T, h *homes) {
	r := h.repository(t)
	ids := []string{mustPublish(t, r, "one").ID, mustPublish(t, r, "two").ID}
	for _, id := range ids {
		if got, err := r.Find(t.Context(), id[:20]); err != nil || got != id {
			t.Errorf("Find: %s, %v", got, err)
		}
	}
	for _, prefix := range []string{"", "none", ids[0] + "0"} {
		if got, err := r.Find(t.Context(), prefix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Find(%q): %s, %v", prefix, got, err)
		}
	}
}
