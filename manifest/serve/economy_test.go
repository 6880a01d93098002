package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/manifest/ingest"
	"varve/manifest/serve"
	"varve/manifest/store"
	"varve/readers/source"
)

// counted is a ResponseWriter that counts the bytes sent.
type counted struct {
	http.ResponseWriter
	sent *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.sent.Add(int64(len(p)))
	return c.ResponseWriter.Write(p)
}

// farDemo serves the demo's first and third month from a slow server that counts requests and bytes.
func farDemo(t *testing.T, opts store.Options) (address string, requests, sent *atomic.Int64) {
	t.Helper()
	requests, sent = &atomic.Int64{}, &atomic.Int64{}
	data, err := filepath.Abs(demo)
	if err != nil {
		t.Fatal(err)
	}
	files := http.FileServer(http.Dir(data))
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		time.Sleep(20 * time.Millisecond)
		files.ServeHTTP(counted{w, sent}, r)
	}))
	t.Cleanup(remote.Close)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	dir := filepath.Join(t.TempDir(), "far.varve")
	var names []string
	for _, name := range months(t) {
		names = append(names, remote.URL+"/"+filepath.Base(name))
	}
	if _, err := ingest.Build(t.Context(), dir, &ingest.Options{Sources: ingest.Sources{Names: names}, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	read := source.DefaultOptions()
	read.HeadBytes = 1 // otherwise files as small as these are read completely
	opts.Trusted, opts.Opener = true, source.NewOpener(&read)
	h, err := serve.New(t.Context(), []string{dir}, &serve.Options{Reload: -1, Store: opts})
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
	return s.URL, requests, sent
}

// asked returns the answer to a request; headers alternates names and values.
func asked(t *testing.T, method, address string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	w := httptest.NewRecorder()
	w.Code = resp.StatusCode
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	if _, err := w.Body.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestRemoteRange checks that only the requested part of a remote chunk is downloaded.
func TestRemoteRange(t *testing.T) {
	address, _, sent := farDemo(t, store.Options{CacheBytes: -1})
	const key = "/t2m/c/0/0/0"
	whole := asked(t, "GET", address+key)
	if whole.Code != 200 || whole.Body.Len() < 200 {
		t.Fatal(whole.Code, whole.Body)
	}
	etag := whole.Header().Get("ETag")
	for _, c := range []struct {
		ranges, etag string
		from, to     int
		cost         int64
	}{
		{"bytes=10-19", "", 10, 20, 10},
		{"bytes=-7", "", whole.Body.Len() - 7, whole.Body.Len(), 7},
		{"bytes=100-", etag, 100, whole.Body.Len(), int64(whole.Body.Len()) - 100},
		{"bytes=10-19", `"another"`, 0, whole.Body.Len(), int64(whole.Body.Len())},
		{"bytes=0-3,8-9", "", 0, whole.Body.Len(), int64(whole.Body.Len())},
	} {
		before := sent.Load()
		headers := []string{"Range", c.ranges}
		if c.etag != "" {
			headers = append(headers, "If-Range", c.etag)
		}
		got := asked(t, "GET", address+key, headers...)
		if want := whole.Body.String()[c.from:c.to]; got.Body.String() != want || got.Header().Get("ETag") != etag {
			t.Errorf("%s: %d, %d bytes, want %d", c.ranges, got.Code, got.Body.Len(), len(want))
		}
		if cost := sent.Load() - before; cost != c.cost {
			t.Errorf("%s: the remote server sent %d bytes, want %d", c.ranges, cost, c.cost)
		}
	}
	before := sent.Load()
	if got := asked(t, "GET", address+key, "Range", "bytes=99999-"); got.Code != 416 || got.Header().Get("Content-Range") != fmt.Sprintf("bytes */%d", whole.Body.Len()) {
		t.Errorf("after the end: %d %v", got.Code, got.Header())
	}
	if got := asked(t, "GET", address+key, "If-None-Match", etag); got.Code != 304 {
		t.Errorf("with its tag: %d", got.Code)
	}
	if sent.Load() != before {
		t.Errorf("the remote server sent %d bytes for requests that need none", sent.Load()-before)
	}
	if got := asked(t, "HEAD", address+key); got.Code != 200 || got.Header().Get("Content-Length") != fmt.Sprint(whole.Body.Len()) {
		t.Errorf("HEAD: %d %v", got.Code, got.Header())
	}
	if cost := sent.Load() - before; cost > 1 {
		t.Errorf("the remote server sent %d bytes for HEAD", cost)
	}
}

// TestBursts checks that many concurrent requests for a chunk cause as many requests to the remote server as a
// single one, for stored, re-encoded and re-chunked chunks, and that repeating a request causes none.
func TestBursts(t *testing.T) {
	for _, key := range []string{"/t2m/c/0/0/0", "/t2m/c/2/0/0", "/regular/t2m/c/0/0/0"} {
		t.Run(strings.ReplaceAll(key, "/", " "), func(t *testing.T) {
			lone, requests, _ := farDemo(t, store.Options{})
			before := requests.Load()
			want := asked(t, "GET", lone+key)
			if want.Code != 200 {
				t.Fatal(want.Code, want.Body)
			}
			cost := requests.Load() - before
			address, requests, _ := farDemo(t, store.Options{})
			before = requests.Load()
			var wg sync.WaitGroup
			for range 40 {
				wg.Go(func() {
					if got := asked(t, "GET", address+key); got.Code != 200 || got.Body.String() != want.Body.String() {
						t.Errorf("%d, %d bytes, want %d", got.Code, got.Body.Len(), want.Body.Len())
					}
				})
			}
			wg.Wait()
			if n := requests.Load() - before; n != cost || cost == 0 {
				t.Errorf("%d requests to the remote server for 40 concurrent requests, %d for one", n, cost)
			}
			if got := asked(t, "GET", address+key, "Range", "bytes=3-5"); got.Body.String() != want.Body.String()[3:6] {
				t.Errorf("a part of a cached chunk: %d %q", got.Code, got.Body)
			}
			if n := requests.Load() - before; n != cost {
				t.Errorf("%d requests to the remote server after repeating the request, want %d", n, cost)
			}
		})
	}
}
