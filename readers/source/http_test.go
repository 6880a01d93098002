package source_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

// recorder is a server that records the headers of requests.
type recorder struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
}

func record(t *testing.T, h http.Handler, start func(*httptest.Server)) *recorder {
	r := &recorder{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.headers = append(r.headers, req.Header.Clone())
		r.mu.Unlock()
		h.ServeHTTP(w, req)
	}))
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(r.Server)
	t.Cleanup(r.Close)
	return r
}

// count returns the number of requests so far.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.headers)
}

func files(t *testing.T) *sourcetest.Server {
	s := sourcetest.NewServer(t)
	s.Put("/file", faultContent())
	return s
}

func mustOpen(t *testing.T, opts source.Options, name string) *source.Source {
	t.Helper()
	opener := source.NewOpener(&opts)
	s, err := opener.Open(context.Background(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(s.Close(), opener.Close()) })
	return s
}

func mustRead(t *testing.T, s *source.Source, off int64) {
	t.Helper()
	got := make([]byte, 1000)
	if _, err := s.ReadAt(context.Background(), got, off); err != nil || string(got) != string(faultContent()[off:off+1000]) {
		t.Fatalf("wrong bytes, error %v", err)
	}
}

// TestSecrets checks that headers and passwords for one host are not sent to another.
func TestSecrets(t *testing.T) {
	other := record(t, files(t), (*httptest.Server).Start)
	first := record(t, http.RedirectHandler(other.URL+"/file", http.StatusFound), (*httptest.Server).Start)
	name := strings.Replace(first.URL, "http://", "http://ada:secret@", 1) + "/file?signature=hidden"
	s := mustOpen(t, source.Options{Header: map[string][]string{"x-api-key": {"hidden"}, "Cookie": {"hidden"}}}, name)
	mustRead(t, s, 600<<10)
	if first.count() != 1 || other.count() != 2 {
		t.Errorf("%d and %d requests, want 1 and 2: the target of a redirect must be remembered", first.count(), other.count())
	}
	sent := first.headers[0]
	if user := (&http.Request{Header: sent}); sent.Get("X-Api-Key") != "hidden" || sent.Get("Cookie") != "hidden" {
		t.Errorf("headers did not reach their own host: %v", sent)
	} else if name, password, ok := user.BasicAuth(); !ok || name != "ada" || password != "secret" {
		t.Errorf("user %q, password %q", name, password)
	}
	for _, h := range other.headers {
		for key, values := range h {
			if text := strings.Join(values, " "); strings.Contains(text, "hidden") || key == "Authorization" {
				t.Errorf("another host received %s: %s", key, text)
			}
		}
	}
	if strings.Contains(s.Name(), "secret") {
		t.Errorf("Name contains the password: %s", s.Name())
	}
	first.CloseClientConnections()
	if _, err := source.Open(context.Background(), "http://ada:secret@127.0.0.1:1/file"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error is missing or contains the password: %v", err)
	}
	for _, bad := range []string{"http://ada:secret@host:port/", "http://ada:secret@host/%zz", "http://ada:secret@/x", "http://ada:secret@host/a#b"} {
		if _, err := source.Open(context.Background(), bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("error is missing or contains the password: %v", err)
		}
	}
}

// TestExpiredRedirect checks that an expired target of a redirect is replaced by a request to the first address.
func TestExpiredRedirect(t *testing.T) {
	server := files(t)
	server.Put("/signed-2", faultContent())
	signed := "/file"
	first := record(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, server.URL+signed, http.StatusTemporaryRedirect)
	}), (*httptest.Server).Start)
	server.NoETag = true
	s := mustOpen(t, source.Options{}, first.URL+"/file")
	signed = "/moved"
	server.Put(signed, faultContent())
	server.Remove("/file")
	_, err := s.ReadAt(context.Background(), make([]byte, 1000), 600<<10)
	if !errors.Is(err, source.ErrChanged) { // because the file was stored later
		t.Errorf("got %v, want ErrChanged for the new address", err)
	}
	if first.count() != 2 {
		t.Errorf("%d requests to the first address, want 2", first.count())
	}
}

func TestTLS(t *testing.T) {
	plain := files(t)
	secure := record(t, plain, (*httptest.Server).StartTLS)
	down := record(t, http.RedirectHandler(plain.URL+"/file", http.StatusFound), (*httptest.Server).StartTLS)
	s := mustOpen(t, source.Options{Transport: secure.Client().Transport}, secure.URL+"/file")
	mustRead(t, s, 600<<10)
	opener := source.NewOpener(&source.Options{Transport: down.Client().Transport})
	if _, err := opener.Open(context.Background(), down.URL+"/file"); err == nil || !strings.Contains(err.Error(), "https") {
		t.Errorf("a redirect from https to http: got %v", err)
	}
	before := time.Now()
	if _, err := source.Open(context.Background(), secure.URL+"/file"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: got %v", err)
	}
	if secure.count() > 2 || time.Since(before) > time.Minute {
		t.Error("an unknown certificate was tried again")
	}
}

// TestConditions checks the headers of conditional requests.
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name, etag, modified, header, want string
	}{
		{"strong ETag", `"abc"`, "Wed, 01 Jan 2020 00:00:01 GMT", "If-Match", `"abc"`},
		{"weak ETag", `W/"abc"`, "Wed, 01 Jan 2020 00:00:01 GMT", "If-Unmodified-Since", "Wed, 01 Jan 2020 00:00:01 GMT"},
		{"weak ETag is no If-Match", `W/"abc"`, "", "If-Match", ""},
		{"ETag with a space", `"a b"`, "", "If-Match", ""},
		{"ETag without quotes", `abc`, "Wed, 01 Jan 2020 00:00:01 GMT", "If-Unmodified-Since", "Wed, 01 Jan 2020 00:00:01 GMT"},
		{"neither", "", "", "If-Unmodified-Since", ""},
		{"a word in place of a time", "", "yesterday", "If-Unmodified-Since", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := record(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				set := func(key, value string) {
					if value != "" {
						w.Header().Set(key, value)
					}
				}
				set("ETag", c.etag)
				set("Last-Modified", c.modified)
				first, last := requested(r)
				if last == 256<<10-1 {
					partial("bytes 0-262143/1048576", "ETag", c.etag, "Last-Modified", c.modified)(0, shortened{w, 256 << 10}, r)
					return
				}
				w.Header().Set("Content-Range", "bytes 614400-614499/1048576")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(faultContent()[first : last+1])
			}), (*httptest.Server).Start)
			s := mustOpen(t, quick, server.URL+"/file")
			if _, err := s.ReadAt(context.Background(), make([]byte, 100), 600<<10); err != nil {
				t.Fatal(err)
			}
			for _, h := range server.headers {
				if h.Get("Accept-Encoding") != "identity" || h.Get("User-Agent") != "varve" {
					t.Errorf("headers are %v", h)
				}
			}
			if first := server.headers[0]; first.Get("If-Match")+first.Get("If-Unmodified-Since") != "" {
				t.Errorf("the first request has conditions: %v", first)
			}
			if got := server.headers[1].Get(c.header); got != c.want {
				t.Errorf("%s: got %q, want %q", c.header, got, c.want)
			}
		})
	}
}

// shortened answers with n zeros instead of the written body.
type shortened struct {
	http.ResponseWriter
	n int
}

func (s shortened) Write([]byte) (int, error) { return s.ResponseWriter.Write(make([]byte, s.n)) }

// TestCancelAtOnce cancels active requests, pauses between requests and waits for a free slot.
func TestCancelAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		fault fault
		opts  source.Options
	}{
		"waiting for an answer": {raw(silence), source.Options{}},
		"in the body":           {raw(both(begin(1<<10), silence)), source.Options{}},
		"pausing":               {always(503, "Retry-After", "50"), source.Options{}},
		"waiting for a slot":    {raw(silence), source.Options{Parallel: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newFaulty(t, c.fault)
			s := mustOpen(t, c.opts, server.URL+"/file")
			server.armed.Store(true)
			for how, read := range map[string]func(context.Context) error{
				"ReadAt": func(ctx context.Context) error {
					_, err := s.ReadAt(ctx, make([]byte, 64<<10), 600<<10)
					return err
				},
				"View": func(ctx context.Context) error {
					_, err := s.View(ctx, 600<<10, 100)
					return err
				},
				"ReadRanges": func(ctx context.Context) error {
					ranges := []source.Range{{Offset: 300 << 10, Length: 64 << 10}, {Offset: 900 << 10, Length: 64 << 10}}
					return s.ReadRanges(ctx, ranges, make([][]byte, 2))
				},
			} {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(50*time.Millisecond, cancel)
				began := time.Now()
				if err := read(ctx); !errors.Is(err, context.Canceled) || time.Since(began) > time.Minute {
					t.Errorf("%s: got %v after %s", how, err, time.Since(began))
				}
			}
		})
	}
}

func TestCloseEndsRequests(t *testing.T) {
	server := newFaulty(t, raw(silence))
	s := mustOpen(t, source.Options{}, server.URL+"/file")
	server.armed.Store(true)
	time.AfterFunc(50*time.Millisecond, func() { _ = s.Close() })
	if _, err := s.ReadAt(context.Background(), make([]byte, 100), 600<<10); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v, want fs.ErrClosed", err)
	}
}

func TestPatience(t *testing.T) {
	server := newFaulty(t, raw(silence))
	s := mustOpen(t, source.Options{Stall: 30 * time.Millisecond, Patience: 80 * time.Millisecond, Attempts: 1000, Backoff: 1}, server.URL+"/file")
	server.armed.Store(true)
	began := time.Now()
	_, err := s.ReadAt(context.Background(), make([]byte, 100), 600<<10)
	if err == nil || errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Minute {
		t.Errorf("got %v after %s", err, time.Since(began))
	}
}

// TestParallel checks the limit of concurrent requests of a source.
func TestParallel(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	server := files(t)
	counted := record(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond)
		server.ServeHTTP(w, r)
		mu.Lock()
		now--
		mu.Unlock()
	}), (*httptest.Server).Start)
	s := mustOpen(t, source.Options{Parallel: 3, GapBytes: 1}, counted.URL+"/file")
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var ranges []source.Range
			for i := range int64(16) {
				ranges = append(ranges, source.Range{Offset: 300<<10 + i*40<<10, Length: 1000})
			}
			if err := s.ReadRanges(context.Background(), ranges, make([][]byte, len(ranges))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 3 {
		t.Errorf("%d requests at a time, want 3", most)
	}
}

func TestOpenVersion(t *testing.T) {
	server := files(t)
	opener := source.NewOpener(nil)
	defer opener.Close()
	ctx := context.Background()
	noted := mustOpen(t, source.Options{}, server.URL+"/file").Identity()
	before, _ := server.Counts()
	s, err := opener.OpenVersion(ctx, server.URL+"/file", noted)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if now, _ := server.Counts(); now != before {
		t.Errorf("opening a known version took %d requests", now-before)
	}
	mustRead(t, s, 600<<10)
	server.Put("/file", faultContent())
	if _, err := s.ReadAt(ctx, make([]byte, 100), 0); !errors.Is(err, source.ErrChanged) {
		t.Errorf("after a change: got %v", err)
	}
	other := source.NewOpener(&source.Options{Download: true})
	defer other.Close()
	if _, err := other.OpenVersion(ctx, server.URL+"/file", noted); !errors.Is(err, source.ErrChanged) {
		t.Errorf("with Download, after a change: got %v", err)
	}
}
