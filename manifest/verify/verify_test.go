package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/manifest/ingest"
	"varve/manifest/repo"
	"varve/manifest/store"
	"varve/readers/source"
	"varve/zarrjson"
)

// archived returns an open manifest of three files with two days each, and the paths of these files.
func archived(t *testing.T) (s *store.Store, files []string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	for i := range 3 {
		f := &classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 2, Records: true}, {Name: "x", Length: 3}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Data: []float64{float64(2 * i), float64(2*i + 1)}},
				{Name: "v", Dims: []string{"time", "x"}, Data: []float32{1, 2, 3, 4, 5, 6}},
			},
		}
		name := filepath.Join(dir, fmt.Sprintf("%d.nc", i))
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	out := filepath.Join(dir, "a.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: files}, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), out, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, files
}

// TestVerify changes sources in several ways, and checks which of them Verify reports.
func TestVerify(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name  string
		spoil func(files []string) error
		bad   int // sources
		want  error
	}{
		{"no change", func([]string) error { return nil }, 0, nil},
		{"a file is missing", func(f []string) error { return os.Remove(f[1]) }, 1, os.ErrNotExist},
		{"two files have another modification time", func(f []string) error {
			return errors.Join(os.Chtimes(f[0], later, later), os.Chtimes(f[2], later, later))
		}, 2, source.ErrChanged},
		{"a file is shorter", func(f []string) error { return os.Truncate(f[2], 100) }, 1, source.ErrChanged},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, files := archived(t)
			if err := c.spoil(files); err != nil {
				t.Fatal(err)
			}
			for _, deep := range []bool{false, true} {
				r, err := Verify(t.Context(), s, &Options{Deep: deep})
				if err != nil {
					t.Fatal(err)
				}
				sources := map[string]bool{}
				for _, p := range r.Problems {
					sources[p.Source] = true
				}
				if r.Sources != 3 || len(sources) != c.bad || !errors.Is(r.Err(), c.want) {
					t.Errorf("deep %v: %d sources, problems with %v: %v", deep, r.Sources, sources, r.Err())
				}
				if wantChunks := map[bool]bool{true: true}[deep]; (r.Chunks > 0) != wantChunks {
					t.Errorf("deep %v: %d chunks", deep, r.Chunks)
				}
			}
		})
	}
}

// zarrOf returns an open manifest of a Zarr group with one array, a, with one stored chunk.
func zarrOf(t *testing.T, document, key, chunk string) *store.Store {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	name := filepath.Join(dir, "source")
	for file, content := range map[string]string{"zarr.json": `{"zarr_format":3,"node_type":"group"}`, "a/zarr.json": document, key: chunk} {
		file = filepath.Join(name, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "a.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{name}}, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(t.Context(), out, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestVerifyHugeChunk checks that Verify reports a chunk with a huge declared shape, and does not allocate memory
// for it.
func TestVerifyHugeChunk(t *testing.T) {
	s := zarrOf(t, `{"shape":[9],"data_type":"int16","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1152921504606846976]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"gzip"}],
		"dimension_names":["x"],"zarr_format":3,"node_type":"array"}`, "a/c/0", "stored")
	r, err := Verify(t.Context(), s, &Options{Deep: true})
	if err != nil || len(r.Problems) != 1 || !errors.Is(r.Err(), errors.ErrUnsupported) {
		t.Errorf("%v, %v", err, r)
	}
}

// TestVerifySparse checks that Verify does not visit missing chunks one by one.
func TestVerifySparse(t *testing.T) {
	const chunks = 1_000_000
	s := zarrOf(t, fmt.Sprintf(`{"shape":[%d],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"},{"name":"crc32c"}],
		"dimension_names":["x"],"zarr_format":3,"node_type":"array"}`, chunks), "a/c/777777", "wrong")
	steps := 0
	r, err := Verify(t.Context(), s, &Options{Deep: true, Progress: func(int64, int64) { steps++ }})
	if err != nil || r.Chunks != chunks || len(r.Problems) != 1 || r.Problems[0].Coords[0] != 777_777 {
		t.Errorf("%v, %v", err, r)
	}
	if steps > chunks/1000 {
		t.Errorf("%d steps for %d chunks, of which one is stored", steps, chunks)
	}
}

// TestVerifyDamaged checks that the error for a chunk that cannot be decoded names its file and offset.
func TestVerifyDamaged(t *testing.T) {
	s := zarrOf(t, `{"shape":[9],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"},{"name":"gzip"}],
		"dimension_names":["x"],"zarr_format":3,"node_type":"array"}`, "a/c/7", "damaged")
	r, err := Verify(t.Context(), s, &Options{Deep: true})
	if err != nil || len(r.Problems) != 1 || !errors.Is(r.Err(), codec.ErrCorrupt) || !strings.Contains(r.Err().Error(), filepath.Join("a", "c", "7")+": chunk at offset 0") {
		t.Errorf("%v, %v", err, r)
	}
}

// TestVerifyMany checks that the result lists only some of the failing chunks of a file, and counts the others.
func TestVerifyMany(t *testing.T) {
	const most = shownChunks
	v := &verifier{found: map[place][]int{}}
	for i := range int64(3 * most) {
		for _, source := range []string{"gone.nc", "changed.nc"} {
			v.add(Problem{Array: "/v", Source: source, Coords: []int64{i}, Err: os.ErrNotExist})
		}
	}
	v.add(Problem{Array: "/w", Source: "gone.nc", Coords: []int64{5}, Err: os.ErrNotExist})
	said := v.result.Err().Error()
	if n := len(v.result.Problems); n != 2*most+1 || strings.Count(said, fmt.Sprintf("/v, chunk [%d] and %d more: ", most-1, 2*most)) != 2 {
		t.Errorf("%d problems:\n%s", n, said)
	}
}

// TestVerifyAllGone checks that the text of the error lists only some of many problems and counts the others, and that
// errors.Is also finds errors that are not listed.
func TestVerifyAllGone(t *testing.T) {
	v := &verifier{found: map[place][]int{}}
	for i := range 3 * shownProblems {
		v.add(Problem{Source: fmt.Sprint(i), Err: fmt.Errorf("%d.nc: %w", i, os.ErrNotExist)})
	}
	v.add(Problem{Source: "last", Err: codec.ErrCorrupt})
	err := v.result.Err()
	if lines := strings.Count(err.Error(), "\n"); lines != shownProblems || !strings.HasSuffix(err.Error(), fmt.Sprintf("\nand %d more", 2*shownProblems+1)) {
		t.Errorf("%d lines:\n%v", lines, err)
	}
	if !errors.Is(err, os.ErrNotExist) || !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("got %v, want ErrNotExist and ErrCorrupt", err)
	}
}

// TestVerifyCancelled checks that a cancelled verification returns context.Canceled, and reports no problems.
func TestVerifyCancelled(t *testing.T) {
	s, _ := archived(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Verify(ctx, s, &Options{Deep: true}); !errors.Is(err, context.Canceled) || len(r.Problems) > 0 {
		t.Errorf("got %v and %v", err, r.Problems)
	}
}

// TestVerifyAgain checks that a second verification detects files that were replaced while the store had them open.
func TestVerifyAgain(t *testing.T) {
	s, files := archived(t)
	if r, err := Verify(t.Context(), s, nil); err != nil || len(r.Problems) > 0 {
		t.Fatal(r, err)
	}
	content, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	// The scanned file still exists, but under another name.
	if err := errors.Join(os.Truncate(files[0], 10), os.Rename(files[1], files[1]+".old"), os.WriteFile(files[1], append(content, 0), 0o666)); err != nil {
		t.Fatal(err)
	}
	r, err := Verify(t.Context(), s, &Options{Workers: -1})
	if err != nil || len(r.Problems) != 2 {
		t.Fatalf("%v %v; want two problems", r.Problems, err)
	}
	for _, p := range r.Problems {
		if !errors.Is(p.Err, source.ErrChanged) {
			t.Errorf("%v; want ErrChanged", p)
		}
	}
}

// sourceOf returns the folder of the array in the source of zarrOf.
func sourceOf(t *testing.T, s *store.Store) string {
	t.Helper()
	src, err := s.Source(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(src.URL, "zarr.json")
}

// TestVerifyManyDeclared checks that Verify ends early if an array declares far more chunks than the manifest has.
func TestVerifyManyDeclared(t *testing.T) {
	s := zarrOf(t, `{"shape":[4294967296],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4294967296]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}],
		"dimension_names":["x"],"zarr_format":3,"node_type":"array"}`, "a/c/0", "too short")
	snap := *s.Snapshot()
	snap.Arrays = slices.Clone(snap.Arrays)
	schema := *snap.Arrays[0].Schema
	schema.ChunkGrid = zarrjson.RegularGrid(1)
	snap.Arrays[0].Schema = &schema
	repository, err := repo.Open(t.Context(), filepath.Join(filepath.Dir(filepath.Dir(sourceOf(t, s))), "a.varve"))
	if err != nil {
		t.Fatal(err)
	}
	defer repository.Close()
	many, err := store.New(repository, &snap, &store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	r, err := Verify(t.Context(), many, &Options{Deep: true})
	if err != nil || len(r.Problems) == 0 || !errors.Is(r.Err(), store.ErrManyChunks) || !errors.Is(r.Err(), codec.ErrCorrupt) {
		t.Errorf("%v: %v", err, r.Err())
	}
	if err := many.CheckListed(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the chunks can be listed: %v", err)
	}
	if err := s.CheckListed(); err != nil {
		t.Errorf("one chunk: %v", err)
	}
}
