package zarr

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/codec"
	"varve/grid"
	"varve/manifest/zarrstore"
	"varve/readers/source"
	"varve/zarrjson"
)

// TestShardsOfStored copies chunks of the source into shards, out of these shards, and into other shards, without decoding
// any chunk.
func TestShardsOfStored(t *testing.T) {
	s := newSample(t, january, february, march)
	weeks := filepath.Join(t.TempDir(), "weeks")
	week := Edges{Array: "t2m", Dim: "time", Sizes: []int64{7}}
	s.copy(t, weeks, Options{Chunks: []Edges{week}})
	steps := []struct {
		name    string
		options Options
		inner   bool
	}{
		{"into shards", Options{Shards: []Edges{{Array: "t2m", Dim: "time", Sizes: []int64{28}}}}, true},
		{"into others", Options{Shards: []Edges{{Array: "t2m", Dim: "time", Sizes: []int64{14, 35, 42}}}}, true},
		{"out of them", Options{Chunks: []Edges{week}}, false},
	}
	from := weeks
	for _, step := range steps {
		now := newSample(t, from)
		from = filepath.Join(t.TempDir(), step.name)
		r := now.copy(t, from, step.options)
		if r.Encoded != 0 || r.Verbatim == 0 || (r.Inner > 0) != step.inner {
			t.Errorf("%s: got %+v", step.name, *r)
		}
		now.compare(t, from, 3)
		s.compare(t, from, 3)
	}
	cut := newSample(t, weeks)
	o := Options{Chunks: []Edges{{Array: "t2m", Dim: "time", Sizes: []int64{5}}}, Shards: []Edges{{Array: "t2m", Dim: "time", Sizes: []int64{15}}}}
	r := cut.copy(t, from+" cut", o)
	if r.Encoded == 0 {
		t.Errorf("re-chunked: got %+v", *r)
	}
	cut.compare(t, from+" cut", 3)
}

// large is an array of chunks that are copied from file to file, as one file of shards.
func large(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "large.zarr")
	typ, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Int, Size: 4})
	if err != nil {
		t.Fatal(err)
	}
	schema := &zarrjson.Array{
		Shape: []int64{300, 100}, DataType: typ, ChunkGrid: zarrjson.RectilinearGrid(grid.List(100, 150, 50), grid.Every(100)),
		DimensionNames: zarrjson.Names("y", "x"), Codecs: codec.IndexCodecs()[:1],
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "zarr.json"), []byte(`{"attributes":{},"zarr_format":3,"node_type":"group"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := zarrstore.Create(t.Context(), filepath.Join(dir, "v"), schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := codec.NewElems(schema.Form(schema.Shape))
	for i := range e.Fixed {
		e.Fixed[i] = byte(i * i / 3)
	}
	if err := a.WriteRegion(context.Background(), grid.Whole(schema.Shape), e); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDirect copies large chunks, and then ones that changed after they were scanned.
func TestDirect(t *testing.T) {
	dir := large(t)
	s := newSample(t, dir)
	v := s.store.Arrays()[0]
	loc, err := v.Locate(context.Background(), []int64{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	w := &work{box: &box{copier: &copier{from: s.store}}}
	if err := w.open(context.Background(), loc.Source); err != nil || !isDirect(&loc) {
		t.Fatalf("chunks of %d bytes are not copied from file to file: %v", loc.Size, err)
	}
	if err := w.closeFile(); err != nil {
		t.Fatal(err)
	}
	dest := filepath.Join(t.TempDir(), "copy")
	if r := s.copy(t, dest, Options{}); r.Verbatim != 3 || r.Bytes != 300*100*4 {
		t.Errorf("got %+v", *r)
	}
	s.compare(t, dest, 3)
	if err := os.Chtimes(filepath.Join(dir, "v", "c", "2", "0"), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	s.open(t)
	if _, err := Write(context.Background(), s.store, dest+"2", nil); !errors.Is(err, source.ErrChanged) {
		t.Errorf("a file that changed: got %v", err)
	}
}

// TestStoppedRemoval replaces a copy in each state that a stopped replacement can leave.
func TestStoppedRemoval(t *testing.T) {
	s := newSample(t, january)
	for name, stop := range map[string]func(dest string) error{
		"documents gone": func(dest string) error { return os.Remove(filepath.Join(dest, stateName)) },
		"chunks gone": func(dest string) error {
			return errors.Join(os.Remove(filepath.Join(dest, stateName)), os.RemoveAll(filepath.Join(dest, "t2m")))
		},
		"all but the state gone": func(dest string) error {
			return errors.Join(os.RemoveAll(dest), os.MkdirAll(filepath.Join(dest, stateFolder), 0o755))
		},
	} {
		dest := filepath.Join(t.TempDir(), "copy")
		s.copy(t, dest, Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}}})
		if err := stop(dest); err != nil {
			t.Fatal(err)
		}
		s.copy(t, dest, Options{})
		s.compare(t, dest, 3)
		if _, err := os.Stat(filepath.Join(dest, "t2m", "c", "1")); err == nil {
			t.Errorf("%s: a chunk of the former copy is left", name)
		}
	}
}

// TestStoppedForce continues a replacement that was stopped while it copied.
func TestStoppedForce(t *testing.T) {
	s := newSample(t, january, february)
	dest := filepath.Join(t.TempDir(), "copy")
	begin(t, s, dest, Options{})
	if r := s.copy(t, dest, Options{Force: true}); r.Resumed == 0 {
		t.Errorf("got %+v", *r)
	}
	begun := filepath.Join(t.TempDir(), "begun")
	begin(t, s, begun, Options{})
	if r := s.copy(t, begun, Options{Force: true, Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}}}); r.Resumed != 0 {
		t.Errorf("another copy: got %+v", *r)
	}
	s.compare(t, begun, 3)
}

// TestStoppedAppend stops an append, after which the manifest grows again.
func TestStoppedAppend(t *testing.T) {
	for _, o := range []Options{{}, {Chunks: []Edges{{Dim: "time", Sizes: []int64{10}}}}} {
		s := newSample(t, january)
		dest := filepath.Join(t.TempDir(), "copy")
		s.copy(t, dest, o)
		o.Append, o.Rectilinear = true, true
		s.append(t, february)
		c := prepared(t, s, dest, o)
		c.opts.Manifest = s.repo
		if err := errors.Join(c.journal.close(t.Context(), nil, false), os.Remove(filepath.Join(dest, journalName)), c.prepare(context.Background())); err != nil {
			t.Fatal(err)
		}
		c = resumed(t, c)
		if err := errors.Join(c.copyAll(context.Background()), c.journal.close(t.Context(), nil, false), c.home.close(nil)); err != nil {
			t.Fatal(err)
		}
		s.append(t, march)
		s.copy(t, dest, o)
		s.compare(t, dest, 3)
		if _, err := os.Stat(filepath.Join(dest, journalName)); err == nil {
			t.Error("a journal is left")
		}
	}
}

// resumed opens the journal of a prepared copier.
func resumed(t *testing.T, c *copier) *copier {
	t.Helper()
	var err error
	if c.journal, err = c.home.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}
