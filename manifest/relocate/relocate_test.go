package relocate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/internal/table"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/manifest/store"
	"varve/readers/source"
	"varve/readers/source/storetest"
)

// archive is a folder of files with two days each, and a manifest of them.
type archive struct {
	testing.TB
	dir, out string
	config   string
}

func newArchive(t testing.TB) *archive {
	a := &archive{TB: t, dir: t.TempDir(), config: t.TempDir()}
	t.Setenv("XDG_CONFIG_HOME", a.config)
	a.out = filepath.Join(t.TempDir(), "a.varve")
	return a
}

func (a *archive) must(err error) {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
}

// file writes the n-th file below the archive's folder.
func (a *archive) file(name string, n int) string {
	a.Helper()
	name = filepath.Join(a.dir, name)
	a.must(os.MkdirAll(filepath.Dir(name), 0o777))
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 2, Records: true}, {Name: "x", Length: 2}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(2 * n), float64(2*n + 1)}},
			{Name: "v", Dims: []string{"time", "x"}, Data: []int16{int16(4 * n), int16(4*n + 1), int16(4*n + 2), int16(4*n + 3)}},
		},
	}
	a.must(f.Write(name))
	return name
}

func (a *archive) build(o ingest.Options, names ...string) {
	a.Helper()
	o.Sources.Names = names
	_, err := ingest.Build(a.Context(), a.out, &o)
	a.must(err)
}

func (a *archive) append(names ...string) error {
	_, err := ingest.Append(a.Context(), a.out, &ingest.Options{Sources: ingest.Sources{Names: names}})
	return err
}

func (a *archive) relocate(o Options, pairs ...string) (*Result, error) {
	for i := 0; i < len(pairs); i += 2 {
		o.Moves = append(o.Moves, Move{pairs[i], pairs[i+1]})
	}
	return Relocate(a.Context(), a.out, &o)
}

func (a *archive) mustRelocate(o Options, pairs ...string) *Result {
	a.Helper()
	r, err := a.relocate(o, pairs...)
	a.must(err)
	return r
}

func (a *archive) snapshot() (snap *manifest.Snapshot) {
	a.Helper()
	repository, err := repo.Open(a.Context(), a.out)
	a.must(err)
	id, err := repository.Current(a.Context())
	a.must(err)
	snap, err = repository.Load(a.Context(), id)
	a.must(errors.Join(err, repository.Close()))
	return snap
}

// rows returns all sources of a snapshot.
func (a *archive) rows(snap *manifest.Snapshot) (rows []*table.SourceRow) {
	a.Helper()
	repository, err := repo.Open(a.Context(), a.out)
	a.must(err)
	r, err := table.Open(snap.Tables, table.InRepository(repository), table.NewCache(1<<20))
	a.must(err)
	for row, err := range r.ScanSources(a.Context(), 0, r.Rows(manifest.Sources)) {
		a.must(err)
		rows = append(rows, row)
	}
	a.must(errors.Join(r.Close(), repository.Close()))
	return rows
}

// read reads an array. Besides the places that the manifest's seal allows, it may read allow.
func (a *archive) read(path string, allow ...string) ([]byte, error) {
	s, err := store.Open(a.Context(), a.out, &store.Options{Allow: allow})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	x, err := s.Array(path)
	if err != nil {
		return nil, err
	}
	values := codec.NewElems(x.Schema().Form(x.Grid().Shape()))
	err = x.ReadRegion(a.Context(), grid.Whole(x.Grid().Shape()), values)
	return values.Fixed, err
}

// holds checks that the array v has the values of the first files, in order.
func (a *archive) holds(files int) {
	a.Helper()
	got, err := a.read("v")
	a.must(err)
	for i := range 4 * files {
		if len(got) != 8*files || int(got[2*i]) != i {
			a.Fatalf("got %v, want the values of %d files", got, files)
		}
	}
}

// move renames a file or folder of the archive, and returns its new path.
func (a *archive) move(from, to string) (now string) {
	a.Helper()
	now = filepath.Join(a.dir, to)
	a.must(os.MkdirAll(filepath.Dir(now), 0o777))
	a.must(os.Rename(filepath.Join(a.dir, from), now))
	return now
}

// TestThereAndBack moves sources away and back. It checks that rows keep the ID of the scanned version, and that
// Scanned is empty again for sources at the place where they were scanned.
func TestThereAndBack(t *testing.T) {
	a := newArchive(t)
	a.build(ingest.Options{}, a.file("old/0.nc", 0), a.file("stays/1.nc", 1))
	first := a.rows(a.snapshot())
	a.move("old", "new")
	r := a.mustRelocate(Options{Writer: "test"}, a.dir+"/old", a.dir+"/new")
	if r.Sources != 1 || r.Described != 1 || r.Sized+r.Compared != 0 || r.Unsealed != nil {
		t.Errorf("%+v", r)
	}
	a.holds(2)
	if snap := a.snapshot(); snap.ID != r.Snapshot.ID || snap.Sources != 2 || snap.Writer != "test" || snap.Message != "relocate 1 source from "+a.dir+"/old to "+a.dir+"/new" {
		t.Errorf("%+v", snap)
	}
	for i := range 30 { // enough appends that tables are folded
		a.must(a.append(a.file(fmt.Sprintf("new/%d.nc", i+2), i+2)))
	}
	a.holds(32)
	now := a.rows(a.snapshot())
	for i, row := range first {
		if now[i].ScanID() != row.ScanID() || (now[i].Scanned == "") != (i == 1) {
			t.Errorf("%+v, was %+v", now[i].Source, row.Source)
		}
	}
	a.move("new", "old")
	a.mustRelocate(Options{}, a.dir+"/new", a.dir+"/old")
	for i, row := range a.rows(a.snapshot()) {
		if (row.Scanned == "") != (i < 2) || row.ScanID() != now[i].ScanID() {
			t.Errorf("%+v, was %+v", row.Source, now[i].Source)
		}
	}
	a.holds(32)
}

// TestSameRows checks that table.Begins, by which exports and servers compare snapshots, recognizes moved sources.
func TestSameRows(t *testing.T) {
	a := newArchive(t)
	a.build(ingest.Options{}, a.file("old/0.nc", 0), a.file("old/1.nc", 1))
	old := a.snapshot()
	a.move("old", "new")
	a.mustRelocate(Options{}, a.dir+"/old", a.dir+"/new")
	a.must(a.append(a.file("new/2.nc", 2)))
	moved := a.snapshot()
	a.build(ingest.Options{Force: true}, a.dir+"/new")
	rebuilt := a.snapshot()
	repository, err := repo.Open(t.Context(), a.out)
	a.must(err)
	defer repository.Close()
	open := func(s *manifest.Snapshot) *table.Reader {
		r, err := table.Open(s.Tables, table.InRepository(repository), table.NewCache(1<<20))
		a.must(err)
		return r
	}
	for _, tt := range []struct {
		name           string
		was, is        *manifest.Snapshot
		values, placed bool
	}{
		{"moved", old, moved, true, false},
		{"itself", moved, moved, true, true},
		{"built again", moved, rebuilt, false, false},
		{"built again elsewhere", old, rebuilt, false, false},
		{"fewer", moved, old, false, false},
	} {
		was, is := open(tt.was), open(tt.is)
		values, err := table.Begins(t.Context(), was, is, false)
		placed, err2 := table.Begins(t.Context(), was, is, true)
		if errors.Join(err, err2) != nil || values != tt.values || placed != tt.placed {
			t.Errorf("%s: %v and %v, %v", tt.name, values, placed, errors.Join(err, err2))
		}
		a.must(errors.Join(was.Close(), is.Close()))
	}
}

// TestRefused checks that wrong moves change nothing.
func TestRefused(t *testing.T) {
	a := newArchive(t)
	a.build(ingest.Options{Plan: plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `run(\d+)/`}}}}, a.file("run1/0.nc", 0), a.file("run2/0.nc", 0))
	before := a.snapshot().ID
	a.move("run1", "run3")
	var refused *MoveError
	if _, err := a.relocate(Options{}, a.dir+"/run1", a.dir+"/run3"); !errors.As(err, &refused) || !strings.Contains(err.Error(), "run3/0.nc") {
		t.Errorf("another number in the name: %v", err)
	}
	if _, err := a.relocate(Options{}); !errors.As(err, &refused) {
		t.Errorf("no moves: %v", err)
	}
	a.move("run3", "copy/run1")
	a.must(os.WriteFile(filepath.Join(a.dir, "run1"), nil, 0o666)) // a file replaces the folder
	if _, err := a.relocate(Options{}, a.dir+"/run2", a.dir+"/none/run2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing at the new place: %v", err)
	}
	if now := a.snapshot().ID; now != before {
		t.Error("something was published")
	}
	a.mustRelocate(Options{}, a.dir+"/run1", a.dir+"/copy/run1")
}

// TestUnlike changes a file at its new place in several ways, and checks that Relocate detects each change.
func TestUnlike(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(a *archive, name string)
		says  string
		only  bool // only Deep detects the change
		is    error
	}{
		"gone":                   {func(a *archive, name string) { a.must(os.Remove(name)) }, "new/1.nc", false, fs.ErrNotExist},
		"a folder":               {func(a *archive, name string) { a.must(os.Remove(name)); a.must(os.Mkdir(name, 0o777)) }, "", false, source.ErrChanged},
		"cut":                    {func(a *archive, name string) { a.must(os.Truncate(name, 90)) }, "90 ", false, source.ErrChanged},
		"other coordinates":      {func(a *archive, name string) { a.file("new/1.nc", 7) }, "/time", false, source.ErrChanged},
		"another attribute":      {func(a *archive, name string) { a.replace(name, "days since 2000", "days since 2001") }, "/time", false, source.ErrChanged},
		"another name":           {func(a *archive, name string) { a.replace(name, "time", "tide") }, "/ti", false, source.ErrChanged},
		"no dataset":             {func(a *archive, name string) { a.replace(name, "CDF", "FDC") }, "", false, source.ErrChanged},
		"elements of a variable": {func(a *archive, name string) { a.replace(name, "\x00\x07", "\x00\x09") }, "1.nc", true, source.ErrChanged},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			a.build(ingest.Options{}, a.file("old/0.nc", 0), a.file("old/1.nc", 1))
			a.must(os.CopyFS(filepath.Join(a.dir, "new"), os.DirFS(filepath.Join(a.dir, "old"))))
			bad := filepath.Join(a.dir, "new/1.nc")
			tt.spoil(a, bad)
			for _, deep := range []bool{false, true} {
				_, err := a.relocate(Options{Deep: deep, DryRun: tt.only && !deep}, a.dir+"/old", a.dir+"/new")
				var mismatch *MismatchError
				switch {
				case !deep && tt.only:
					if err != nil {
						t.Errorf("found without Deep: %v", err)
					}
				case !errors.As(err, &mismatch) || mismatch.Count != 1 || mismatch.Of != 2 || !errors.Is(err, tt.is) || !strings.Contains(err.Error(), bad):
					t.Errorf("deep %v: %v", deep, err)
				case deep == tt.only && !strings.Contains(err.Error(), tt.says):
					t.Errorf("deep %v: %v, want an error with %q", deep, err, tt.says)
				}
			}
			a.holds(2)
		})
	}
}

// replace replaces a text in a file by another of the same length.
func (a *archive) replace(name, old, now string) {
	a.Helper()
	text, err := os.ReadFile(name)
	a.must(err)
	if !strings.Contains(string(text), old) {
		a.Fatalf("%s does not contain %q", name, old)
	}
	a.must(os.WriteFile(name, []byte(strings.Replace(string(text), old, now, 1)), 0o666))
}

// TestChunksAsFiles moves a Zarr store. Its chunks are files, and the scan recorded only their sizes.
func TestChunksAsFiles(t *testing.T) {
	a := newArchive(t)
	for name, content := range map[string]string{
		"old.zarr/zarr.json": `{"zarr_format":3,"node_type":"group"}`,
		"old.zarr/v/zarr.json": `{"shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],"dimension_names":["y"],"zarr_format":3,"node_type":"array"}`,
		"old.zarr/v/c/0": "ab", "old.zarr/v/c/1": "cd",
	} {
		name = filepath.Join(a.dir, name)
		a.must(os.MkdirAll(filepath.Dir(name), 0o777))
		a.must(os.WriteFile(name, []byte(content), 0o666))
	}
	a.build(ingest.Options{}, a.dir+"/old.zarr")
	a.must(os.CopyFS(filepath.Join(a.dir, "new.zarr"), os.DirFS(filepath.Join(a.dir, "old.zarr"))))
	r := a.mustRelocate(Options{DryRun: true, Deep: true}, a.dir+"/old.zarr", a.dir+"/new.zarr")
	if r.Snapshot != nil || r.Sources != 3 || r.Described != 1 || r.Compared != 2 {
		t.Errorf("%+v", r)
	}
	chunk := filepath.Join(a.dir, "new.zarr/v/c/1")
	a.must(os.WriteFile(chunk, []byte("c"), 0o666))
	if _, err := a.relocate(Options{}, a.dir+"/old.zarr", a.dir+"/new.zarr"); !errors.Is(err, source.ErrChanged) || !strings.Contains(err.Error(), chunk) {
		t.Errorf("a chunk is shorter: %v", err)
	}
	a.must(os.WriteFile(chunk, []byte("cd"), 0o666))
	a.must(os.RemoveAll(filepath.Join(a.dir, "old.zarr")))
	if r := a.mustRelocate(Options{}, a.dir+"/old.zarr", a.dir+"/new.zarr"); r.Described != 1 || r.Sized != 2 {
		t.Errorf("%+v", r)
	}
	if got, err := a.read("v"); err != nil || string(got) != "abcd" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestFollows checks that Relocate also updates the names of sources in Skipped and in the options.
func TestFollows(t *testing.T) {
	a := newArchive(t)
	a.must(os.MkdirAll(a.dir+"/old", 0o777))
	a.must(os.WriteFile(a.dir+"/old/broken.nc", []byte("CDF\x01 and no more"), 0o666))
	a.build(ingest.Options{SkipBroken: true, Plan: plan.Options{CodecFrom: a.dir + "/old/1.nc"}},
		a.file("old/0.nc", 0), a.file("old/1.nc", 1), a.dir+"/old/broken.nc")
	a.move("old/1.nc", "one.nc")
	a.move("old", "new")
	a.mustRelocate(Options{}, a.dir+"/old", a.dir+"/new", a.dir+"/old/1.nc", a.dir+"/one.nc")
	snap := a.snapshot()
	if len(snap.Skipped) != 1 || snap.Skipped[0].URL != a.dir+"/new/broken.nc" || strings.Contains(snap.Skipped[0].Why, "/old/") {
		t.Errorf("%+v", snap.Skipped)
	}
	if !strings.Contains(string(snap.Options), a.dir+"/one.nc") {
		t.Errorf("%s", snap.Options)
	}
	a.must(os.Rename(a.file("0.nc", 2), a.dir+"/new/2.nc"))
	a.must(a.append(a.dir + "/new/2.nc"))
	a.holds(3)
	var refused *plan.Error
	if err := a.append(a.dir+"/new/0.nc", a.dir+"/one.nc"); !errors.As(err, &refused) {
		t.Errorf("appending the same files again: %v", err)
	}
}

// TestOthers checks that a user who did not build the manifest may read only the new places after Relocate.
func TestOthers(t *testing.T) {
	a := newArchive(t)
	a.build(ingest.Options{}, a.file("old/0.nc", 0), a.file("stays/1.nc", 1))
	a.move("old", "new")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a.mustRelocate(Options{}, a.dir+"/old", a.dir+"/new")
	if _, err := a.read("v"); !errors.Is(err, source.ErrForbidden) || !strings.Contains(err.Error(), "stays/1.nc") {
		t.Errorf("reading a place that is not allowed: %v", err)
	}
	if _, err := a.read("v", a.dir+"/stays"); err != nil {
		t.Error(err)
	}
	if seal := a.snapshot().Seal; !slices.Equal(seal.Prefixes, []string{a.dir + "/new"}) {
		t.Errorf("%+v", seal)
	}
	a.must(os.CopyFS(a.dir+"/far", os.DirFS(a.dir+"/stays")))
	if _, err := a.relocate(Options{Deep: true}, a.dir+"/stays", a.dir+"/far"); !errors.Is(err, source.ErrForbidden) {
		t.Errorf("Deep without permission for the old place: %v", err)
	}
	a.mustRelocate(Options{Deep: true, Allow: []string{a.dir + "/stays"}}, a.dir+"/stays", a.dir+"/far")
	a.move("new", "hidden")
	a.move("far", "open")
	a.must(os.Symlink(a.dir+"/hidden", a.dir+"/open/way"))
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a.mustRelocate(Options{}, a.dir+"/new", a.dir+"/open/way", a.dir+"/far", a.dir+"/open")
	a.holds(2) // the user named both places
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	a.move("open", "else")
	a.mustRelocate(Options{}, a.dir+"/open", a.dir+"/else")
	if _, err := a.read("v"); !errors.Is(err, source.ErrForbidden) || !strings.Contains(err.Error(), "else/way/0.nc") {
		t.Errorf("reading the target of a link outside the allowed places: %v", err)
	}
}

// TestOtherWriter appends a file while Relocate runs, and checks that the result has the appended file.
func TestOtherWriter(t *testing.T) {
	a := newArchive(t)
	a.build(ingest.Options{}, a.file("old/0.nc", 0), a.file("old/1.nc", 1))
	a.move("old", "new")
	more := a.file("more/2.nc", 2)
	once := true
	r := a.mustRelocate(Options{Progress: func(done, total int64) {
		if once {
			once = false
			a.must(a.append(more))
		}
	}}, a.dir+"/old", a.dir+"/new")
	if r.Sources != 2 || r.Snapshot.Sources != 3 {
		t.Errorf("%+v", r)
	}
	a.holds(3)
}

// TestEnded checks that a cancelled relocation publishes nothing and leaves no drafts.
func TestEnded(t *testing.T) {
	a := newArchive(t)
	a.build(ingest.Options{}, a.file("old/0.nc", 0), a.file("old/1.nc", 1))
	a.move("old", "new")
	before := a.snapshot().ID
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Relocate(ctx, a.out, &Options{Moves: []Move{{a.dir + "/old", a.dir + "/new"}}, Progress: func(int64, int64) { cancel() }})
	if !errors.Is(err, context.Canceled) || a.snapshot().ID != before {
		t.Errorf("%v", err)
	}
	if drafts, err := os.ReadDir(filepath.Join(a.out, "drafts")); err != nil && !errors.Is(err, fs.ErrNotExist) || len(drafts) > 0 {
		t.Errorf("drafts remain: %v, %v", drafts, err)
	}
}

// TestToStore moves files to an object store and counts requests.
func TestToStore(t *testing.T) {
	a := newArchive(t)
	m := storetest.NewMemory(t)
	a.out = "s3://bucket/a.varve"
	var names []string
	const files = 40
	for i := range files {
		names = append(names, a.file(fmt.Sprintf("old/%02d %%41#.nc", i), i))
	}
	a.build(ingest.Options{}, names...)
	for _, name := range names {
		content, err := os.ReadFile(name)
		a.must(err)
		m.Put("bucket/new place/"+filepath.Base(name), content)
	}
	m.Log()
	a.mustRelocate(Options{}, a.dir+"/old", "s3://bucket/new place/")
	if log := m.Log(); len(log) > files+25 {
		t.Errorf("%d requests: %q", len(log), log)
	}
	a.must(os.RemoveAll(a.dir + "/old"))
	a.holds(files)
	m.Remove("bucket/new place/" + filepath.Base(names[3]))
	if _, err := a.read("v"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a missing object: %v", err)
	}
	if _, err := a.relocate(Options{}, "s3://bucket/new place", "s3://bucket/old place"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "40 of 40") {
		t.Errorf("moving to a prefix without objects: %v", err)
	}
}

// TestToServer moves files to a web server with percent-encoded names, and then to another one. It checks that no file
// of the manifest contains the password.
func TestToServer(t *testing.T) {
	a := newArchive(t)
	a.build(ingest.Options{}, a.file("old/a b/0%20#.nc", 0), a.file("old/a b/1?.nc", 1))
	serve := func(dir string) *httptest.Server {
		files := http.FileServer(http.Dir(filepath.Join(a.dir, dir)))
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if user, word, _ := r.BasicAuth(); user != "somebody" || word != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			files.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		return s
	}
	secret := func(s *httptest.Server) string { return strings.Replace(s.URL, "://", "://somebody:secret@", 1) }
	first := serve("old")
	if _, err := a.relocate(Options{}, a.dir+"/old", first.URL); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("without a password: %v", err)
	}
	a.mustRelocate(Options{Deep: true}, a.dir+"/old", secret(first))
	rows := a.rows(a.snapshot())
	if rows[0].URL != first.URL+"/a%20b/0%2520%23.nc" || rows[1].URL != first.URL+"/a%20b/1%3F.nc" {
		t.Errorf("%q and %q", rows[0].URL, rows[1].URL)
	}
	second := serve("old")
	first.Close()
	a.mustRelocate(Options{}, first.URL, secret(second))
	a.must(filepath.WalkDir(a.out, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if strings.Contains(string(text), "secret") {
			t.Errorf("%s contains the password", name)
		}
		return err
	}))
	second.Close()
	a.mustRelocate(Options{}, second.URL, a.dir+"/old")
	if rows := a.rows(a.snapshot()); rows[0].URL != a.dir+"/old/a b/0%20#.nc" || rows[0].Scanned != "" {
		t.Errorf("%+v", rows[0])
	}
	a.holds(2)
}

// TestTargets moves a file to which a reference file points. The reference file is not moved.
func TestTargets(t *testing.T) {
	a := newArchive(t)
	a.must(os.MkdirAll(a.dir+"/old", 0o777))
	a.must(os.WriteFile(a.dir+"/old/bytes", []byte("..abcd"), 0o666))
	a.must(os.WriteFile(a.dir+"/refs.json", fmt.Appendf(nil, `{"version":1,"refs":{".zgroup":"{\"zarr_format\":2}",
		"v/.zarray":"{\"zarr_format\":2,\"shape\":[4],\"chunks\":[2],\"dtype\":\"|u1\",\"compressor\":null,\"filters\":null,\"fill_value\":0,\"order\":\"C\"}",
		"v/.zattrs":"{\"_ARRAY_DIMENSIONS\":[\"y\"]}","v/0":[%[1]q,2,2],"v/1":[%[1]q,4,2]}}`, a.dir+"/old/bytes"), 0o666))
	a.build(ingest.Options{}, a.dir+"/refs.json")
	a.move("old", "new")
	if r := a.mustRelocate(Options{}, a.dir+"/old", a.dir+"/new"); r.Sources != 1 || r.Sized != 1 {
		t.Errorf("%+v", r)
	}
	if got, err := a.read("v"); err != nil || string(got) != "abcd" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestReordered checks that Relocate reports another order of names only if names determine the order of files.
func TestReordered(t *testing.T) {
	a := newArchive(t)
	byName := plan.Options{Concat: []string{"time"}, Drop: []string{"time"}}
	for _, tt := range []struct {
		opts plan.Options
		to   string
		want bool
	}{{plan.Options{}, "c", false}, {byName, "c", true}, {byName, "a0", false}} {
		first, second := a.file("a/1.nc", 0), a.file("b/2.nc", 1)
		a.build(ingest.Options{Plan: tt.opts, Force: true}, first, second)
		a.must(os.CopyFS(filepath.Join(a.dir, tt.to), os.DirFS(filepath.Dir(first))))
		if r := a.mustRelocate(Options{DryRun: true}, a.dir+"/a", filepath.Join(a.dir, tt.to)); r.Reordered != tt.want {
			t.Errorf("to %s: %+v", tt.to, r)
		}
		a.must(os.RemoveAll(filepath.Join(a.dir, tt.to)))
	}
}

// TestAppendInNewOrder: an append after a relocation uses the order of the new names, and plans only the new files if that
// is the old order.
func TestAppendInNewOrder(t *testing.T) {
	a := newArchive(t)
	a.build(ingest.Options{Plan: plan.Options{Concat: []string{"time"}, Drop: []string{"time"}}}, a.file("a/1.nc", 0), a.file("b/2.nc", 1))
	for n, move := range [][2]string{{"a", "a0"}, {"b", "d"}} {
		a.move(move[0], move[1])
		a.mustRelocate(Options{}, a.dir+"/"+move[0], a.dir+"/"+move[1])
		name := a.file([]string{"c/3.nc", "e/4.nc"}[n], n+2)
		made, err := ingest.Append(a.Context(), a.out, &ingest.Options{Sources: ingest.Sources{Names: []string{name}}})
		a.must(err)
		replanned := slices.ContainsFunc(made.Report.Findings, func(f report.Finding) bool { return f.Code == report.Replanned })
		if replanned != (n == 1) {
			t.Errorf("moved to %s: %+v", move[1], made.Report.Findings)
		}
		if n == 0 {
			a.holds(3)
		}
	}
	got, err := a.read("v")
	a.must(err)
	for i, file := range []byte{0, 2, 1, 3} {
		if len(got) != 32 || got[8*i] != 4*file {
			t.Fatalf("got %v", got)
		}
	}
}

// TestNilOptions checks that Relocate returns a MoveError if there are no moves.
func TestNilOptions(t *testing.T) {
	var wrong *MoveError
	if _, err := Relocate(t.Context(), t.TempDir(), nil); !errors.As(err, &wrong) {
		t.Errorf("got %v, want a MoveError", err)
	}
}
