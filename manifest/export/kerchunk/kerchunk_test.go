package kerchunk

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/home"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
	"varve/zarrjson"
)

// check compares every element of a set of references with the archive, through varve's reader.
func (a *archive) check(dest string) {
	a.t.Helper()
	src, err := source.Open(a.t.Context(), dest)
	if err != nil {
		a.t.Fatal(err)
	}
	defer src.Close()
	set, err := formats.Open(a.t.Context(), src, &readers.Config{Allow: []string{a.dir}})
	if err != nil {
		a.t.Fatal(err)
	}
	found := map[string]*readers.Variable{}
	set.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			found[v.Path] = v
		}
		return true
	})
	if len(found) != len(a.arrays) || len(set.Problems) > 0 {
		a.t.Errorf("%d arrays, not %d; problems: %v", len(found), len(a.arrays), set.Problems)
	}
	for _, x := range a.arrays {
		f := x.(*faked)
		v := found[f.path]
		if v == nil {
			a.t.Errorf("%s is not there", f.path)
			continue
		}
		value, err := v.ReadAll(a.t.Context(), 1<<20)
		if err != nil {
			a.t.Errorf("%s: %v", f.path, err)
		} else if !bytes.Equal(value.Data, f.elements.Fixed) || !slices.EqualFunc(value.Texts, f.elements.Var, bytes.Equal) {
			a.t.Errorf("%s has other elements", f.path)
		}
	}
}

// leftovers checks that a folder contains only the wanted files.
func leftovers(t *testing.T, dir string, wanted ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if slices.Sort(wanted); !slices.Equal(names, wanted) {
		t.Errorf("there are %q, not %q", names, wanted)
	}
}

func TestWrite(t *testing.T) {
	for name, c := range map[string]struct {
		archive func(testing.TB) *archive
		dest    string
		opts    *Options
		left    []string
		regular int
	}{
		"json":                {regularArchive, "r.json", nil, []string{"r.json"}, 0},
		"patches of json":     {regularArchive, "r.json", &Options{InlineBytes: 1}, []string{"r.json", "r.json.patches"}, 0},
		"parquet":             {regularArchive, "r.parquet", nil, []string{"r.parquet"}, 0},
		"records":             {regularArchive, "r.parq", &Options{RecordSize: 3, InlineBytes: 1}, []string{"r.parq"}, 0},
		"rectilinear json":    {rectilinearArchive, "r.json", nil, []string{"r.json"}, 0},
		"rectilinear parquet": {rectilinearArchive, "r", &Options{RecordSize: 1, Workers: 3}, []string{"r"}, 0},
		"regular json":        {rectilinearArchive, "r.json", &Options{Regular: true}, []string{"r.json"}, 2},
		"regular parquet":     {rectilinearArchive, "r", &Options{Regular: true, InlineBytes: 1}, []string{"r"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			a, dir := c.archive(t), t.TempDir()
			dest := filepath.Join(dir, c.dest)
			result, err := write(t.Context(), a.hierarchy, dest, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			leftovers(t, dir, c.left...)
			if len(result.Regular) != c.regular || result.Arrays != len(a.arrays) {
				t.Errorf("%+v", result)
			}
			if patches := c.opts != nil && c.opts.InlineBytes == 1; patches != (result.Patched > 0) || patches != (result.PatchBytes > 0) {
				t.Errorf("%+v", result)
			}
			a.check(dest)
		})
	}
}

// TestRegularKeepsChunks checks that chunks with the edges of the regular grid are not re-encoded.
func TestRegularKeepsChunks(t *testing.T) {
	a := newArchive(t, "a.nc")
	a.add(spec{path: "/v", shape: []int64{95}, edges: []grid.Sizes{grid.RunLength(grid.Times(10, 9), grid.Times(5, 1))}, dtype: "int32", codecs: "[" + little + "]"})
	result, err := write(t.Context(), a.hierarchy, filepath.Join(t.TempDir(), "r.json"), &Options{Regular: true})
	if err != nil {
		t.Fatal(err)
	}
	if result.Refs != 9 || result.Inline != 1 {
		t.Errorf("%d ranges and %d re-encoded chunks, not 9 and 1", result.Refs, result.Inline)
	}
}

// TestWhyFormat3 checks the reason for format 3.
func TestWhyFormat3(t *testing.T) {
	several := []grid.Sizes{grid.List(10, 5)}
	for _, c := range []struct {
		name, why string
		spec      spec
	}{
		{"one length", "", spec{path: "/v", shape: []int64{15}, chunks: []int64{10}, dtype: "int32", codecs: "[" + little + "]"}},
		{"several lengths", "/v has chunks of different lengths", spec{path: "/v", shape: []int64{15}, edges: several, dtype: "int32", codecs: "[" + little + "]"}},
		{"a codec", "Zarr 2 cannot describe it: consolidated_metadata.metadata[v].codecs", spec{path: "/v", shape: []int64{15}, chunks: []int64{10}, dtype: "int32",
			codecs: `[{"name":"sharding_indexed","configuration":{"chunk_shape":[5],"codecs":[` + little + `],"index_codecs":[` + little + `,{"name":"crc32c"}]}}]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArchive(t, "a.nc")
			a.add(c.spec)
			result, err := write(t.Context(), a.hierarchy, filepath.Join(t.TempDir(), "r.json"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(result.Because, c.why) || (c.why == "") != (result.Because == "") || (c.why == "") != (result.Format == 2) {
				t.Errorf("format %d: %q, not %q", result.Format, result.Because, c.why)
			}
		})
	}
}

func TestNoPatch(t *testing.T) {
	for _, name := range []string{"r.json", "r.parquet"} {
		a, dir := regularArchive(t), t.TempDir()
		_, err := write(t.Context(), a.hierarchy, filepath.Join(dir, name), &Options{NoPatch: true, InlineBytes: 1})
		var refused *PatchError
		if !errors.As(err, &refused) || len(refused.Arrays) != 5 {
			t.Fatalf("%s: %v", name, err)
		}
		if first := refused.Arrays[0]; first.Path != "/sea ice %" || first.Chunks != 1 || !slices.Equal(first.First, []int64{1, 0}) {
			t.Errorf("%s: %+v", name, first)
		}
		leftovers(t, dir)
		a.hierarchy.arrays = slices.DeleteFunc(a.arrays, func(x array) bool {
			return slices.ContainsFunc(refused.Arrays, func(u Unpatched) bool { return u.Path == x.Path() })
		})
		if _, err := write(t.Context(), a.hierarchy, filepath.Join(dir, name), &Options{NoPatch: true}); err != nil {
			t.Errorf("%s: what needs no patches is refused: %v", name, err)
		}
	}
}

// TestNothingHalf checks that a failed export leaves the old files and no others.
func TestNothingHalf(t *testing.T) {
	boom := errors.New("boom")
	for _, name := range []string{"r.json", "r.parquet"} {
		a, dir := regularArchive(t), t.TempDir()
		dest := filepath.Join(dir, name)
		if _, err := write(t.Context(), a.hierarchy, dest, nil); err != nil {
			t.Fatal(err)
		}
		broken := a.hierarchy
		broken.arrays = append(slices.Clone(a.arrays), failing{a.arrays[0].(*faked), boom})
		if _, err := write(t.Context(), broken, dest, &Options{Force: true, InlineBytes: 1}); !errors.Is(err, boom) {
			t.Errorf("%s: %v", name, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := write(ctx, a.hierarchy, dest, &Options{Force: true}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", name, err)
		}
		leftovers(t, dir, name)
		a.check(dest)
	}
}

// TestNothingPublished checks that if the last file cannot be renamed, the others keep their old contents.
func TestNothingPublished(t *testing.T) {
	for _, force := range []bool{false, true} {
		dir := t.TempDir()
		dest := filepath.Join(dir, "r.json")
		d, err := home.NewStage(dest)
		if err != nil {
			t.Fatal(err)
		}
		e := &export{dest: dest, opts: Options{Force: force}, patches: &sideFile{temp: d.Path(patchesName)}}
		if _, err := e.patches.append([]byte("new")); err != nil {
			t.Fatal(err)
		}
		if err := e.patches.close(); err != nil {
			t.Fatal(err)
		}
		var wanted []string
		if force {
			wanted = []string{"r.json", "r.json.patches"}
		}
		for _, name := range wanted {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("old "+name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.replaceJSON(t.Context(), d); !errors.Is(err, fs.ErrNotExist) { // of the references
			t.Errorf("force %v: %v", force, err)
		}
		if err := d.Discard(nil); err != nil {
			t.Error(err)
		}
		leftovers(t, dir, wanted...)
		for _, name := range wanted {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "old "+name {
				t.Errorf("%s holds %q, %v", name, got, err)
			}
		}
	}
}

// TestOneAtATime checks two concurrent exports to an empty destination: the later one fails or, with Force,
// replaces both files.
func TestOneAtATime(t *testing.T) {
	for _, force := range []bool{false, true} {
		a, dir := regularArchive(t), t.TempDir()
		dest := filepath.Join(dir, "r.json")
		var exports []*export
		var drafts []*home.Stage
		for _, content := range []string{"first", "second"} {
			e, err := newExport(t.Context(), a.hierarchy, dest, &Options{Force: force})
			if err != nil {
				t.Fatal(err)
			}
			d, err := home.NewStage(dest)
			if err != nil {
				t.Fatal(err)
			}
			e.patches = &sideFile{temp: d.Path(patchesName)}
			if _, err := e.patches.append([]byte(content)); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(e.patches.close(), os.WriteFile(d.Path(documentName), []byte(content), 0o644)); err != nil {
				t.Fatal(err)
			}
			exports, drafts = append(exports, e), append(drafts, d)
		}
		wanted := "first"
		if err := exports[0].replaceJSON(t.Context(), drafts[0]); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		done, err := home.Turn(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := exports[1].replaceJSON(ctx, drafts[1]); !errors.Is(err, context.DeadlineExceeded) && runtime.GOOS == "linux" {
			t.Errorf("while another export gives names: %v", err)
		}
		cancel()
		if err := done(); err != nil {
			t.Fatal(err)
		}
		err = exports[1].replaceJSON(t.Context(), drafts[1])
		switch {
		case force && err == nil:
			wanted = "second"
		case force || !errors.Is(err, fs.ErrExist):
			t.Errorf("force %v: %v", force, err)
		}
		for _, d := range drafts {
			if err := d.Discard(nil); err != nil {
				t.Error(err)
			}
		}
		leftovers(t, dir, "r.json", "r.json.patches")
		for _, name := range []string{dest, dest + patchesName} {
			if got, err := os.ReadFile(name); err != nil || string(got) != wanted {
				t.Errorf("force %v: %s holds %q, %v", force, name, got, err)
			}
		}
	}
}

// failing is an array whose chunks cannot be re-encoded.
type failing struct {
	*faked
	err error
}

func (f failing) Path() string                                   { return "/failing" }
func (f failing) Chunk(context.Context, []int64) ([]byte, error) { return nil, f.err }

func TestForce(t *testing.T) {
	for _, name := range []string{"r.json", "r.parquet"} {
		a, dir := regularArchive(t), t.TempDir()
		dest := filepath.Join(dir, name)
		if _, err := write(t.Context(), a.hierarchy, dest, &Options{InlineBytes: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := write(t.Context(), a.hierarchy, dest, nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := write(t.Context(), a.hierarchy, dest, &Options{Force: true}); err != nil {
			t.Fatal(err)
		}
		leftovers(t, dir, name)
		a.check(dest)
	}
}

func TestRefusedNames(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.MkdirAll(filepath.Join(precious, "data"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ dest, array, says string }{
		"braces":               {filepath.Join(dir, "{x}"), "/v", "braces"},
		"json in a folder":     {filepath.Join(dir, "a.json.d", "r.parquet"), "/v", ".json"},
		"a folder of data":     {precious, "/v", precious},
		"no folder":            {filepath.Join(dir, "none", "r.parquet"), "/v", "none"},
		"meta":                 {filepath.Join(dir, "r.parquet"), "/g/.zeta", ".zeta"},
		"patches":              {filepath.Join(dir, "r.parquet"), "/.patches", ".patches"},
		"out of the folder":    {filepath.Join(dir, "r.parquet"), "/../../v", "/../../v"},
		"a group and an array": {filepath.Join(dir, "r.json"), "/g", "/g"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newArchive(t, "a.nc")
			a.groups = []manifest.GroupSchema{{Path: "/g"}}
			a.add(spec{path: c.array, shape: []int64{4}, chunks: []int64{4}, dtype: "int32", codecs: "[" + little + "]"})
			_, err := write(t.Context(), a.hierarchy, c.dest, &Options{Force: true})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want an error that names %q", err, c.says)
			}
			leftovers(t, dir, "precious")
		})
	}
}

// TestHugeFill checks that a huge chunk of fill values is rejected before it is allocated.
func TestHugeFill(t *testing.T) {
	a := newArchive(t, "a.nc")
	a.add(spec{path: "/v", shape: []int64{4}, chunks: []int64{4}, dtype: "int32", fill: "7", codecs: "[" + little + "]", kinds: []manifest.ChunkKind{manifest.Missing}})
	f := a.arrays[0].(*faked)
	f.schema.ChunkGrid = zarrjson.RegularGrid(1 << 58)
	var err error
	if f.grid, err = f.schema.Grid(); err != nil {
		t.Fatal(err)
	}
	_, err = write(t.Context(), a.hierarchy, filepath.Join(t.TempDir(), "r.json"), nil)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "/v: chunk [0]: ") {
		t.Error(err)
	}
}

// TestBase64Bytes checks that bytes that begin like base64 are read unchanged.
func TestBase64Bytes(t *testing.T) {
	for _, name := range []string{"r.json", "r.parquet"} {
		a := newArchive(t, "a.nc")
		f := a.add(spec{path: "/v", shape: []int64{16}, chunks: []int64{16}, dtype: "int8", codecs: `[{"name":"bytes"}]`})
		copy(f.elements.Fixed, "base64:AAAA=====")
		f.locations["[0]"] = manifest.Location{Coords: []int64{0}, Kind: manifest.Verbatim, Source: -1, Inline: f.encoded(t, []int64{0})}
		dest := filepath.Join(t.TempDir(), name)
		if _, err := write(t.Context(), a.hierarchy, dest, nil); err != nil {
			t.Fatal(err)
		}
		a.check(dest)
	}
}

// TestRemote checks that patches of remote sources are not in a local file, unless PatchURL is set.
func TestRemote(t *testing.T) {
	a := regularArchive(t)
	a.source = func(context.Context, int64) (manifest.Source, error) {
		return manifest.Source{URL: "s3://bucket/a b.nc"}, nil
	}
	dest := filepath.Join(t.TempDir(), "r.json")
	result, err := write(t.Context(), a.hierarchy, dest, &Options{InlineBytes: 1})
	if err != nil || result.Patched > 0 {
		t.Errorf("%+v, %v", result, err)
	}
	result, err = write(t.Context(), a.hierarchy, dest, &Options{InlineBytes: 1, Force: true, PatchURL: "s3://bucket/r.patches"})
	if err != nil || result.Patched == 0 {
		t.Errorf("%+v, %v", result, err)
	}
	raw, err := os.ReadFile(dest)
	if err != nil || !bytes.Contains(raw, []byte(`["s3://bucket/a b.nc",`)) || !bytes.Contains(raw, []byte(`["s3://bucket/r.patches",`)) {
		t.Errorf("the references name other sources: %v", err)
	}
}

func TestNamesOutsideUTF8(t *testing.T) {
	a := regularArchive(t)
	a.source = func(context.Context, int64) (manifest.Source, error) {
		return manifest.Source{URL: "/data/\xff.nc"}, nil
	}
	if _, err := write(t.Context(), a.hierarchy, filepath.Join(t.TempDir(), "r.json"), nil); err == nil || !strings.Contains(err.Error(), `\xff.nc`) {
		t.Error(err)
	}
}
