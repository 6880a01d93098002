package netcdffile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/machine"
	"varve/fixtures/soak"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// built builds a manifest of sources and opens it.
func built(t testing.TB, names ...string) (*store.Store, error) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: names}}); err != nil {
		return nil, err
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st, nil
}

// write writes the file of a store to a folder, with what varve reads from the store.
func write(t testing.TB, st *store.Store, opts *Options, source string) (dir string, omitted []Omission) {
	t.Helper()
	dir = t.TempDir()
	f, err := Open(t.Context(), st, opts)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	b := make([]byte, f.Size()+1)
	n, err := f.ReadAt(t.Context(), b, 0)
	if !errors.Is(err, io.EOF) || int64(n) != f.Size() {
		t.Fatalf("%s: %d of %d bytes: %v", source, n, f.Size(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "virtual.nc"), b[:n], 0o600); err != nil {
		t.Fatal(err)
	}
	// Reads of any size give the same bytes.
	for _, size := range []int{1, 100, 4096, 100000} {
		part := make([]byte, size)
		for off := int64(0); off < f.Size(); off += 1 + max(int64(size)*3/2, f.Size()/50) {
			n, err := f.ReadAt(t.Context(), part, off)
			if err != nil && !errors.Is(err, io.EOF) || !bytes.Equal(part[:n], b[off:][:n]) {
				t.Fatalf("%s: %d bytes at %d differ: %v", source, size, off, err)
			}
		}
	}
	writeTruth(t, st, dir, f.Omitted(), source)
	return dir, f.Omitted()
}

// truth is an array as varve reads it.
type truth struct {
	Path       string          `json:"path"`
	Dims       []string        `json:"dims"`
	Shape      []int64         `json:"shape"`
	DType      string          `json:"dtype"`
	File       string          `json:"file"`
	Texts      []string        `json:"texts,omitempty"`
	Attributes json.RawMessage `json:"attributes"`
}

func writeTruth(t testing.TB, st *store.Store, dir string, omitted []Omission, source string) {
	t.Helper()
	left := map[string]bool{}
	for _, o := range omitted {
		left[o.Path] = true
	}
	var arrays []truth
	for i, a := range st.Arrays() {
		if left[a.Path()] {
			continue
		}
		schema := a.Schema()
		typ := schema.DataType.Type()
		e := codec.NewElems(schema.Form(schema.Shape))
		if err := a.ReadRegion(t.Context(), grid.Whole(schema.Shape), e); err != nil {
			t.Fatal(err)
		}
		one := truth{Path: a.Path(), Dims: schema.Dims(), Shape: schema.Shape, File: fmt.Sprint(i, ".bin"), Attributes: schema.Attributes.JSON()}
		switch typ.Kind {
		case codec.Bool:
			one.DType = "<i1"
		case codec.FixedBytes:
			one.DType = fmt.Sprint("S", typ.Size)
		case codec.DateTime, codec.TimeDelta:
			one.DType = "<i8"
		default:
			one.DType = "<" + map[codec.Kind]string{codec.Int: "i", codec.Uint: "u", codec.Float: "f"}[typ.Kind] + fmt.Sprint(typ.Size)
		}
		for _, text := range e.Var {
			one.Texts = append(one.Texts, string(text))
		}
		if typ.Kind == codec.FixedUTF32 {
			for at := 0; at < len(e.Fixed); at += typ.Size {
				one.Texts = append(one.Texts, string(fromUTF32(e.Fixed[at:][:typ.Size])))
			}
		}
		arrays = append(arrays, one)
		if err := os.WriteFile(filepath.Join(dir, one.File), e.Fixed, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(map[string]any{"arrays": arrays, "source": source})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "truth.json"), b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// compare compares files in folders by h5py and netCDF4-python with what varve read, and by h5dump with their own structure.
func compare(t *testing.T, dirs []string) {
	t.Helper()
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte(strings.Join(dirs, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	venv.Run(t, "h5py and netCDF4", "testdata/check.py", "check", list)
}

// TestFixtures makes a file of each sample file, and compares all values.
func TestFixtures(t *testing.T) {
	venv.Python(t, "h5py and netCDF4")
	var dirs []string
	var omitted, classic int
	for _, pattern := range []string{"hdf5/*.h5", "hdf5/*.nc", "netcdf3/*.nc", "zarr/*", "grib/*.grib*", "tiff/*.tif"} {
		names, err := filepath.Glob("../../fixtures/" + pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			st, err := built(t, name)
			if err != nil {
				continue // refused by varve build
			}
			dir, left := write(t, st, nil, name)
			dirs = append(dirs, dir)
			dir, less := write(t, st, &Options{Classic: true}, name)
			dirs = append(dirs, dir)
			for _, o := range less {
				if classic++; !errors.Is(o.Why, errors.ErrUnsupported) {
					t.Errorf("%s: %s is left out of the classic file because of %v", name, o.Path, o.Why)
				}
			}
			omitted += len(left)
			for _, o := range left {
				t.Logf("%s: %s: %v", name, o.Path, o.Why)
				if !errors.Is(o.Why, errors.ErrUnsupported) {
					t.Errorf("%s: %s is left out because of %v", name, o.Path, o.Why)
				}
			}
		}
	}
	if len(dirs) < 30 {
		t.Errorf("only %d sample files can be built", len(dirs))
	}
	t.Logf("%d arrays and attributes are left out, %d of classic files", omitted, classic)
	compare(t, dirs)
}

// TestRandomArchives compares all values of random archives.
func TestRandomArchives(t *testing.T) {
	python := venv.Python(t, "h5py and netCDF4")
	seed := soak.Seed(t)
	var dirs []string
	verbatim := 0
	for i := range 12 {
		folder := t.TempDir()
		source := fmt.Sprintf("seed %d", seed+uint64(i))
		if out, err := exec.Command(python, "testdata/check.py", "make", folder, fmt.Sprint((seed+uint64(i))%(1<<31))).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", source, err, out)
		}
		st, err := built(t, folder)
		if err != nil {
			t.Logf("%s: %v", source, err)
			continue
		}
		dir, omitted := write(t, st, &Options{Plugins: i%2 == 0}, source)
		if len(omitted) > 0 {
			t.Errorf("%s: left out: %v", source, omitted)
		}
		for _, a := range st.Arrays() {
			verbatim += int(a.Spec().Chunks.Verbatim)
		}
		dirs = append(dirs, dir)
		if dir, omitted = write(t, st, &Options{Classic: true}, source); len(omitted) != 1 || omitted[0].Path != "/below/v3" {
			t.Errorf("%s: left out of the classic file: %v", source, omitted)
		}
		dirs = append(dirs, dir)
	}
	if len(dirs) < 12 || verbatim < 50 {
		t.Errorf("%d archives with %d verbatim chunks", len(dirs), verbatim)
	}
	compare(t, dirs)
}

// TestStructure checks that HDF5's own tools accept the structures of each sample file, and of a file with gaps.
func TestStructure(t *testing.T) {
	names, err := filepath.Glob("../../fixtures/hdf5/*.nc")
	if err != nil {
		t.Fatal(err)
	}
	programs := [][]string{{"h5dump", "-H"}, {"h5dump", "-r"}, {"h5stat"}, {"h5debug"}, {"ncdump"}}
	for _, p := range programs {
		machine.Find(t, p[0])
	}
	for _, name := range append(names, "../../fixtures/zarr/v2", "../../fixtures/zarr/v3", "../../fixtures/netcdf3/data64.nc") {
		st, err := built(t, name)
		if err != nil {
			t.Fatal(err)
		}
		dir, _ := write(t, st, nil, name)
		for _, p := range programs {
			out, err := machine.Command(t, p[0], append(p[1:], filepath.Join(dir, "virtual.nc"))...).CombinedOutput()
			if err != nil || len(out) < 50 || bytes.Contains(out, []byte("unable to")) {
				t.Errorf("%v of %s: %v: %s", p, name, err, out)
			}
		}
	}
}

// TestManyChunks checks that a file of very many chunks is described without reading them, and that the index finds chunks.
func TestManyChunks(t *testing.T) {
	python := venv.Python(t, "zarr and h5py")
	const script = `
import sys, zarr, numcodecs, numpy
a = zarr.open_group(sys.argv[1], mode="w", zarr_format=2).create_array("v", shape=(20_000_000, 4), chunks=(1, 4), dtype="f4",
    compressors=[numcodecs.Zlib(1)], fill_value=-1)
a.attrs["_ARRAY_DIMENSIONS"] = ["time", "x"]
for row in (5, 9_999_999, 10_000_005, 19_999_999):
    a[row] = row % 100`
	folder := t.TempDir()
	if out, err := exec.Command(python, "-c", script, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	st, err := built(t, folder)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	if least := int64(20_000_000 * 16); f.Size() < least {
		t.Errorf("%d bytes, want at least %d", f.Size(), least)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "v.nc", time.Time{}, io.NewSectionReader(readerAt{t.Context(), f}, 0, f.Size()))
	}))
	defer server.Close()
	const check = `
import sys, h5py, fsspec
with h5py.File(fsspec.open(sys.argv[1], block_size=1 << 16).open()) as f:
    v = f["v"]
    assert v.shape == (20_000_000, 4), v.shape
    for row, want in ((4, -1), (5, 5), (6, -1), (9_999_999, 99), (10_000_000, -1), (10_000_005, 5), (17_777_777, -1), (19_999_999, 99)):
        assert list(v[row]) == [want] * 4, (row, list(v[row]), want)
print("8 rows of 20,000,000 are right")`
	venv.Run(t, "h5py and fsspec", "-c", check, server.URL)
}

// readerAt is a file as an io.ReaderAt.
type readerAt struct {
	ctx context.Context
	f   *File
}

func (r readerAt) ReadAt(b []byte, off int64) (int, error) { return r.f.ReadAt(r.ctx, b, off) }

// TestNames checks that arrays with names that netCDF does not have are left out, and that names of a group and a dimension may be
// equal.
func TestNames(t *testing.T) {
	folder := t.TempDir()
	const array = `{"shape":[2],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},
		"fill_value":7,"codecs":[{"name":"bytes"}],"attributes":{"NAME":"x","a/b":1,"ok":[1,2]},"dimension_names":["%s"],"zarr_format":3,"node_type":"array"}`
	for name, text := range map[string]string{
		"zarr.json": `{"zarr_format":3,"node_type":"group","attributes":{}}`, "g/zarr.json": `{"zarr_format":3,"node_type":"group","attributes":{}}`,
		"v/zarr.json": fmt.Sprintf(array, "g"), "w/zarr.json": fmt.Sprintf(array, "end "), "x /zarr.json": fmt.Sprintf(array, "x"), "g/y/zarr.json": fmt.Sprintf(array, "y"),
	} {
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	st, err := built(t, folder)
	if err != nil {
		t.Fatal(err)
	}
	dir, omitted := write(t, st, nil, folder)
	var paths []string
	for _, o := range omitted {
		paths = append(paths, o.Path)
	}
	slices.Sort(paths)
	if want := []string{"/g/y/@NAME", "/g/y/@a/b", "/v/@NAME", "/v/@a/b", "/w", "/x "}; !slices.Equal(paths, want) {
		t.Errorf("left out are %q, want %q", paths, want)
	}
	out, err := machine.Command(t, "ncdump", filepath.Join(dir, "virtual.nc")).Output()
	if text := string(out); err != nil || !strings.Contains(text, "byte v(g_dim) ;") || !strings.Contains(text, "byte y(y) ;") || !strings.Contains(text, "v:ok = 1, 2 ;") {
		t.Errorf("%v: %s", err, out)
	}
}
