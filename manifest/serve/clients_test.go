package serve_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/browser"
	"varve/fixtures/machine"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// demo is a folder of three monthly files with different codecs and byte orders.
const demo = "../../fixtures/demo"

// serveFiles builds a manifest of files and serves it over TCP.
func serveFiles(t *testing.T, files ...string) (address, dir string) {
	t.Helper()
	dir = buildFiles(t, "demo.varve", files...)
	return serveManifests(t, dir), dir
}

// buildFiles builds a manifest of files.
func buildFiles(t *testing.T, name string, files ...string) (dir string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	dir = filepath.Join(t.TempDir(), name)
	if _, err := ingest.Build(t.Context(), dir, &ingest.Options{Sources: ingest.Sources{Names: files}, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serveManifests serves manifests and returns the address.
func serveManifests(t *testing.T, dirs ...string) string {
	t.Helper()
	h, err := serve.New(t.Context(), dirs, &serve.Options{Reload: -1, Store: store.Options{Trusted: true}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

// months returns the files of the demo.
func months(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(demo, "*.nc"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%v, %v", files, err)
	}
	return files
}

// values reads a region of the demo's temperatures from the manifest.
func values(t *testing.T, dir string, r grid.Region) []float64 {
	t.Helper()
	s, err := store.Open(t.Context(), dir, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a, err := s.Array("/t2m")
	if err != nil {
		t.Fatal(err)
	}
	if r.Shape == nil {
		r = grid.Whole(a.Grid().Shape())
	}
	elems := codec.NewElems(a.Schema().Form(r.Shape))
	if err := a.ReadRegion(t.Context(), r, elems); err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(elems.Fixed)/4)
	for i := range out {
		out[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(elems.Fixed[4*i:])))
	}
	return out
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// TestInteropPython checks that zarr-python, xarray with and without dask, and zarrs read the values that
// netCDF-C reads from the files, in every view, with and without consolidated metadata.
func TestInteropPython(t *testing.T) {
	python := venv.Python(t, "clients of Zarr")
	files := months(t)
	rectilinear, _ := serveFiles(t, files...)
	regular, _ := serveFiles(t, files[0])
	var failure bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, "testdata/clients.py", rectilinear, regular, demo)
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failure.Bytes())
	}
	if text, ok := strings.CutPrefix(string(out), "skip:"); ok {
		t.Skip(text)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		if !strings.HasSuffix(line, " ok") {
			t.Error(line)
		}
	}
	if len(lines) != 25 {
		t.Errorf("%d clients and views:\n%s", len(lines), out)
	}
}

// TestInteropGDAL checks that GDAL's driver reads the format 2 view over /vsicurl.
func TestInteropGDAL(t *testing.T) {
	program := machine.Find(t, "gdalmdiminfo")
	// GDAL in Debian 12 does not support the shuffle filter, which the last month does not use.
	address, dir := serveFiles(t, months(t)[2])
	cmd := machine.Command(t, program, `ZARR:"/vsicurl/`+address+`/v2"`, "-array", "t2m", "-detailed")
	cmd.Env = append(os.Environ(), "no_proxy=127.0.0.1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got struct {
		Unit   string
		Values [][][]float64
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	var flat []float64
	for _, plane := range got.Values {
		for _, row := range plane {
			flat = append(flat, row...)
		}
	}
	want := values(t, dir, grid.Region{})
	if fmt.Sprint(flat) != fmt.Sprint(want) || got.Unit != "degC" {
		t.Errorf("got %d values in %q with the sum %v, want %d with the sum %v", len(flat), got.Unit, sum(flat), len(want), sum(want))
	}
}

var resultOf = regexp.MustCompile(`(?s)<pre id="result">(.*?)</pre>`)

// TestInteropZarrita checks that zarrita in Chromium reads the regular views from a page of another origin.
func TestInteropZarrita(t *testing.T) {
	modules := os.Getenv("VARVE_ZARRITA")
	if modules == "" {
		t.Skip("VARVE_ZARRITA is not set to a folder with zarrita; make interop downloads it")
	}
	files := months(t)
	rectilinear, all := serveFiles(t, files...)
	regular, january := serveFiles(t, files[0])
	mux := http.NewServeMux()
	mux.Handle("/node_modules/", http.FileServer(http.Dir(modules)))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/zarrita.html") })
	page := httptest.NewServer(mux)
	t.Cleanup(page.Close)
	dirs := map[string]string{regular: january, regular + "/regular": january, rectilinear + "/regular": all}
	query := url.Values{}
	for address := range dirs {
		query.Add("url", address)
	}
	dom := browser.Load(t, page.URL+"/?"+query.Encode(), "--dump-dom")
	text := resultOf.FindStringSubmatch(dom)
	if text == nil {
		t.Fatalf("no result in %s", dom)
	}
	got := map[string][]float64{}
	if err := json.Unmarshal([]byte(html.UnescapeString(text[1])), &got); err != nil {
		t.Fatalf("%s", text[1])
	}
	for address, dir := range dirs {
		whole := sum(values(t, dir, grid.Region{}))
		part := sum(values(t, dir, grid.Region{Origin: []int64{5, 1, 0}, Shape: []int64{15, 1, 8}}))
		if want := []float64{whole, part, whole, part}; fmt.Sprint(got[address]) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", address, got[address], want)
		}
	}
}
