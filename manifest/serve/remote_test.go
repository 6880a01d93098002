package serve_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve/manifest/ingest"
	"varve/manifest/serve"
	"varve/manifest/store"
	"varve/readers/source"
)

// badServer is a file server that misbehaves on request.
type badServer struct {
	files http.Handler
	mode  atomic.Pointer[func(w http.ResponseWriter, r *http.Request, good http.Handler)]
}

func (b *badServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"1"`)
	if mode := b.mode.Load(); mode != nil {
		(*mode)(w, r, b.files)
		return
	}
	b.files.ServeHTTP(w, r)
}

func status(code int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(code) }
}

// bursts fails for two requests, then answers one, and so on.
func bursts() func(http.ResponseWriter, *http.Request, http.Handler) {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request, good http.Handler) {
		if n.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		good.ServeHTTP(w, r)
	}
}

// recorded returns the correct answer.
func recorded(r *http.Request, good http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	good.ServeHTTP(w, r)
	return w
}

// half announces a full answer, sends half of it, and waits until the client disconnects.
func half(w http.ResponseWriter, r *http.Request, good http.Handler) {
	answer := recorded(r, good)
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// short ends an answer early.
func short(w http.ResponseWriter, r *http.Request, good http.Handler) {
	answer := recorded(r, good)
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2])
	panic(http.ErrAbortHandler)
}

// elsewhere sends a part of the file that was not requested.
func elsewhere(w http.ResponseWriter, r *http.Request, good http.Handler) {
	answer := recorded(r, good)
	n := answer.Body.Len()
	w.Header().Set("Content-Range", fmt.Sprintf("bytes 1-%d/100000", n))
	w.WriteHeader(http.StatusPartialContent)
	_, _ = w.Write(answer.Body.Bytes())
}

// whole ignores ranges.
func whole(w http.ResponseWriter, r *http.Request, good http.Handler) {
	r.Header.Del("Range")
	good.ServeHTTP(w, r)
}

// changed sends another version of the file.
func changed(w http.ResponseWriter, r *http.Request, good http.Handler) {
	w.Header().Set("ETag", `"2"`)
	good.ServeHTTP(w, r)
}

// TestRemoteFaults checks that clients get the right bytes or a fault when the server with the sources
// misbehaves, and that requests succeed when the server recovers.
func TestRemoteFaults(t *testing.T) {
	data, err := filepath.Abs(demo)
	if err != nil {
		t.Fatal(err)
	}
	bad := &badServer{files: http.FileServer(http.Dir(data))}
	remote := httptest.NewUnstartedServer(bad)
	remote.Config.ErrorLog = nil
	remote.Start()
	defer remote.Close()
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	dir := filepath.Join(t.TempDir(), "remote.varve")
	options := func() *source.Opener {
		opts := source.DefaultOptions()
		opts.Attempts, opts.Backoff, opts.Stall, opts.Patience = 4, time.Millisecond, 200*time.Millisecond, 3*time.Second
		opts.CacheBytes, opts.HeadBytes = 1, 512
		return source.NewOpener(&opts)
	}
	opener := options()
	names := []string{remote.URL + "/2021-01.nc", remote.URL + "/2021-02.nc"}
	if _, err := ingest.Build(t.Context(), dir, &ingest.Options{Sources: ingest.Sources{Names: names}, Writer: "test", Opener: opener}); err != nil {
		t.Fatal(err)
	}
	if err := opener.Close(); err != nil {
		t.Fatal(err)
	}
	want := fetch(t, dir, options())
	cases := []struct {
		name string
		mode func(http.ResponseWriter, *http.Request, http.Handler)
		want []int
	}{
		{"bursts of 5xx", bursts(), []int{200}},
		{"5xx for good", status(503), []int{502}},
		{"hangs half-way", half, []int{504}},
		{"ends half-way", short, []int{502}},
		{"another range", elsewhere, []int{502}},
		{"no ranges", whole, []int{200, 501}},
		{"another version", changed, []int{409}},
		{"no such file", status(404), []int{409}},
		{"not allowed", status(403), []int{403}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			serve.LeavesNothing(t)
			opener := options()
			s := serveRemote(t, dir, opener)
			bad.mode.Store(&c.mode)
			defer bad.mode.Store(nil)
			code, body := get(t, s+"/t2m/c/0/0/0")
			if !slices.Contains(c.want, code) || code == 200 && body != want {
				t.Errorf("%d %.300s, want %v", code, body, c.want)
			}
			if code != 200 && !strings.Contains(body, "2021-01.nc") {
				t.Errorf("the reason does not name the source: %s", body)
			}
			bad.mode.Store(nil)
			if code, body := get(t, s+"/t2m/c/0/0/0"); code != 200 || body != want {
				t.Errorf("afterwards: %d %.300s", code, body)
			}
		})
	}
}

// serveRemote serves a manifest whose sources are read by opener.
func serveRemote(t *testing.T, dir string, opener *source.Opener) string {
	t.Helper()
	h, err := serve.New(t.Context(), []string{dir}, &serve.Options{Reload: -1, Store: store.Options{Trusted: true, Opener: opener, CacheBytes: -1}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := opener.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.URL
}

// fetch reads a chunk from the working server.
func fetch(t *testing.T, dir string, opener *source.Opener) string {
	t.Helper()
	code, body := get(t, serveRemote(t, dir, opener)+"/t2m/c/0/0/0")
	if code != 200 || body == "" {
		t.Fatalf("%d %s", code, body)
	}
	return body
}

func get(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// TestFaultTable checks that the table of faults in docs/reference/http.md names existing tests and is complete, and
// that each of these tests checks for leaks.
func TestFaultTable(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/http.md")
	if err != nil {
		t.Fatal(err)
	}
	code := testCode(t)
	_, table, _ := strings.Cut(string(text), "\n## Faults\n")
	listed := map[string]bool{}
	for line := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || !strings.Contains(cells[2], "Test") {
			continue
		}
		listed[strings.TrimPrefix(cells[0], "| ")] = true
		test := strings.Trim(strings.TrimSuffix(strings.TrimSpace(cells[2]), "|"), " `")
		function, sub, _ := strings.Cut(test, "/")
		_, body, found := strings.Cut(code, "\nfunc "+function+"(t *testing.T) {\n")
		body, _, _ = strings.Cut(body, "\n}\n")
		if !found || sub != "" && !strings.Contains(body, `"`+sub+`"`) {
			t.Errorf("the test %s does not exist", test)
		}
		if !strings.Contains(strings.ToLower(body), "leavesnothing(t)") {
			t.Errorf("%s does not check for leaks", function)
		}
	}
	for _, fault := range []string{"source deleted", "source truncated", "source replaced by one of the same size", "permission lost",
		"remote server hangs half-way", "bursts of 5xx", "wrong answer to Range", "slow client", "client goes away", "10,000 connections", "full disk"} {
		if !listed[fault] {
			t.Errorf("docs/reference/http.md does not describe: %s", fault)
		}
	}
}

// testCode returns the source of all tests in this folder.
func testCode(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(data)
	}
	return code.String()
}
