package icechunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"varve/grid"
	"varve/manifest"
	"varve/zarrjson"
)

// archive is a manifest in memory with arrays of int32, whose elements are their own index. They are stored
// as raw bytes, one file per chunk along the first axis.
type archive struct {
	id      string
	dir     string
	sources []manifest.Source
	arrays  []*fakeArray
	groups  []manifest.GroupSchema
	past    map[string]*manifest.Snapshot
}

func newArchive(t testing.TB) *archive {
	t.Helper()
	return &archive{id: "first", dir: t.TempDir(), past: map[string]*manifest.Snapshot{}}
}

// fakeArray has chunks of different lengths along the first axis and one chunk along the others.
type fakeArray struct {
	spec  manifest.Array
	grid  *grid.Grid
	of    *archive
	rows  []int64                      // the sources of chunks
	kinds map[int64]manifest.ChunkKind // by chunk; Verbatim if absent
	kept  bool                         // the values are stored in the manifest
}

// add adds an array with the given edges along the first axis and width elements along the second.
func (a *archive) add(t testing.TB, path string, width int64, edges ...int64) *fakeArray {
	t.Helper()
	f := &fakeArray{of: a, kinds: map[int64]manifest.ChunkKind{}}
	f.spec = manifest.Array{Path: path, Variables: []string{path}, Dims: []string{"/t", "/x"}, Reading: manifest.AsStored, Placement: path}
	a.arrays = append(a.arrays, f)
	f.grow(t, width, edges...)
	return f
}

// grow sets new edges, which must begin with the old ones.
func (f *fakeArray) grow(t testing.TB, width int64, edges ...int64) {
	t.Helper()
	total := int64(0)
	for i, n := range edges {
		if i >= len(f.rows) {
			f.rows = append(f.rows, int64(len(f.of.sources)))
			f.of.file(t, fmt.Sprintf("%s %d%%#é.bin", filepath.Base(f.spec.Path), i), f.raw(total, n, width))
		}
		total += n
	}
	doc := fmt.Sprintf(`{"shape":[%d,%d],"data_type":"int32","chunk_grid":{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[%s,[%d]]}},
		"chunk_key_encoding":{"name":"default"},"fill_value":-1,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
		"attributes":{"units":"K"},"dimension_names":[%q,%q],"zarr_format":3,"node_type":"array"}`, total, width, list(edges), width, f.spec.Path+"_t", f.spec.Path+"_x")
	schema, err := zarrjson.ParseArray([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if f.grid, err = schema.Grid(); err != nil {
		t.Fatal(err)
	}
	f.spec.Schema = schema
}

func list(edges []int64) string {
	b := []byte{'['}
	for i, e := range edges {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Append(b, e)
	}
	return string(append(b, ']'))
}

// raw returns n rows, starting at a row.
func (f *fakeArray) raw(from, n, width int64) []byte {
	var b []byte
	for i := from * width; i < (from+n)*width; i++ {
		b = binary.LittleEndian.AppendUint32(b, uint32(i))
	}
	return b
}

func (a *archive) file(t testing.TB, name string, data []byte) {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, append([]byte("head"), data...), 0o644); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	a.sources = append(a.sources, manifest.Source{URL: path, Size: info.Size(), Modified: info.ModTime()})
}

func (f *fakeArray) Locations(_ context.Context, box grid.Region) iter.Seq2[*manifest.Location, error] {
	return func(yield func(*manifest.Location, error) bool) {
		w, err := f.grid.WalkChunks(box)
		if err != nil {
			yield(nil, err)
			return
		}
		for w.Next() {
			l := manifest.Location{Coords: w.Coords, Kind: manifest.Verbatim}
			if k, ok := f.kinds[w.Coords[0]]; ok {
				l.Kind = k
			}
			l.Source, l.Offset, l.Size = f.rows[w.Coords[0]], 4, 4*w.Region.Shape[0]*w.Region.Shape[1]
			if f.kept {
				l.Source, l.Inline = -1, f.raw(w.Region.Origin[0], w.Region.Shape[0], w.Region.Shape[1])
			}
			if !yield(&l, nil) {
				return
			}
		}
	}
}

func (f *fakeArray) Chunk(_ context.Context, coords []int64) ([]byte, error) {
	c, ok := f.grid.Chunk(coords)
	if !ok {
		return nil, errors.New("no such chunk")
	}
	return f.raw(c.Origin[0], c.Shape[0], c.Shape[1]), nil
}

// snapshot returns the archive as a snapshot, and stores it for later comparisons.
func (a *archive) snapshot() *manifest.Snapshot {
	s := &manifest.Snapshot{ID: a.id}
	for _, f := range a.arrays {
		s.Arrays = append(s.Arrays, f.spec)
		s.Placements = append(s.Placements, manifest.PlacementTable{ID: f.spec.Path, Dims: []string{"/t"},
			Segments: []manifest.Segment{{Table: f.spec.Path, Rows: f.grid.Counts()[0], Shift: []int64{0}}}})
	}
	a.past[a.id] = s
	return s
}

func (a *archive) input() *input {
	in := &input{snapshot: a.snapshot(), groups: a.groups}
	for _, f := range a.arrays {
		in.arrays = append(in.arrays, inputArray{&f.spec, f.grid, f})
	}
	in.source = func(_ context.Context, row int64) (manifest.Source, error) { return a.sources[row], nil }
	return in
}

func (a *archive) Load(_ context.Context, id string) (*manifest.Snapshot, error) {
	if s, ok := a.past[id]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("snapshot %s: %w", id, fs.ErrNotExist)
}

func (a *archive) Begins(_ context.Context, _, _ *manifest.Snapshot) (bool, error) { return true, nil }

// ScanTiles yields one tile per chunk, at the chunk's position.
func (a *archive) ScanTiles(_ context.Context, _ *manifest.Snapshot, s manifest.Segment) iter.Seq2[manifest.Tile, error] {
	return func(yield func(manifest.Tile, error) bool) {
		i := slices.IndexFunc(a.arrays, func(f *fakeArray) bool { return f.spec.Path == s.Table })
		for row := s.Row; row < s.Row+s.Rows; row++ {
			origin, _ := a.arrays[i].grid.Dim(0).Offset(row)
			if !yield(manifest.Tile{File: int(row), Origin: []int64{origin}}, nil) {
				return
			}
		}
	}
}

// export exports the archive, with ids from a seeded generator.
func (a *archive) export(t testing.TB, dest string, opts Options) *Result {
	t.Helper()
	r, err := a.try(dest, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (a *archive) try(dest string, opts Options) (*Result, error) {
	seed := [32]byte{}
	copy(seed[:], a.id)
	opts.random = rand.NewChaCha8(seed)
	return write(context.Background(), a.input(), dest, opts.defaults(), a)
}

// tree returns the contents of the files in a folder.
func tree(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		out[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func fileNames(m map[string][]byte) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

var fixed = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestDeterministic(t *testing.T) {
	a := newArchive(t)
	a.add(t, "/g/v", 3, 2, 3, 2)
	a.arrays[0].kinds[1] = manifest.Reencoded
	var first map[string][]byte
	for range 2 {
		dest := filepath.Join(t.TempDir(), "out")
		a.export(t, dest, Options{clock: func() time.Time { return fixed }, Workers: 1})
		if got := tree(t, dest); first == nil {
			first = got
		} else if !slices.Equal(fileNames(first), fileNames(got)) {
			t.Errorf("files %v, then %v", fileNames(first), fileNames(got))
		} else {
			for name := range got {
				if !bytes.Equal(got[name], first[name]) {
					t.Errorf("%s differs", name)
				}
			}
		}
	}
}

// TestProgress checks that the last report says that all chunks are done.
func TestProgress(t *testing.T) {
	a := newArchive(t)
	a.add(t, "/g/v", 3, 2, 3, 2)
	a.arrays[0].kinds[1], a.arrays[0].kinds[2] = manifest.Reencoded, manifest.Missing
	var mu sync.Mutex
	var most, total int64
	a.export(t, filepath.Join(t.TempDir(), "out"), Options{Progress: func(done, of int64) {
		mu.Lock()
		defer mu.Unlock()
		most, total = max(most, done), of
	}})
	if want := a.arrays[0].grid.Chunks(); most != want || total != want {
		t.Errorf("%d of %d chunks are done, not all of %d", most, total, want)
	}
}
