package icechunk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/fixtures/venv"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/home"
	"varve/readers/icechunk/file"
)

// peer runs a test's Python script with Icechunk, or skips the test.
func peer(t *testing.T, args ...string) {
	t.Helper()
	interpreter := venv.Python(t, "icechunk, zarr and xarray")
	if !hasModules(interpreter) {
		t.Skipf("%s has not all of icechunk, zarr and xarray", interpreter)
	}
	venv.Run(t, "icechunk, zarr and xarray", append([]string{"testdata/peer.py"}, args...)...)
}

var (
	probe sync.Once
	found bool
)

// hasModules reports whether an interpreter has the modules of peer.py. Importing them takes seconds, so it tries once.
func hasModules(interpreter string) bool {
	probe.Do(func() { found = exec.Command(interpreter, "-c", "import icechunk, xarray, zarr").Run() == nil })
	return found
}

// expected is the content that Icechunk has to find.
type expected struct {
	Arrays   map[string]expectedArray `json:"arrays"`
	Messages []string                 `json:"messages"` // newest first
	Updated  map[string][][]int64     `json:"updated"`  // chunks of the newest commit
	Tags     []string                 `json:"tags"`
}

type expectedArray struct {
	Values string    `json:"values"`
	Shape  []int64   `json:"shape"`
	Chunks [][]int64 `json:"chunks"`
}

// expect returns the elements of an archive's arrays.
func (a *archive) expect(t *testing.T) expected {
	t.Helper()
	e := expected{Arrays: map[string]expectedArray{}, Updated: map[string][][]int64{}, Tags: []string{}}
	for _, f := range a.arrays {
		shape := f.grid.Shape()
		values := f.raw(0, shape[0], shape[1])
		for w := f.grid.Walk(); w.Next(); {
			if kind, ok := f.kinds[w.Coords[0]]; ok && kind == manifest.Missing {
				copy(values[4*shape[1]*w.Region.Origin[0]:], bytes.Repeat([]byte{255}, int(4*shape[1]*w.Region.Shape[0])))
			}
		}
		name := filepath.Join(t.TempDir(), "values")
		if err := os.WriteFile(name, values, 0o644); err != nil {
			t.Fatal(err)
		}
		e.Arrays[f.spec.Path] = expectedArray{name, shape, [][]int64{slices.Collect(grid.DataSizes(f.grid.Dim(0))), {shape[1]}}}
	}
	return e
}

func (e expected) read(t *testing.T, repo string) {
	t.Helper()
	doc, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "expected.json")
	if err := os.WriteFile(name, doc, 0o644); err != nil {
		t.Fatal(err)
	}
	peer(t, "read", repo, name)
}

const rootMessage = "Repository initialized"

// rows returns the chunks of some rows of a grid that is one chunk wide.
func rows(from, to int64) (out [][]int64) {
	for i := from; i < to; i++ {
		out = append(out, []int64{i, 0})
	}
	return out
}

// TestInteropRead checks that Icechunk reads every kind of ref, in one manifest and in several.
func TestInteropRead(t *testing.T) {
	for name, most := range map[string]int64{"one manifest": 0, "many manifests": 2} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t)
			v := a.add(t, "/g/h/virtual", 3, 2, 3, 2, 4, 1)
			v.kinds[1] = manifest.Missing
			r := a.add(t, "/re-encoded", 200, 2, 3, 2)
			r.kinds[0], r.kinds[2] = manifest.Reencoded, manifest.Reencoded
			small := a.add(t, "/small", 2, 1, 2)
			small.kinds[1] = manifest.Reencoded
			a.add(t, "/kept", 2, 2, 3).kept = true
			dest := filepath.Join(t.TempDir(), "repo")
			result := a.export(t, dest, Options{ManifestRefs: most, Message: "one"})
			if want := (Counts{Virtual: 6, Native: 2, Inline: 3}); result.Counts != want {
				t.Errorf("got %+v, want %+v", result.Counts, want)
			}
			e := a.expect(t)
			e.Messages = []string{"one", rootMessage}
			e.Updated = map[string][][]int64{"/g/h/virtual": slices.Delete(rows(0, 5), 1, 2), "/re-encoded": rows(0, 3), "/small": rows(0, 2), "/kept": rows(0, 2)}
			e.read(t, dest)
		})
	}
}

// TestInteropContainers checks that references into a named container are read where the container is now, also after the
// sources were moved and after an append.
func TestInteropContainers(t *testing.T) {
	a := newArchive(t)
	v := a.add(t, "/virtual", 3, 2, 3)
	dest, now := filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "moved")
	opts := Options{Message: "one", Containers: []Container{{"all", filepath.Dir(a.dir)}, {"archive", a.dir}}}
	result := a.export(t, dest, opts)
	if len(result.Containers) != 1 || !strings.HasSuffix(result.Containers[0], filepath.ToSlash(a.dir)+"/") {
		t.Errorf("containers %q", result.Containers)
	}
	e := a.expect(t)
	e.Messages, e.Updated = []string{"one", rootMessage}, map[string][][]int64{"/virtual": rows(0, 2)}
	e.read(t, dest)
	if err := os.Rename(a.dir, now); err != nil {
		t.Fatal(err)
	}
	t.Run("moved", func(t *testing.T) {
		t.Setenv("VARVE_MOVED", "archive="+now)
		e.read(t, dest)
	})
	if err := os.Rename(now, a.dir); err != nil {
		t.Fatal(err)
	}
	a.id = "second"
	v.grow(t, 3, 2, 3, 4)
	opts.Message = "two"
	a.export(t, dest, opts)
	e = a.expect(t)
	e.Messages, e.Updated = []string{"two", "one", rootMessage}, map[string][][]int64{"/virtual": rows(2, 3)}
	if err := os.Rename(a.dir, now); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VARVE_MOVED", "archive="+now)
	e.read(t, dest)
}

// TestInteropAppend appends, lets Icechunk commit and tag on top, and appends again.
func TestInteropAppend(t *testing.T) {
	a := newArchive(t)
	v := a.add(t, "/g/v", 3, 2, 3)
	a.add(t, "/still", 2, 5)
	dest := filepath.Join(t.TempDir(), "repo")
	a.export(t, dest, Options{Message: "one", ManifestRefs: 3})
	peer(t, "commit", dest, "extra")
	a.id = "second"
	v.grow(t, 3, 2, 3, 1, 4)
	if r := a.export(t, dest, Options{Message: "two", ManifestRefs: 3}); !r.Appended || r.Virtual > 4 {
		t.Errorf("got %+v", r)
	}
	e := a.expect(t)
	e.Messages = []string{"two", "add extra", "one", rootMessage}
	e.Updated["/g/v"] = rows(2, 4)
	e.Tags = []string{"before extra"}
	e.Arrays["/extra"] = expectedArray{filepath.Join(t.TempDir(), "extra"), []int64{4}, [][]int64{{2, 2}}}
	if err := os.WriteFile(e.Arrays["/extra"].Values, []byte{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0}, 0o644); err != nil {
		t.Fatal(err)
	}
	e.read(t, dest)
	if r := a.export(t, dest, Options{}); !r.Unchanged {
		t.Errorf("nothing changed, but the result is %+v", r)
	}
	peer(t, "commit", dest, "other")
	a.id = "third"
	v.grow(t, 3, 2, 3, 1, 4, 2)
	a.export(t, dest, Options{Message: "three", ManifestRefs: 3})
	more := a.expect(t)
	more.Arrays["/extra"] = e.Arrays["/extra"]
	more.Messages = append([]string{"three", "add other"}, e.Messages...)
	more.Updated["/g/v"] = rows(4, 5)
	more.Tags = []string{"before extra", "before other"}
	more.read(t, dest)
}

// TestInteropManifestChunks cuts manifests after each third chunk, also while the array grows. A window that is complete has one.
func TestInteropManifestChunks(t *testing.T) {
	a := newArchive(t)
	v := a.add(t, "/g/v", 3, 2, 3, 1, 2, 2)
	a.add(t, "/other", 2, 1, 1)
	dest := filepath.Join(t.TempDir(), "repo")
	edges := []int64{2, 3, 1, 2, 2}
	var messages []string
	for i, want := range [][][2]uint32{
		{{0, 3}, {3, 5}}, {{0, 3}, {3, 6}}, {{0, 3}, {3, 6}, {6, 7}}, {{0, 3}, {3, 6}, {6, 8}}, {{0, 3}, {3, 6}, {6, 9}},
	} {
		a.id = fmt.Sprint("export ", i)
		if i > 0 {
			edges = append(edges, int64(i))
			v.grow(t, 3, edges...)
		}
		a.export(t, dest, Options{Message: a.id, ManifestChunks: map[string]int64{"t": 3}})
		if got := manifestRows(t, dest, "/g/v"); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: manifests have the rows %v, want %v", a.id, got, want)
		}
		messages = slices.Insert(messages, 0, a.id)
	}
	if _, err := a.try(dest, Options{ManifestChunks: map[string]int64{"year": 3}}); err == nil || !strings.Contains(err.Error(), "year") {
		t.Errorf("a dimension that no array has: %v", err)
	}
	e := a.expect(t)
	e.Messages = append(messages, rootMessage)
	e.Updated["/g/v"] = rows(8, 9)
	e.read(t, dest)
}

// manifestRows returns the first row, and the one after the last, of each manifest of an array in the only branch.
func manifestRows(t *testing.T, dest, array string) (out [][2]uint32) {
	t.Helper()
	c := &commit{writer: writer{home: home.At(dest)}, repo: &repoInfo{}}
	data, err := os.ReadFile(filepath.Join(dest, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := unpack(file.Repo, data)
	if err == nil {
		err = c.repo.read(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	tip, err := c.repo.branch(defaultBranch)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.load(t.Context(), tip)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.nodes {
		if n.path == array {
			for _, m := range n.array.manifests {
				out = append(out, [2]uint32{m.extents[0].from, m.extents[0].to})
			}
		}
	}
	slices.SortFunc(out, func(a, b [2]uint32) int { return int(a[0]) - int(b[0]) })
	return out
}

// TestInteropChange lets Icechunk write to an array: Icechunk must still read all its manifests, and varve
// must not overwrite the change.
func TestInteropChange(t *testing.T) {
	a := newArchive(t)
	v := a.add(t, "/g/v", 1, 2, 3, 1, 2, 2)
	w := a.add(t, "/w", 1, 2, 3)
	dest := filepath.Join(t.TempDir(), "repo")
	a.export(t, dest, Options{Message: "one", ManifestRefs: 2})
	peer(t, "change", dest, "/g/v")
	e := a.expect(t)
	values, err := os.ReadFile(e.Arrays["/g/v"].Values)
	if err != nil {
		t.Fatal(err)
	}
	copy(values, []byte{0xf9, 0xff, 0xff, 0xff})
	if err := os.WriteFile(e.Arrays["/g/v"].Values, values, 0o644); err != nil {
		t.Fatal(err)
	}
	e.Messages, e.Updated["/g/v"] = []string{"change /g/v", "one", rootMessage}, rows(0, 1)
	e.read(t, dest)

	a.id = "second"
	w.grow(t, 1, 2, 3, 2)
	a.export(t, dest, Options{Message: "two"}) // the other array grows
	before := tree(t, dest)
	a.id = "third"
	v.grow(t, 1, 2, 3, 1, 2, 2, 1)
	var conflict *ConflictError
	if _, err := a.try(dest, Options{}); !errors.As(err, &conflict) || conflict.Path != "/g/v" {
		t.Errorf("growing an array that another writer changed: got %v", err)
	} else if !strings.Contains(err.Error(), "two") {
		t.Errorf("%v does not say which commit", err)
	}
	if after := tree(t, dest); !slices.Equal(fileNames(before), fileNames(after)) {
		t.Errorf("a refused export leaves files: %v, before %v", fileNames(after), fileNames(before))
	}
}

// TestInteropStale checks that Icechunk does not read a source that has changed.
func TestInteropStale(t *testing.T) {
	a := newArchive(t)
	a.add(t, "/v", 1, 2, 3)
	dest := filepath.Join(t.TempDir(), "repo")
	a.export(t, dest, Options{})
	later := time.Now().Add(2 * time.Second)
	if err := os.Chtimes(a.sources[0].URL, later, later); err != nil {
		t.Fatal(err)
	}
	peer(t, "refused", dest, "/v")
}
