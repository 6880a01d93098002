package serve

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"varve/fixtures/venv"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// demo builds a manifest of the sample files whose names match.
func demo(t testing.TB, out string, match ...string) string {
	t.Helper()
	opts := &ingest.Options{}
	for _, m := range match {
		opts.Sources.Names = append(opts.Sources.Names, filepath.Join("../../fixtures/demo", m))
	}
	if _, err := ingest.Build(t.Context(), out, opts); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestNetCDFAddresses checks where the file of a manifest is.
func TestNetCDFAddresses(t *testing.T) {
	one := demo(t, filepath.Join(t.TempDir(), "one.varve"), "2021-01.nc")
	two := demo(t, filepath.Join(t.TempDir(), "two x.varve"), "2021-02.nc")
	trusted := store.Options{Trusted: true}
	for _, c := range []struct {
		dirs  []string
		paths map[string]int
	}{
		{[]string{one}, map[string]int{"/one.nc": 200, "/?as=nc": 200, "/two.nc": 404, "/one.nc?x": 404, "/one.nc/": 404}},
		{[]string{one, two}, map[string]int{"/one.nc": 200, "/one/one.nc": 200, "/one/?as=nc": 200, "/one?as=nc": 200, "/two%20x.nc": 200, "/one": 301, "/three.nc": 404, "/.nc": 404}},
	} {
		h := newHandlerOf(t, &Options{Store: trusted}, c.dirs...)
		s := start(t, h)
		sizes := map[int]bool{}
		for path, want := range c.paths {
			got := ask(t, "GET", s.URL+path)
			if got.status != want {
				t.Errorf("%s of %d manifests: %d, want %d", path, len(c.dirs), got.status, want)
			}
			if want == http.StatusOK {
				sizes[len(got.body)] = true
				if !strings.HasPrefix(got.body, "\x89HDF\r\n\x1a\n") || got.header.Get("Content-Type") != "application/x-netcdf" {
					t.Errorf("%s: %.20q of type %s", path, got.body, got.header.Get("Content-Type"))
				}
			}
		}
		if len(sizes) != len(c.dirs) {
			t.Errorf("%d manifests have files of %d sizes", len(c.dirs), len(sizes))
		}
		for _, own := range h.Snapshots() {
			if got := ask(t, "HEAD", s.URL+own+"one.nc"); strings.Contains(own, "two") != (got.status != 200) {
				t.Errorf("%s: %d", own, got.status)
			}
		}
	}
}

// TestNetCDFRanges checks that no answer mixes bytes of two snapshots.
func TestNetCDFRanges(t *testing.T) {
	dir := demo(t, filepath.Join(t.TempDir(), "one.varve"), "2021-01.nc")
	h := newHandlerOf(t, &Options{Store: store.Options{Trusted: true}}, dir)
	url := start(t, h).URL + "/one.nc"
	whole := ask(t, "GET", url)
	etag := whole.header.Get("ETag")
	if !strings.HasPrefix(etag, `"`) || ask(t, "HEAD", url).header.Get("Content-Length") != strconv.Itoa(len(whole.body)) {
		t.Fatalf("ETag %s, %d bytes", etag, len(whole.body))
	}
	for _, c := range []struct {
		headers []string
		status  int
		body    string
	}{
		{[]string{"Range", "bytes=0-7"}, 206, whole.body[:8]},
		{[]string{"Range", "bytes=-5"}, 206, whole.body[len(whole.body)-5:]},
		{[]string{"Range", "bytes=1000-"}, 206, whole.body[1000:]},
		{[]string{"Range", "bytes=1000-1999", "If-Range", etag}, 206, whole.body[1000:2000]},
		{[]string{"Range", "bytes=1000-1999", "If-Range", `"other"`}, 200, whole.body},
		{[]string{"Range", "bytes=1000-1999", "If-Match", `"other"`}, 412, ""},
		{[]string{"Range", "bytes=9999999-"}, 416, ""},
		{[]string{"If-None-Match", etag}, 304, ""},
	} {
		got := ask(t, "GET", url, c.headers...)
		if got.status != c.status || c.body != "" && got.body != c.body {
			t.Errorf("%q: %d with %d bytes, want %d with %d", c.headers, got.status, len(got.body), c.status, len(c.body))
		}
	}
	if _, err := ingest.Append(t.Context(), dir, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo/2021-02.nc"}}}); err != nil {
		t.Fatal(err)
	}
	h.refresh(t.Context(), h.places[0])
	if got := ask(t, "GET", url, "Range", "bytes=0-7", "If-Match", etag); got.status != http.StatusPreconditionFailed {
		t.Errorf("after an append: %d", got.status)
	}
	if got := ask(t, "GET", url, "Range", "bytes=0-7", "If-Range", etag); got.status != http.StatusOK || got.body == whole.body {
		t.Errorf("after an append: %d with %d bytes", got.status, len(got.body))
	}
}

// TestNetCDFBrokenSource checks that a client notices a file that cannot be read.
func TestNetCDFBrokenSource(t *testing.T) {
	h := newHandlerOf(t, &Options{}, demo(t, filepath.Join(t.TempDir(), "one.varve"), "2021-01.nc", "2021-02.nc", "2021-03.nc"))
	s := start(t, h)
	h.places[0].plain[inFull].Load().data.(storeDataset).Store.Close()
	if got := ask(t, "GET", s.URL+"/one.nc"); got.status < 500 || strings.Contains(got.body, "HDF") {
		t.Errorf("%d: %.40q", got.status, got.body)
	}
}

// TestNetCDFLarge reads a file of 80 TB.
func TestNetCDFLarge(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"zarr.json": `{"zarr_format":3,"node_type":"group","attributes":{}}`,
		"v/zarr.json": `{"shape":[10000000,1000,1000],"data_type":"float64","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,1000,1000]}},
			"chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":{},
			"dimension_names":["time","y","x"],"zarr_format":3,"node_type":"array"}`,
	} {
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(t.TempDir(), "large.varve")
	if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{folder}}}); err != nil {
		t.Fatal(err)
	}
	url := start(t, newHandlerOf(t, &Options{Store: store.Options{Trusted: true}}, out)).URL + "/large.nc"
	size, err := strconv.ParseInt(ask(t, "HEAD", url).header.Get("Content-Length"), 10, 64)
	if err != nil || size < 8e13 {
		t.Fatalf("%d bytes, want more than 80 TB: %v", size, err)
	}
	if got := ask(t, "GET", url, "Range", "bytes=-8"); got.status != 206 || len(got.body) != 8 {
		t.Errorf("the last bytes: %d with %d bytes", got.status, len(got.body))
	}
	if os.Getenv("VARVE_PYTHON") == "" {
		return
	}
	venv.Run(t, "h5py and fsspec", "-c", `
import sys, h5py, fsspec
with fsspec.open(sys.argv[1], block_size=1 << 14) as f, h5py.File(f) as h5:
    assert h5["v"].shape == (10_000_000, 1000, 1000) and h5["v"][9_999_999, 999, 998:].tolist() == [7, 7]`, url)
}

const netcdfClients = `
import sys, h5py, fsspec, netCDF4, numpy, xarray
url, files = sys.argv[1], sys.argv[2:]
parts = [xarray.open_dataset(f, decode_times=False) for f in files]
truth = xarray.concat(parts, "time", data_vars="minimal")["t2m"].values
with fsspec.open(url, block_size=1 << 12) as f, h5py.File(f) as h5:
    numpy.testing.assert_array_equal(h5["t2m"][...], truth)
with netCDF4.Dataset(url + "#mode=bytes") as nc:
    numpy.testing.assert_array_equal(nc["t2m"][...], truth)
    assert nc.dimensions["time"].isunlimited() and len(nc.dimensions["time"]) == len(truth)
print(truth.size, "values by h5py and by netCDF-C are equal")
`

// TestInteropNetCDF reads the file by HTTP with h5py and netCDF-C.
func TestInteropNetCDF(t *testing.T) {
	venv.Python(t, "h5py, netCDF4 and fsspec")
	months := []string{"2021-01.nc", "2021-02.nc", "2021-03.nc"}
	h := newHandlerOf(t, &Options{Store: store.Options{Trusted: true}}, demo(t, filepath.Join(t.TempDir(), "one.varve"), months...))
	args := []string{"-c", netcdfClients, start(t, h).URL + "/one.nc"}
	for _, m := range months {
		args = append(args, filepath.Join("../../fixtures/demo", m))
	}
	venv.Run(t, "h5py, netCDF4 and fsspec", args...)
}
