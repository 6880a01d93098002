package zarr

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/internal/home"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
	"varve/zarrjson"
)

const demo = "../../../fixtures/demo"

var (
	january  = filepath.Join(demo, "2021-01.nc")
	february = filepath.Join(demo, "2021-02.nc")
	march    = filepath.Join(demo, "2021-03.nc")
)

// sample is a manifest of real files.
type sample struct {
	dir   string
	store *store.Store
	repo  *repo.Repository
}

func newSample(t testing.TB, files ...string) *sample {
	t.Helper()
	s := &sample{dir: filepath.Join(t.TempDir(), "out")}
	if _, err := ingest.Build(context.Background(), s.dir, &ingest.Options{Sources: ingest.Sources{Names: files}, Plan: plan.Options{}}); err != nil {
		t.Fatal(err)
	}
	s.open(t)
	return s
}

func (s *sample) open(t testing.TB) {
	t.Helper()
	var err error
	if s.store, err = store.Open(context.Background(), s.dir, &store.Options{Trusted: true}); err != nil {
		t.Fatal(err)
	}
	if s.repo, err = repo.Open(context.Background(), s.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.store.Close(), s.repo.Close() })
}

func (s *sample) append(t testing.TB, files ...string) {
	t.Helper()
	if _, err := ingest.Append(context.Background(), s.dir, &ingest.Options{Sources: ingest.Sources{Names: files}}); err != nil {
		t.Fatal(err)
	}
	s.open(t)
}

func (s *sample) copy(t testing.TB, dest string, o Options) *Result {
	t.Helper()
	o.Manifest = s.repo
	r, err := Write(context.Background(), s.store, dest, &o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compare compares all chunks of a copy with the store.
func (s *sample) compare(t testing.TB, dest string, format int) {
	t.Helper()
	for _, a := range s.store.Arrays() {
		want := codec.NewElems(a.Schema().Form(a.Grid().Shape()))
		if err := a.ReadRegion(context.Background(), grid.Whole(a.Grid().Shape()), want); err != nil {
			t.Fatal(err)
		}
		if got := readCopy(t, filepath.Join(dest, a.Path()), format); !bytes.Equal(got, want.Fixed) {
			t.Errorf("%s: the copy has other values", a.Path())
		}
	}
}

// readCopy returns the elements of an array in a folder.
func readCopy(t testing.TB, folder string, format int) []byte {
	t.Helper()
	schema := readSchema(t, folder, format)
	g, err := schema.Grid()
	if err != nil {
		t.Fatal(err)
	}
	unit := int64(schema.DataType.Type().Size)
	all := codec.NewElems(schema.Form(g.Shape()))
	all.SetFill(schema.Form(g.Shape()))
	for w := g.Walk(); w.Next(); {
		stored, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(string(schema.Keys.Append(nil, w.Coords)))))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := codec.New(schema.Codecs, schema.Form(w.Codec))
		if err != nil {
			t.Fatal(err)
		}
		chunk := codec.NewElems(p.Form())
		if err := p.Decode(chunk, stored); err != nil {
			t.Fatalf("%s %v: %v", folder, w.Coords, err)
		}
		from := grid.Window[byte]{Data: chunk.Fixed, Region: grid.Region{Origin: w.Region.Origin, Shape: w.Codec}}
		if err := grid.Copy(grid.Window[byte]{Data: all.Fixed, Region: grid.Whole(g.Shape())}, from, w.Region, unit); err != nil {
			t.Fatal(err)
		}
	}
	return all.Fixed
}

func readSchema(t testing.TB, folder string, format int) *zarrjson.Array {
	t.Helper()
	name := map[int]string{2: ".zarray", 3: "zarr.json"}[format]
	doc, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	if format == 3 {
		schema, err := zarrjson.ParseArray(doc)
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
	v2, err := zarrjson.ParseV2Array(doc)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := v2.ToV3(zarrjson.Attributes{}, zarrjson.KeepFill)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestCopy(t *testing.T) {
	s := newSample(t, january, february, march)
	chunks := []Edges{{Dim: "time", Sizes: []int64{7}}, {Array: "t2m", Dim: "lat", Sizes: []int64{2}}}
	for _, test := range []struct {
		name     string
		options  Options
		verbatim int64   // at least
		edges    []int64 // of t2m along time
	}{
		{"as it is", Options{}, 11, []int64{31, 28, 31}}, // of t2m, the 4 chunks of one file have other codecs
		{"regular", Options{Chunks: chunks}, 0, slices.Repeat([]int64{7}, 13)},
		{"in little memory", Options{Chunks: chunks, Memory: 4096, Workers: 1}, 0, nil},
		{"edges by name", Options{Chunks: []Edges{{Array: "t2m", Dim: "time", Sizes: []int64{31, 28, 20, 11}}}}, 0, []int64{31, 28, 20, 11}},
		{"sharded", Options{Chunks: chunks, Shards: []Edges{{Dim: "time", Sizes: []int64{14}}, {Array: "t2m", Dim: "lat", Sizes: []int64{4}}}}, 0, nil},
		{"rectilinear shards", Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{5}}}, Shards: []Edges{{Dim: "time", Sizes: []int64{30, 20, 40}}}}, 0, []int64{30, 20, 40}},
		{"format 2", Options{Chunks: chunks, Format: 2}, 0, slices.Repeat([]int64{7}, 13)},
	} {
		t.Run(test.name, func(t *testing.T) {
			dest := filepath.Join(t.TempDir(), "copy")
			r := s.copy(t, dest, test.options)
			format := cmp.Or(test.options.Format, 3)
			s.compare(t, dest, format)
			if r.Encoded < 4 || r.Verbatim < test.verbatim {
				t.Errorf("%d chunks are verbatim and %d re-encoded", r.Verbatim, r.Encoded)
			}
			g, err := readSchema(t, filepath.Join(dest, "t2m"), format).Grid()
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for run := range g.Dim(0).Runs() {
				got = append(got, slices.Repeat([]int64{run.Codec}, int(run.Count))...)
			}
			if test.edges != nil && !slices.Equal(got, test.edges) {
				t.Errorf("edges %v, want %v", got, test.edges)
			}
			if _, err := os.Stat(filepath.Join(dest, journalName)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the journal is left: %v", err)
			}
		})
	}
}

// TestRecode checks that re-chunked arrays have only codecs that can encode.
func TestRecode(t *testing.T) {
	s := newSample(t, january)
	spec := *s.store.Arrays()[0].Spec()
	for _, a := range s.store.Arrays() {
		if len(a.Spec().Dims) == 3 {
			spec = *a.Spec()
		}
	}
	schema := *spec.Schema
	schema.Codecs = []codec.Spec{schema.Codecs[0], {Name: "numcodecs.bz2"}}
	spec.Schema = &schema
	g, err := schema.Grid()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		chunks       []Edges
		codec        string
		reencodesAll bool
	}{{nil, "numcodecs.bz2", false}, {[]Edges{{Dim: path.Base(spec.Dims[0]), Sizes: []int64{3}}}, "zstd", true}} {
		made, err := newTarget(&spec, g, &Options{Chunks: test.chunks}, map[string]bool{})
		if err != nil {
			t.Fatal(err)
		}
		if got := made.schema.Codecs[1].Name; got != test.codec || made.reencodesAll != test.reencodesAll {
			t.Errorf("%v: got %s, all chunks re-encoded: %v", test.chunks, got, made.reencodesAll)
		}
	}
}

// adviceOf returns the first remedy of an error, or "".
func adviceOf(err error) string {
	var e *manifest.RemedyError
	if !errors.As(err, &e) {
		return ""
	}
	return e.Remedies[0].Option + " " + e.Remedies[0].Value
}

// TestUneven checks that the error names only the dimensions that have no single chunk length.
func TestUneven(t *testing.T) {
	g, err := grid.FromSizes([]int64{3, 7}, grid.List(1, 1, 1), grid.List(3, 4))
	if err != nil {
		t.Fatal(err)
	}
	of := &target{spec: &manifest.Array{Dims: []string{"/station", "/time"}}, schema: &zarrjson.Array{}, grid: g}
	if err := of.toV2(); adviceOf(err) != "chunks time=LENGTH" {
		t.Errorf("got %v", err)
	}
}

func TestRefusals(t *testing.T) {
	s := newSample(t, january, february)
	for _, test := range []struct {
		name    string
		options Options
		says    string
	}{
		{"format", Options{Format: 4}, "format 4"},
		{"rectilinear in format 2", Options{Format: 2}, "chunks time=LENGTH"},
		{"no such dimension", Options{Chunks: []Edges{{Dim: "depth", Sizes: []int64{1}}}}, "depth"},
		{"edges that fall short", Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{5, 6}}}}, "axis 0"},
		{"chunks that do not divide shards", Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{4}}}, Shards: []Edges{{Dim: "time", Sizes: []int64{10}}}}, "shards time=12"},
		{"memory", Options{Memory: 10, Chunks: []Edges{{Dim: "time", Sizes: []int64{50}}}}, "memory"},
	} {
		dest := filepath.Join(t.TempDir(), "copy")
		if _, err := Write(context.Background(), s.store, dest, &test.options); err == nil || !strings.Contains(err.Error()+adviceOf(err), test.says) {
			t.Errorf("%s: got %v", test.name, err)
		}
		if left, err := os.ReadDir(dest); err == nil && (test.name != "memory" || len(left) > 1) {
			t.Errorf("%s: %v was left", test.name, left)
		}
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "precious"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(context.Background(), s.store, full, &Options{Force: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that is no copy: got %v", err)
	}
	dest := filepath.Join(t.TempDir(), "copy")
	s.copy(t, dest, Options{})
	if _, err := Write(context.Background(), s.store, dest, nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a copy: got %v", err)
	}
	s.copy(t, dest, Options{Force: true})
}

// TestBrokenSource checks that the error is the failure itself, not the cancellation of other workers.
func TestBrokenSource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "2021-01.nc")
	data, err := os.ReadFile(january)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newSample(t, file)
	if err := os.Truncate(file, 100); err != nil {
		t.Fatal(err)
	}
	_, err = Write(t.Context(), s.store, filepath.Join(t.TempDir(), "copy"), &Options{Workers: 1, Chunks: []Edges{{Dim: "time", Sizes: []int64{1}}}})
	if !errors.Is(err, source.ErrChanged) || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// begin starts a copy and stops it before it is verified; done chunks of the first array
// are copied.
func begin(t *testing.T, s *sample, dest string, o Options) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	full := filepath.Join(t.TempDir(), "full")
	s.copy(t, full, o)
	c := prepared(t, s, full+"2", o)
	if err := c.copyAll(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.journal.close(t.Context(), nil, false), c.home.close(nil)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(full+"2", dest); err != nil {
		t.Fatal(err)
	}
}

// prepared returns a copier with an open journal.
func prepared(t *testing.T, s *sample, dest string, o Options) *copier {
	t.Helper()
	opts, err := o.defaults(dest)
	if err != nil {
		t.Fatal(err)
	}
	c := &copier{opts: opts, from: s.store, snapshot: s.store.Snapshot()}
	if c.arrays, err = targets(s.store, opts); err != nil {
		t.Fatal(err)
	}
	if c.documents, err = documents(s.store.Groups(), c.arrays, opts); err != nil {
		t.Fatal(err)
	}
	if c.home, _, err = openDestination(t.Context(), dest, opts); err != nil {
		t.Fatal(err)
	}
	if c.journal, err = c.home.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestResume truncates the journal of a copy at any byte. Chunks without a record are copied again, all others are not.
func TestResume(t *testing.T) {
	s := newSample(t, january, february, march)
	o := Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}}}
	begun := filepath.Join(t.TempDir(), "begun")
	begin(t, s, begun, o)
	whole, err := os.ReadFile(filepath.Join(begun, journalName))
	if err != nil {
		t.Fatal(err)
	}
	head := len(journalMagic) + 32
	records := (len(whole) - head) / recordSize
	for _, size := range []int{0, 5, head, head + recordSize - 1, head + 3*recordSize, head + 5*recordSize + 7, len(whole)} {
		dest := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dest, os.DirFS(begun)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dest, journalName), whole[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		r := s.copy(t, dest, o)
		if want := max(0, size-head) / recordSize; r.Resumed != int64(want) || int(r.Encoded+r.Verbatim+r.Missing) != records-want {
			t.Errorf("with %d bytes of the journal: got %+v, want %d of %d resumed", size, r, want, records)
		}
		s.compare(t, dest, 3)
	}
	if _, err := Write(context.Background(), s.store, begun, &Options{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("going on with other options: got %v", err)
	}
}

// TestProgress checks that the last report counts all chunks, also if a copy was continued.
func TestProgress(t *testing.T) {
	s := newSample(t, january, february)
	var mu sync.Mutex
	var most, total int64
	o := Options{Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}}, Progress: func(done, of int64) {
		mu.Lock()
		defer mu.Unlock()
		most, total = max(most, done), of
	}}
	begun := filepath.Join(t.TempDir(), "begun")
	begin(t, s, begun, o)
	if most == 0 || most != total {
		t.Errorf("%d of %d chunks are done", most, total)
	}
	most = 0
	s.copy(t, begun, o)
	if most != total {
		t.Errorf("going on: %d of %d chunks are done", most, total)
	}
	s.append(t, march)
	most, o.Append = 0, true
	s.copy(t, begun, o)
	if most != total || total == 0 {
		t.Errorf("appended: %d of %d chunks are done", most, total)
	}
}

// TestOneAtATime checks that only one process at a time copies to a folder: two would damage each other's files.
func TestOneAtATime(t *testing.T) {
	s := newSample(t, january, february)
	dest := filepath.Join(t.TempDir(), "copy")
	c := prepared(t, s, dest, Options{})
	if c.home.lock == nil {
		t.Skip("no locks here")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dest, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dest, link} {
		for _, o := range []*Options{nil, {Force: true}, {Append: true}} {
			if _, err := Write(t.Context(), s.store, name, o); !errors.Is(err, home.ErrTaken) {
				t.Errorf("%s, %+v, while another export is writing: %v", name, o, err)
			}
		}
	}
	if err := errors.Join(c.journal.close(t.Context(), nil, false), c.home.close(nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(t.Context(), s.store, link, &Options{Force: true}); err != nil {
		t.Fatal(err)
	}
	s.compare(t, dest, 3)
}

// TestVerify damages files of a copy before it is verified.
func TestVerify(t *testing.T) {
	s := newSample(t, january, february)
	for name, damage := range map[string]func(string) error{
		"altered":   alter,
		"truncated": func(name string) error { return os.Truncate(name, 3) },
		"gone":      os.Remove,
	} {
		dest := filepath.Join(t.TempDir(), "copy")
		begin(t, s, dest, Options{})
		if err := damage(filepath.Join(dest, "t2m/c/1/0/0")); err != nil {
			t.Fatal(err)
		}
		if _, err := Write(context.Background(), s.store, dest, nil); err == nil || !strings.Contains(err.Error(), "c/1/0/0") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dest, "zarr.json")); err == nil {
			t.Errorf("%s: the copy was published", name)
		}
	}
}

func alter(name string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	return os.WriteFile(name, b, 0o644)
}

func TestAppend(t *testing.T) {
	for name, o := range map[string]Options{
		"as it is": {},
		"regular":  {Chunks: []Edges{{Dim: "time", Sizes: []int64{10}}}},
		"sharded":  {Chunks: []Edges{{Dim: "time", Sizes: []int64{5}}}, Shards: []Edges{{Dim: "time", Sizes: []int64{20}}}},
		"format 2": {Format: 2, Chunks: []Edges{{Dim: "time", Sizes: []int64{9}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSample(t, january, february)
			dest := filepath.Join(t.TempDir(), "copy")
			s.copy(t, dest, o)
			chunk := filepath.Join(dest, "t2m/c/0/0/0")
			if o.Format == 2 {
				chunk = filepath.Join(dest, "t2m/0.0.0")
			}
			kept, err := os.Stat(chunk)
			if err != nil {
				t.Fatal(err)
			}
			s.append(t, march)
			all := s.copy(t, filepath.Join(t.TempDir(), "all"), o)
			o.Append = true
			r := s.copy(t, dest, o)
			if !r.Appended || r.Verbatim+r.Encoded >= all.Verbatim+all.Encoded {
				t.Errorf("all of it %+v, appended %+v", all, r)
			}
			s.compare(t, dest, cmp.Or(o.Format, 3))
			if now, err := os.Stat(chunk); err != nil || !os.SameFile(kept, now) || !now.ModTime().Equal(kept.ModTime()) {
				t.Errorf("a chunk that is as it was was written again: %v", err)
			}
			if again := s.copy(t, dest, o); again.Verbatim+again.Encoded+again.Missing != 0 {
				t.Errorf("nothing is new, and yet %+v", again)
			}
			o.Chunks = append(o.Chunks, Edges{Array: "t2m", Dim: "lat", Sizes: []int64{1}})
			o.Manifest = s.repo
			if _, err := Write(context.Background(), s.store, dest, &o); err == nil {
				t.Error("appended with other chunks")
			}
		})
	}
}

func TestCancel(t *testing.T) {
	s := newSample(t, january)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Write(ctx, s.store, filepath.Join(t.TempDir(), "copy"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestFailureIsNoInterruption checks that the error is the failure of a source, not the cancellation of the other chunks.
func TestFailureIsNoInterruption(t *testing.T) {
	b, err := os.ReadFile(january)
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "2021-01.nc")
	if err := os.WriteFile(source, b, 0o644); err != nil {
		t.Fatal(err)
	}
	s := newSample(t, source)
	if err := os.WriteFile(source, b[:len(b)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = Write(context.Background(), s.store, filepath.Join(t.TempDir(), "copy"), &Options{Workers: 1, Memory: 4 << 10})
	if err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func FuzzJournal(f *testing.F) {
	identity := [32]byte{1}
	head := append([]byte(journalMagic), identity[:]...)
	f.Add(head)
	f.Add(record{chunk: 3, size: 10, sum: 7}.append(slices.Clone(head)))
	f.Add([]byte("varve"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &destination{Home: home.At(t.TempDir()), journal: journalName}
		j, err := d.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = j.close(t.Context(), nil, false) }()
		if err := os.WriteFile(d.Name(journalName), b, 0o644); err != nil {
			t.Fatal(err)
		}
		if j.begin(t.Context(), identity, []int64{100, 1}) != nil {
			return
		}
		if err := j.add(t.Context(), []record{{array: 1, size: 5, sum: 5}}); err != nil || !j.has(1, 0) {
			t.Fatalf("a record was not kept: %v", err)
		}
		found := false
		if _, err := j.each(func(r record) error { found = found || r == record{array: 1, size: 5, sum: 5}; return nil }); err != nil || !found {
			t.Fatalf("a record is not in the file: %v", err)
		}
	})
}

// TestNames checks that no array has the path of a document or of the copy's own files.
func TestNames(t *testing.T) {
	array := func(path string) *target {
		schema, err := zarrjson.ParseArray([]byte(`{"zarr_format":3,"node_type":"array","shape":[],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":["bytes"]}`))
		if err != nil {
			t.Fatal(err)
		}
		return &target{spec: &manifest.Array{Path: path}, schema: schema}
	}
	for format, want := range map[int]map[string]bool{
		3: {"/zarr.json": false, "/g/zarr.json": false, "/.varve": false, "/.varve/x": false, "/.zgroup": true, "/g/.varve": true, "/c": true},
		2: {"/zarr.json": true, "/.zgroup": false, "/g/.zgroup": false, "/.zmetadata": false, "/g/.zmetadata": true, "/.varve": false, "/.zarray": true},
	} {
		for path, fine := range want {
			_, err := documents(nil, []*target{array(path)}, &Options{Format: format})
			if (err == nil) != fine || err != nil && adviceOf(err) != "build/rename OLD=NEW" {
				t.Errorf("format %d, %s: got %v", format, path, err)
			}
		}
	}
}
