package serve_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures/classic"
	"varve/fixtures/venv"
	"varve/manifest/serve"
)

// TestInteropSubsets checks that pandas, NumPy and xarray read from subsets what they read from a netCDF-4 file.
func TestInteropSubsets(t *testing.T) {
	address, whole := serveTypes(t)
	out, err := exec.Command(venv.Python(t, "xarray and pandas"), "testdata/subsets.py", strings.TrimSuffix(address, "/dap/demo"), whole).CombinedOutput()
	if err != nil || string(out) != "ok 13 subsets\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSubsets checks headers, redirections and refusals.
func TestSubsets(t *testing.T) {
	files := months(t)
	dirs := []string{buildFiles(t, "east.varve", files...), buildFiles(t, "west.varve", files[:1]...)}
	address := startWith(t, &serve.Options{MaxAnswer: 50_000}, dirs...)
	resp, body := answerTo(t, address+"/east/t2m?as=csv&time=2021-01-02/2021-01-03&isel.lat=0&isel.lon=-1")
	if want := `attachment; filename=east_t2m.csv`; resp.Header.Get("Content-Disposition") != want || resp.Header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("%v", resp.Header)
	}
	if lines := strings.Split(body, "\n"); len(lines) != 4 || lines[0] != "time,lat,lon,t2m" || !strings.HasPrefix(lines[2], "2021-01-03,") {
		t.Errorf("%q", body)
	}
	if resp, _ = answerTo(t, address+"/east?as=nc&vars=t2m&isel.time=0"); resp.Header.Get("Location") != "/east/?as=nc&vars=t2m&isel.time=0" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
	resp, body = answerTo(t, address+"/east/?as=nc&vars=t2m&isel.time=0")
	if resp.StatusCode != http.StatusOK || resp.ContentLength != int64(len(body)) || !strings.HasPrefix(body, "CDF") {
		t.Errorf("%s: %d of %d bytes", resp.Status, resp.ContentLength, len(body))
	}
	again, _ := answerTo(t, address+"/east/?as=nc&vars=t2m&isel.time=0", "If-None-Match", resp.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified {
		t.Error(again.Status)
	}
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/east/t2m?as=csv":                              {413, "isel.time"},
		"/east/?as=csv&vars=t2m,lat&isel.time=0":        {400, "columns of equal dimensions"},
		"/east/?as=npy&vars=t2m,lat&isel.time=0":        {400, "one variable"},
		"/east/?as=nc&vars=nothing":                     {400, "no array"},
		"/east/t2m?as=csv&vars=t2m":                     {400, "group"},
		"/east/t2m?as=csv&depth=3":                      {400, "no dimension"},
		"/east/t2m?as=csv&time=2030":                    {400, "no label"},
		"/east/t2m?as=csv&time=2021-01&isel.time=0":     {400, "selected already"},
		"/east/t2m?as=csv&isel.time=0:1:0":              {400, "step"},
		"/east/t2m?as=csv&isel.time=x":                  {400, "not an integer"},
		"/east/t2m?as=nc&isel.time=0&decode=true":       {400, "packed"},
		"/east/t2m?as=csv&isel.time=0&decode=perhaps":   {400, "true, false or auto"},
		"/east/t2m?as=csv&isel.time=0&lat=45%":          {400, "write % as %25"},
		"/east/?as=nc&vars=t2m&isel.time=0;isel.lat=0":  {400, "write % as %25"},
		"/east/?as=nc&isel.time=0;isel.lat=0":           {400, "write % as %25"},
		"/east/t2m?as=tiff":                             {400, "none of"},
		"/east/t2m?as=csv&isel.time=[0,0,0,0,0,0,0,99]": {400, "index 99"},
	} {
		if resp, body := answerTo(t, address+path); resp.StatusCode != want.status || !strings.Contains(body, want.text) {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
	}
}

// TestSubsetLongerThanEstimated checks the status of an answer that turns out to be longer than the limit before any of it was sent.
func TestSubsetLongerThanEstimated(t *testing.T) {
	values := make([]float64, 1000)
	for i := range values {
		values[i] = -1.2345678901234568e-300
	}
	name := filepath.Join(t.TempDir(), "a.nc")
	f := classic.File{Dims: []classic.Dim{{Name: "x", Length: 1000}}, Vars: []classic.Var{{Name: "v", Dims: []string{"x"}, Data: values}}}
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	address := startWith(t, &serve.Options{MaxAnswer: 24_000}, buildFiles(t, "a.varve", name))
	if resp, body := answerTo(t, address+"/v?as=csv"); resp.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(body, "--max-answer") {
		t.Errorf("%s %.200s", resp.Status, body)
	}
	if resp, body := answerTo(t, address+"/v?as=csv&isel.x=0:2"); resp.StatusCode != http.StatusOK || body != "x,v\n0,-1.2345678901234568e-300\n1,-1.2345678901234568e-300\n" {
		t.Errorf("%s %q", resp.Status, body)
	}
}
