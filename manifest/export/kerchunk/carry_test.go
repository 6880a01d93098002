package kerchunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/change"
	"varve/manifest/internal/home"
)

// head is an earlier, shorter version of the array.
func head(t *testing.T, f *faked, length int64) *faked {
	t.Helper()
	schema := *f.schema
	schema.Shape = slices.Clone(schema.Shape)
	schema.Shape[0] = length
	g, err := schema.Grid()
	if err != nil {
		t.Fatal(err)
	}
	n := len(f.elements.Fixed) / int(f.schema.Shape[0]) * int(length)
	return &faked{path: f.path, schema: &schema, grid: g, elements: codec.Elems{Fixed: f.elements.Fixed[:n]}, locations: f.locations}
}

// growing is an archive whose arrays were shorter in the snapshot "old".
func growing(t *testing.T) (now *archive, old hierarchy) {
	a := newArchive(t, nasty...)
	all := []manifest.ChunkKind{manifest.Verbatim, manifest.Reencoded, manifest.Missing, inline, manifest.Verbatim}
	a.add(spec{path: "/long", shape: []int64{60, 6}, chunks: []int64{2, 2}, dtype: "float32", fill: `"NaN"`, codecs: "[" + little + deflat + "]", kinds: all})
	a.add(spec{path: "/g/days", shape: []int64{60}, edges: []grid.Sizes{grid.RunLength(grid.Times(5, 4), grid.Times(3, 6), grid.Times(22, 1))}, dtype: "int32", codecs: "[" + little + "]", kinds: all})
	a.add(spec{path: "/still", shape: []int64{7}, chunks: []int64{1}, dtype: "int32", codecs: "[" + little + "]", kinds: all})
	a.add(spec{path: "/other", shape: []int64{7}, chunks: []int64{1}, dtype: "int32", codecs: "[" + little + "]", kinds: all})
	old = a.hierarchy
	old.snapshot = "old"
	old.arrays = []array{head(t, a.arrays[0].(*faked), 40), head(t, a.arrays[1].(*faked), 38), a.arrays[2], a.arrays[3]}
	a.snapshot = "now"
	a.past = func(_ context.Context, snapshot string, x array) (change.Change, error) {
		if snapshot != "old" {
			return change.Change{}, fmt.Errorf("snapshot %s: %w", snapshot, fs.ErrNotExist)
		}
		return map[string]change.Change{"/long": {Kind: change.Tail, From: 20}, "/g/days": {Kind: change.Tail, From: 10},
			"/still": {Kind: change.None}, "/other": {Kind: change.Everything}}[x.Path()], nil
	}
	return a, old
}

func TestAppendKeeps(t *testing.T) {
	a, old := growing(t)
	dir := t.TempDir()
	dest := filepath.Join(dir, "r.parquet")
	opts := &Options{RecordSize: 7, InlineBytes: 1}
	if _, err := write(t.Context(), old, dest, opts); err != nil {
		t.Fatal(err)
	}
	before := infoOf(t, dest, "long/refs.7.parq")
	result, err := write(t.Context(), a.hierarchy, dest, opts)
	if err != nil {
		t.Fatal(err)
	}
	// Of one array's 60 chunks 8 records are full, of the other's 10 one; all 7 of the third are unchanged.
	if result.Kept != 56+7+7 {
		t.Errorf("%d chunks kept, not 70", result.Kept)
	}
	if !os.SameFile(before, infoOf(t, dest, "long/refs.7.parq")) {
		t.Error("a record that did not change was written again")
	}
	if os.SameFile(before, infoOf(t, dest, "other/refs.0.parq")) {
		t.Error("a record is from another array")
	}
	leftovers(t, dir, "r.parquet")
	a.check(dest)
}

// TestAppendFails checks that a failed append leaves the old set unchanged, including the file of patches
// that both share.
func TestAppendFails(t *testing.T) {
	a, old := growing(t)
	dest := filepath.Join(t.TempDir(), "r.parquet")
	opts := &Options{RecordSize: 7, InlineBytes: 1}
	if _, err := write(t.Context(), old, dest, opts); err != nil {
		t.Fatal(err)
	}
	size := infoOf(t, dest, patchesName).Size()
	boom := errors.New("boom")
	broken := a.hierarchy
	broken.arrays = append(slices.Clone(a.arrays), failing{a.arrays[0].(*faked), boom})
	if _, err := write(t.Context(), broken, dest, opts); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if now := infoOf(t, dest, patchesName).Size(); now != size {
		t.Errorf("the patches take %d bytes, %d before", now, size)
	}

	lock, err := home.LockFolder(dest)
	if err != nil || lock == nil {
		t.Skipf("no locks here: %v", err)
	}
	if _, err := write(t.Context(), a.hierarchy, dest, opts); !errors.Is(err, home.ErrTaken) {
		t.Errorf("while another export is appending: %v", err)
	}
	if now := infoOf(t, dest, patchesName).Size(); now != size {
		t.Errorf("the patches take %d bytes, %d before", now, size)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := write(t.Context(), a.hierarchy, dest, opts); err != nil {
		t.Fatal(err)
	}
	if now := infoOf(t, dest, patchesName).Size(); now <= size {
		t.Errorf("the patches take %d bytes, %d before", now, size)
	}
	a.check(dest)
}

func infoOf(t *testing.T, dest, name string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(filepath.Join(dest, name))
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestProgress checks that the last report says that all chunks are done, also when appending.
func TestProgress(t *testing.T) {
	a, old := growing(t)
	var most, total int64
	opts := &Options{RecordSize: 7, InlineBytes: 1, Progress: func(done, of int64) { most, total = max(most, done), of }}
	for _, name := range []string{"r.json", "r.parquet"} {
		dest := filepath.Join(t.TempDir(), name)
		for _, h := range []hierarchy{old, a.hierarchy} {
			most, total, opts.Force = 0, 0, h.past != nil
			want := int64(0)
			for _, array := range h.arrays {
				want += array.Grid().Chunks()
			}
			if _, err := write(t.Context(), h, dest, opts); err != nil {
				t.Fatal(err)
			}
			if most != want || total != want {
				t.Errorf("%s: %d of %d chunks are done, not all of %d", name, most, total, want)
			}
		}
	}
}

// TestAppendWritesAnew checks that a set with other options or of unknown origin is written completely.
func TestAppendWritesAnew(t *testing.T) {
	for name, c := range map[string]struct {
		snapshot string
		opts     Options
	}{
		"unknown snapshot": {"gone", Options{RecordSize: 7}},
		"other records":    {"old", Options{RecordSize: 6}},
		"other patches":    {"old", Options{RecordSize: 7, PatchURL: "file:///elsewhere"}},
		"another grid":     {"old", Options{RecordSize: 7, Regular: true}},
		"relative names":   {"old", Options{RecordSize: 7, Relative: "the folder of the sources"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, old := growing(t)
			old.snapshot = c.snapshot
			if c.opts.Relative != "" {
				c.opts.Relative = filepath.Dir(a.files[0])
			}
			dest := filepath.Join(t.TempDir(), "r.parquet")
			if _, err := write(t.Context(), old, dest, &Options{RecordSize: 7}); err != nil {
				t.Fatal(err)
			}
			result, err := write(t.Context(), a.hierarchy, dest, &c.opts)
			if err != nil {
				t.Fatal(err)
			}
			if result.Kept != 0 {
				t.Errorf("%d chunks kept", result.Kept)
			}
			if c.opts.Relative == "" { // check opens absolute names
				a.check(dest)
			}
		})
	}
}

// TestAppendThatFails checks that a failed append leaves the set unchanged.
func TestAppendThatFails(t *testing.T) {
	a, old := growing(t)
	dir := t.TempDir()
	dest := filepath.Join(dir, "r.parquet")
	opts := &Options{RecordSize: 7, InlineBytes: 1}
	if _, err := write(t.Context(), old, dest, opts); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	broken := a.hierarchy
	broken.arrays = append(slices.Clone(a.arrays[:3]), failing{a.arrays[3].(*faked), boom})
	if _, err := write(t.Context(), broken, dest, opts); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	leftovers(t, dir, "r.parquet")
	a.hierarchy = old
	a.check(dest)
}

func TestSlabs(t *testing.T) {
	for _, shape := range [][]int64{{}, {1}, {5}, {1, 1}, {1, 100_000}, {3, 50_000}, {70_000, 2}, {1, 7, 9, 2000}, {2, 0, 3}} {
		ones := make([]int64, len(shape))
		for i := range ones {
			ones[i] = 1
		}
		g, err := grid.Regular(shape, ones)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range []int64{0, 1, g.Chunks() / 3, g.Chunks() - 1} {
			if from < 0 || from >= g.Chunks() {
				continue
			}
			next := from
			slabs, before := slabsOf(g, from)
			for _, s := range slabs {
				n, _ := g.Number(s.Origin)
				size, _ := s.Elements()
				if n+before != next {
					t.Fatalf("%v from %d: a slab begins at %d, not %d", shape, from, n+before, next)
				}
				next, before = n+size, 0
			}
			if next != g.Chunks() {
				t.Errorf("%v from %d: slabs end at %d of %d", shape, from, next, g.Chunks())
			}
		}
	}
}

// TestInteropAppend checks that clients read an appended set like a new one.
func TestInteropAppend(t *testing.T) {
	a, old := growing(t)
	dest := filepath.Join(t.TempDir(), "r.parquet")
	opts := &Options{RecordSize: 7, InlineBytes: 1}
	for _, h := range []hierarchy{old, a.hierarchy} {
		if _, err := write(t.Context(), h, dest, opts); err != nil {
			t.Fatal(err)
		}
	}
	python(t, dest, a.expectations(), "fsspec")
}

// TestAppendKeepsFormat: an update that would change Zarr 2 to Zarr 3, because a month has another length, fails and
// changes nothing, unless the user chooses a regular grid or replaces the references.
func TestAppendKeepsFormat(t *testing.T) {
	for _, name := range []string{"r.parquet", "r.json"} {
		a := newArchive(t, nasty...)
		kinds := []manifest.ChunkKind{manifest.Verbatim}
		a.add(spec{path: "/days", shape: []int64{59}, edges: []grid.Sizes{grid.RunLength(grid.Times(1, 31), grid.Times(1, 28))}, dtype: "int32", codecs: "[" + little + "]", kinds: kinds})
		january := newArchive(t, nasty...)
		january.add(spec{path: "/days", shape: []int64{31}, chunks: []int64{31}, dtype: "int32", codecs: "[" + little + "]", kinds: kinds})
		a.snapshot, january.snapshot = "now", "old"
		a.past = func(context.Context, string, array) (change.Change, error) {
			return change.Change{Kind: change.Everything}, nil
		}

		dest := filepath.Join(t.TempDir(), name)
		if made, err := write(t.Context(), january.hierarchy, dest, nil); err != nil || made.Format != 2 {
			t.Fatal(made, err)
		}
		documents := dest
		if name == "r.parquet" {
			documents = filepath.Join(dest, metadataName)
		}
		before, err := os.ReadFile(documents)
		if err != nil {
			t.Fatal(err)
		}
		_, err = write(t.Context(), a.hierarchy, dest, &Options{})
		var advice *manifest.RemedyError
		if !errors.As(err, &advice) || !errors.Is(err, errors.ErrUnsupported) || fmt.Sprint(advice.Remedies) != "[{regular } {force }]" {
			t.Fatalf("%s: got %v", name, err)
		}
		if after, err := os.ReadFile(documents); err != nil || !slices.Equal(after, before) {
			t.Errorf("%s: the references changed: %v", name, err)
		}
		if made, err := write(t.Context(), a.hierarchy, dest, &Options{Regular: true}); err != nil || made.Format != 2 {
			t.Errorf("%s: with a regular grid: %+v, %v", name, made, err)
		}
		if made, err := write(t.Context(), a.hierarchy, dest, &Options{Force: true}); err != nil || made.Format != 3 {
			t.Errorf("%s: replaced: %+v, %v", name, made, err)
		}
	}
}

// TestAppendKeepsGrids: an update that would make the regular grid of one array rectilinear fails, also if another array has a
// rectilinear grid already.
func TestAppendKeepsGrids(t *testing.T) {
	archiveOf := func(snapshot string, later spec) *archive {
		a := newArchive(t, nasty...)
		a.snapshot = snapshot
		a.past = func(context.Context, string, array) (change.Change, error) {
			return change.Change{Kind: change.Everything}, nil
		}
		for _, s := range []spec{{path: "/always", shape: []int64{59}, edges: []grid.Sizes{grid.RunLength(grid.Times(1, 31), grid.Times(1, 28))}}, later} {
			s.dtype, s.codecs, s.kinds = "int32", "["+little+"]", []manifest.ChunkKind{manifest.Verbatim}
			a.add(s)
		}
		return a
	}
	january := spec{path: "/g/later", shape: []int64{31}, chunks: []int64{31}}
	february := spec{path: "/g/later", shape: []int64{59}, edges: []grid.Sizes{grid.RunLength(grid.Times(1, 31), grid.Times(1, 28))}}
	for _, name := range []string{"r.parquet", "r.json"} {
		dest := filepath.Join(t.TempDir(), name)
		if made, err := write(t.Context(), archiveOf("old", january).hierarchy, dest, nil); err != nil || made.Format != 3 {
			t.Fatal(made, err)
		}
		var advice *manifest.RemedyError
		_, err := write(t.Context(), archiveOf("now", february).hierarchy, dest, &Options{})
		if !errors.As(err, &advice) || !strings.Contains(err.Error(), "/g/later") || fmt.Sprint(advice.Remedies) != "[{regular } {force }]" {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := write(t.Context(), archiveOf("now", january).hierarchy, dest, &Options{}); err != nil {
			t.Errorf("%s: equal grids: %v", name, err)
		}
	}
}
