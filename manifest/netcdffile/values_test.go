package netcdffile

import (
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

	"varve/fixtures/machine"
	"varve/fixtures/venv"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/store"
)

// made runs a Python script that writes a source to a folder, and builds a manifest that has no values of it.
func made(t *testing.T, packages, script string) (st *store.Store, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "source")
	if out, err := exec.Command(venv.Python(t, packages), "-c", script, folder).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var inline int64
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{folder}}, Plan: plan.Options{Inline: &inline}}); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st, folder
}

// TestCompressedScalar checks that a compressed array without dimensions is decoded, since HDF5 has no chunks of it.
func TestCompressedScalar(t *testing.T) {
	st, _ := made(t, "zarr and netCDF4", `
import sys, zarr, numcodecs
g = zarr.open_group(sys.argv[1], mode="w", zarr_format=2)
for name in "stored", "missing":
    g.create_array(name, shape=(), chunks=(), dtype="f4", compressors=[numcodecs.Zlib(1)], fill_value=-1).attrs["_ARRAY_DIMENSIONS"] = []
g["stored"][()] = 3.5`)
	if a, err := st.Array("/stored"); err != nil || a.Spec().Chunks.Verbatim != 1 {
		t.Fatalf("the scalar has no verbatim chunk: %v", err)
	}
	dir, omitted := write(t, st, nil, "scalars")
	if len(omitted) > 0 {
		t.Errorf("left out: %v", omitted)
	}
	compare(t, []string{dir})
}

// TestTextsWithNUL checks that texts which netCDF's strings would cut short are left out, and that a classic file has them.
func TestTextsWithNUL(t *testing.T) {
	st, _ := made(t, "zarr and netCDF4", `
import sys, zarr, numpy
g = zarr.open_group(sys.argv[1], mode="w", zarr_format=3)
g.attrs["words"] = ["one", "two"]
g.attrs["cut"] = ["a\0b"]
for name, values in dict(cut=["a\0b", "c"], end=["a\0", "c"], whole=["", "c"]).items():
    a = g.create_array(name, shape=(2,), chunks=(2,), dtype=str, dimension_names=["x"])
    a[:] = numpy.array(values, object)
    a.attrs["cut"] = ["a", "b\0"]
g.create_array("fixed", shape=(2,), chunks=(2,), dtype="U3", dimension_names=["x"])[:] = ["a\0b", "c"]`)
	dir, omitted := write(t, st, nil, "texts")
	var paths []string
	for _, o := range omitted {
		paths = append(paths, o.Path)
	}
	slices.Sort(paths)
	if want := []string{"/@cut", "/cut", "/end", "/fixed", "/whole/@cut"}; !slices.Equal(paths, want) {
		t.Errorf("left out are %q, want %q", paths, want)
	}
	compare(t, []string{dir})
	dir, _ = write(t, st, &Options{Classic: true}, "texts")
	out, err := machine.Command(t, "ncdump", filepath.Join(dir, "virtual.nc")).Output()
	for _, want := range []string{`:words = "[\"one\",\"two\"]"`, `"a\000b"`, `:cut = "[\"a\\u0000b\"]"`} {
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("no %s: %v: %s", want, err, out)
		}
	}
}

// TestGroupAttributeTypes checks that attributes of groups keep the type float32.
func TestGroupAttributeTypes(t *testing.T) {
	st, _ := made(t, "netCDF4", `
import os, sys, netCDF4, numpy
os.mkdir(sys.argv[1])
with netCDF4.Dataset(sys.argv[1] + "/a.nc", "w") as f:
    f.single, f.pair, f.double, f.whole = numpy.float32(0.1), numpy.array([1.5, 2], "f4"), 0.1, numpy.int32(3)
    f.createGroup("g").single = numpy.float32(2)
    f.createDimension("x", 2)
    f.createVariable("v", "i4", ("x",))[:] = 1, 2`)
	for _, opts := range []*Options{nil, {Classic: true}} {
		dir, _ := write(t, st, opts, "attributes")
		out, err := machine.Command(t, "ncdump", "-h", filepath.Join(dir, "virtual.nc")).Output()
		wants := []string{":single = 0.1f ;", ":pair = 1.5f, 2.f ;", ":double = 0.1 ;", ":whole = 3 ;", ":single = 2.f ;"}
		if opts != nil {
			wants = wants[:4]
		}
		for _, want := range wants {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("no %s: %v: %s", want, err, out)
			}
		}
	}
}

// TestUnreadableTexts checks that texts whose source cannot be read are an error for their variable only.
func TestUnreadableTexts(t *testing.T) {
	st, folder := made(t, "zarr and h5py", `
import sys, zarr, numpy
g = zarr.open_group(sys.argv[1], mode="w", zarr_format=3)
g.create_array("text", shape=(2,), chunks=(2,), dtype=str, dimension_names=["x"])[:] = numpy.array(["a", "b"], object)
g.create_array("v", shape=(2,), chunks=(2,), dtype="i4", dimension_names=["x"])[:] = 1, 2`)
	source, aside := filepath.Join(folder, "text/c/0"), filepath.Join(t.TempDir(), "0")
	if err := os.Rename(source, aside); err != nil {
		t.Fatal(err)
	}
	var tags []string
	for _, opts := range []*Options{nil, {Classic: true}} {
		f, err := Open(t.Context(), st, opts)
		if err != nil {
			t.Fatal(err)
		}
		if failed := f.Failed(); len(failed) != 1 || failed[0].Path != "/text" {
			t.Errorf("unreadable are %v, want /text", failed)
		}
		tags = append(tags, f.Tag())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "v.nc", time.Time{}, io.NewSectionReader(readerAt{t.Context(), f}, 0, f.Size()))
		}))
		defer server.Close()
		if opts != nil {
			b := make([]byte, f.Size())
			if _, err := f.ReadAt(t.Context(), b, 0); err == nil || !strings.Contains(err.Error(), "text/c/0") {
				t.Errorf("reading all of the classic file: %v", err)
			}
			continue
		}
		venv.Run(t, "h5py and fsspec", "-c", `
import sys, h5py, fsspec
with h5py.File(fsspec.open(sys.argv[1]).open()) as f:
    assert list(f["v"][:]) == [1, 2]
    try:
        raise SystemExit(f"the texts are {f['text'][:]}")
    except OSError:
        print("the texts are an error")`, server.URL)
	}
	if err := os.Rename(aside, source); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(t.Context(), st, nil); err != nil || len(f.Failed()) > 0 || f.Tag() == tags[0] {
		t.Errorf("the whole file: unreadable are %v, with the tag %s of the other: %v", f.Failed(), tags[0], err)
	}
}
