package serve_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/fixtures/classic"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// startWith serves manifests with options.
func startWith(t *testing.T, opts *serve.Options, dirs ...string) string {
	t.Helper()
	opts.Reload, opts.Store = -1, store.Options{Trusted: true}
	h, err := serve.New(t.Context(), dirs, opts)
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

// answerTo returns an answer and its body. It follows no redirects.
func answerTo(t *testing.T, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// TestDAPAddresses checks which addresses answer, for one manifest, several, and a snapshot.
func TestDAPAddresses(t *testing.T) {
	files := months(t)
	east, west := buildFiles(t, "east.varve", files...), buildFiles(t, "east.2.varve", files[:1]...)
	alone, both := startWith(t, &serve.Options{}, east), startWith(t, &serve.Options{Base: "/data"}, east, west)
	st, err := store.Open(t.Context(), east, nil)
	if err != nil {
		t.Fatal(err)
	}
	id := st.Snapshot().ID
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		alone + "/dap/east.dds":             "time[time = 90]",
		alone + "/dap.dds":                  "} east;",
		alone + "/@" + id + "/dap.dds":      "} east;",
		alone + "/@" + id + "/dap/east.das": "NC_GLOBAL",
		both + "/data/dap/east.dds":         "time[time = 90]",
		both + "/data/dap/east.2.dds":       "time[time = 31]",
		both + "/data/east/dap.dds":         "time[time = 90]",
		both + "/data/east.2/dap.dmr":       `name="east.2"`,
		alone + "/dap.dmr.xml":              `<Dimension name="time" size="90"/>`,
		alone + "/dap.ver":                  "DAP/2.0",
		alone + "/dap.asc?lat[0:1]":         "lat[2]\n",
		alone + "/dap.html":                 "<form",
	} {
		if resp, body := answerTo(t, address); resp.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %s without %q: %.300s", address, resp.Status, want, body)
		}
	}
	for address, status := range map[string]int{
		alone + "/dap/west.dds": 404, alone + "/dap.nothing": 404, alone + "/dapper.dds": 404, both + "/data/dap/north.dds": 404,
		alone + "/dap": 303, alone + "/dap.html?as=ascii&constraint=lat": 303,
	} {
		if resp, _ := answerTo(t, address); resp.StatusCode != status {
			t.Errorf("%s: %s, not %d", address, resp.Status, status)
		}
	}
	resp, _ := answerTo(t, alone+"/dap.html?as=ascii&constraint=lat%5B0:1%5D,lon")
	if to := resp.Header.Get("Location"); to != "/dap.ascii?lat%5B0:1%5D,lon" {
		t.Errorf("the form leads to %s", to)
	}
	resp, values := answerTo(t, alone+"/dap.dods?lat")
	again, _ := answerTo(t, alone+"/dap.dods?lat", "If-None-Match", resp.Header.Get("ETag"))
	if again.StatusCode != http.StatusNotModified || resp.ContentLength != int64(len(values)) {
		t.Errorf("%s, %d of %d bytes", again.Status, resp.ContentLength, len(values))
	}
}

// TestDAPNodesWin checks that an array with the name of an address of OPeNDAP keeps its address, and that the log says so.
func TestDAPNodesWin(t *testing.T) {
	f := classic.File{Dims: []classic.Dim{{Name: "x", Length: 2}}, Vars: []classic.Var{{Name: "dap.dds", Dims: []string{"x"}, Data: []float32{1, 2}}, {Name: "catalog.xml", Dims: []string{"x"}, Data: []float32{3, 4}}}}
	name := filepath.Join(t.TempDir(), "a.nc")
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	address := startWith(t, &serve.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, buildFiles(t, "a.varve", name))
	for path, want := range map[string]string{"/dap.dds": "dap.dds</h1>", "/catalog.xml": "catalog.xml</h1>", "/dap.das": "NC_GLOBAL", "/dap/a.dds": "Dataset {"} {
		if _, body := answerTo(t, address+path, "Accept", "text/html"); !strings.Contains(body, want) {
			t.Errorf("%s: %.300s", path, body)
		}
	}
	for _, want := range []string{"address=/dap.dds", "address=/catalog.xml"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %s: %s", want, log.String())
		}
	}
}

// TestDAPErrors checks the form and the status of errors.
func TestDAPErrors(t *testing.T) {
	address := startWith(t, &serve.Options{MaxAnswer: 1000}, buildFiles(t, "a.varve", months(t)...))
	for path, want := range map[string]struct {
		status      int
		begin, text string
	}{
		"/dap.dods?nothing":                {400, "Error {\n    code = 400;\n    message = \"", `no variable \"nothing\"`},
		"/dap.dds?t2m[0:100][0][0]":        {400, "Error {", "last index is 89"},
		"/dap.dods?t2m":                    {413, "Error {", "the limit is 1000"},
		"/dap.asc?t2m.t2m[0][0:99][0:99]":  {400, "Error {", "last index"},
		"/dap.dap?dap4.ce=/t2m":            {413, "<?xml", "the limit is 1000"},
		"/dap.dmr?dap4.ce=/nothing":        {400, "<?xml", `<Message>`},
		"/dap.dap?dap4.ce=/t2m%5B0:100%5D": {400, "<?xml", `httpcode="400"`},
	} {
		resp, body := answerTo(t, address+path)
		if resp.StatusCode != want.status || !strings.HasPrefix(body, want.begin) || !strings.Contains(body, want.text) || resp.Header.Get("ETag") != "" {
			t.Errorf("%s: %s %v %q", path, resp.Status, resp.Header, body)
		}
	}
}

// TestDAPOfMissingSource checks that an answer whose source is gone is an error and no values.
func TestDAPOfMissingSource(t *testing.T) {
	folder := t.TempDir()
	var files []string
	for i, name := range months(t) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(folder, fmt.Sprintf("%d.nc", i)))
		if err := os.WriteFile(files[i], data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	address := startWith(t, &serve.Options{}, buildFiles(t, "a.varve", files...))
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	for path, form := range map[string]string{"/dap.dods?t2m.t2m": "Error {", "/dap.dap?dap4.ce=/t2m": "<?xml", "/t2m?as=csv": `{"status":409`} {
		if resp, body := answerTo(t, address+path); resp.StatusCode != http.StatusConflict || !strings.HasPrefix(body, form) || !strings.Contains(body, "1.nc") {
			t.Errorf("%s: %s %.300s", path, resp.Status, body)
		}
	}
	if resp, _ := answerTo(t, address+"/dap.dods?t2m.t2m[0][0][0]"); resp.StatusCode != http.StatusOK {
		t.Errorf("values of a file that exists: %s", resp.Status)
	}
}

// TestDAPTokens checks that OPeNDAP, catalogues and subsets need a token, if anything does.
func TestDAPTokens(t *testing.T) {
	name := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(name, []byte("ann secret-secret-secret-secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tokens, err := serve.OpenTokens(name)
	if err != nil {
		t.Fatal(err)
	}
	address := startWith(t, &serve.Options{Tokens: tokens}, buildFiles(t, "a.varve", months(t)...))
	for _, path := range []string{"/dap.dds", "/dap/a.dods?lat", "/catalog.xml", "/t2m?as=csv&isel.time=0", "/?as=nc&vars=t2m&isel.time=0"} {
		if resp, _ := answerTo(t, address+path); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a token: %s", path, resp.Status)
		}
		if resp, _ := answerTo(t, address+path, "Authorization", "Bearer secret-secret-secret-secret"); resp.StatusCode != http.StatusOK {
			t.Errorf("%s with a token: %s", path, resp.Status)
		}
	}
}

// TestThredds follows a catalogue to the datasets of several manifests.
func TestThredds(t *testing.T) {
	files := months(t)
	address := startWith(t, &serve.Options{Base: "/data"}, buildFiles(t, "east.varve", files...), buildFiles(t, "west 2.varve", files[:1]...))
	_, body := answerTo(t, address+"/data/catalog.xml")
	var catalog struct {
		Services []struct {
			Type string `xml:"serviceType,attr"`
			Base string `xml:"base,attr"`
		} `xml:"service>service"`
		Paths []struct {
			Path string `xml:"urlPath,attr"`
		} `xml:"dataset>dataset"`
	}
	if err := xml.Unmarshal([]byte(body), &catalog); err != nil {
		t.Fatal(err)
	}
	if len(catalog.Services) != 2 || catalog.Services[0].Type != "OPENDAP" || len(catalog.Paths) != 2 {
		t.Fatalf("%s", body)
	}
	for _, d := range catalog.Paths {
		if resp, _ := answerTo(t, address+catalog.Services[0].Base+d.Path+".dds"); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", d.Path, resp.Status)
		}
	}
}

// TestManyDAPReaders checks that 200 readers at once get equal answers.
func TestManyDAPReaders(t *testing.T) {
	address := startWith(t, &serve.Options{}, buildFiles(t, "a.varve", months(t)...))
	_, want := answerTo(t, address+"/dap.dods?t2m.t2m[0:1:89][0:3][1:2]")
	answers := make(chan string, 200)
	for range cap(answers) {
		go func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/dap.dods?t2m.t2m[0:1:89][0:3][1:2]", nil)
			if err != nil {
				answers <- err.Error()
				return
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				answers <- err.Error()
				return
			}
			body, err := io.ReadAll(resp.Body)
			if err = errors.Join(err, resp.Body.Close()); err != nil {
				answers <- err.Error()
				return
			}
			answers <- string(body)
		}()
	}
	for range cap(answers) {
		if got := <-answers; got != want {
			t.Fatalf("%.200q", got)
		}
	}
}

// largeFiles makes two files of 12 MB.
func largeFiles(t *testing.T) (files []string) {
	t.Helper()
	folder := t.TempDir()
	for i := range 2 {
		f := classic.File{Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "x", Length: 3 << 20}}, Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: []float64{float64(i)}}, {Name: "v", Dims: []string{"time", "x"}, Data: make([]float32, 3<<20)}}}
		files = append(files, filepath.Join(folder, fmt.Sprintf("%d.nc", i)))
		if err := f.Write(files[i]); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestDAPSlowClient checks that a client that stops reading an answer loses its connection.
func TestDAPSlowClient(t *testing.T) {
	address := startWith(t, &serve.Options{Body: 50 * time.Millisecond}, buildFiles(t, "a.varve", largeFiles(t)...))
	resp, err := http.Get(address + "/dap.dods?v")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)
	n, err := io.Copy(io.Discard, resp.Body)
	if closed := resp.Body.Close(); closed != nil {
		t.Error(closed)
	}
	if err == nil || n >= resp.ContentLength {
		t.Errorf("%d of %d bytes, %v", n, resp.ContentLength, err)
	}
}

// TestDAPBreaksOff checks that an answer whose source is gone when a part has been sent ends with a broken connection, so that
// no client takes it for complete.
func TestDAPBreaksOff(t *testing.T) {
	files := largeFiles(t)
	address := startWith(t, &serve.Options{}, buildFiles(t, "a.varve", files...))
	if err := os.Remove(files[1]); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/dap.dods?v", "/dap.dap?dap4.ce=/v", "/?as=nc&vars=v", "/v?as=csv"} {
		resp, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if closed := resp.Body.Close(); closed != nil {
			t.Error(closed)
		}
		if resp.StatusCode != http.StatusOK || n == 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %s, %d bytes, %v", path, resp.Status, n, err)
		}
	}
}
