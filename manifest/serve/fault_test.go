package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"varve/codec"
	"varve/fixtures/system"
	"varve/manifest"
	"varve/readers/source"
)

// TestSourceFaults changes local sources while they are served, and checks the answer for a chunk that was served
// before. The store reads small chunks; sendfile sends large ones.
func TestSourceFaults(t *testing.T) {
	replace := func(name string) error {
		other := name + ".new"
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		return errors.Join(os.WriteFile(other, data, 0o666), os.Rename(other, name))
	}
	rewrite := func(name string) error {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(name, data, 0o666)
	}
	cases := []struct {
		name  string
		hurt  func(name string) error
		after int
	}{
		{"deleted", os.Remove, 409},
		{"truncated", func(name string) error { return os.Truncate(name, 100) }, 409},
		{"emptied", func(name string) error { return os.Truncate(name, 0) }, 409},
		{"replaced, same size", replace, 409},
		{"written to", rewrite, 409},
		{"replaced by a folder", func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o777)) }, 409},
		{"replaced by a pipe", func(name string) error { return errors.Join(os.Remove(name), system.MakePipe(name)) }, 409},
	}
	for _, c := range cases {
		for _, key := range []string{"/big/c/0/0", "/small/c/0/0"} {
			t.Run(c.name+key[:4], func(t *testing.T) {
				leavesNothing(t)
				d := newFake(t)
				s := start(t, newHandler(t, d))
				good := ask(t, "GET", s.URL+key)
				if good.status != 200 {
					t.Fatal(good)
				}
				if again := ask(t, "GET", s.URL+key); again.body != good.body { // from the open file
					t.Fatal(again)
				}
				row := d.arrays[map[bool]int{true: 0, false: 1}[strings.HasPrefix(key, "/big")]].(*fakeArray).source
				time.Sleep(5 * time.Millisecond) // longer than the resolution of file times
				if err := c.hurt(d.sources[row].URL); errors.Is(err, errors.ErrUnsupported) {
					t.Skip(err)
				} else if err != nil {
					t.Fatal(err)
				}
				got := ask(t, "GET", s.URL+key)
				if got.status != c.after {
					t.Fatalf("%d %s, want %d", got.status, got.body, c.after)
				}
				checkReason(t, got, "source ü.bin")
				if got := ask(t, "GET", s.URL+key, "If-None-Match", good.header.Get("ETag")); got.status != 304 {
					t.Errorf("a request with the entity tag of the client's copy: got %d, want 304", got.status)
				}
			})
		}
	}
}

func checkReason(t *testing.T, got answer, names string) {
	t.Helper()
	var reason struct {
		Status        int
		Error, Reason string
	}
	if err := json.Unmarshal([]byte(got.body), &reason); err != nil {
		t.Fatalf("%q: %v", got.body, err)
	}
	if reason.Status != got.status || reason.Error == "" || !strings.Contains(reason.Reason, names) {
		t.Errorf("the reason is %+v", reason)
	}
	if got.header.Get("ETag") != "" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a fault may be cached: %v", got.header)
	}
}

// TestFaults checks the status of each error of the store, and that none is 404.
func TestFaults(t *testing.T) {
	leavesNothing(t)
	wrap := func(err error) error { return fmt.Errorf("s3://bucket/x.nc: %w", err) }
	cases := []struct {
		name string
		err  error
		want int
	}{
		{"changed", wrap(source.ErrChanged), 409},
		{"gone", wrap(fs.ErrNotExist), 409},
		{"forbidden", wrap(source.ErrForbidden), 403},
		{"no permission", wrap(fs.ErrPermission), 403},
		{"refused", wrap(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), 502},
		{"bad address", wrap(&url.Error{Op: "Get", URL: "x", Err: io.ErrUnexpectedEOF}), 502},
		{"server's answer", wrap(errors.New("the server answered 503")), 502},
		{"cut off", wrap(io.ErrUnexpectedEOF), 502},
		{"timeout", wrap(context.DeadlineExceeded), 504},
		{"corrupt", wrap(codec.ErrCorrupt), 500},
		{"manifest", wrap(&manifest.DamageError{Name: "tables/x", Damage: manifest.FileMissing}), 500},
		{"disk", wrap(&fs.PathError{Op: "read", Path: "x", Err: syscall.EIO}), 500},
		{"full disk", wrap(&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), 500},
		{"unsupported", wrap(errors.ErrUnsupported), 501},
		{"closed", wrap(fs.ErrClosed), 503},
	}
	d := newFake(t)
	s := start(t, newHandler(t, d))
	for _, c := range cases {
		d.fail(c.err)
		for _, key := range []string{"/small/c/0/0", "/small/c/1/0", "/regular/rect/c/0/0", "/v2/small/1.0"} {
			got := ask(t, "GET", s.URL+key)
			if got.status != c.want {
				t.Errorf("%s, %s: %d, want %d", c.name, key, got.status, c.want)
			}
			if c.want != 503 {
				checkReason(t, got, "x.nc")
			}
			if head := ask(t, "HEAD", s.URL+key); head.status != c.want || head.body != "" {
				t.Errorf("%s, HEAD %s: %d", c.name, key, head.status)
			}
		}
	}
	d.fail(nil)
	if got := ask(t, "GET", s.URL+"/small/c/1/0"); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// TestHugeFill checks that a huge chunk of fill values is rejected before it is allocated.
func TestHugeFill(t *testing.T) {
	d := newFake(t)
	d.add(t, "/huge", regularDoc("[2,3]", "[288230376151711744,3]"), func(int64) manifest.ChunkKind { return manifest.Missing })
	s := start(t, newHandler(t, d))
	got := ask(t, "GET", s.URL+"/v2/huge/0.0")
	if got.status != 501 {
		t.Errorf("%d %s", got.status, got.body)
	}
	checkReason(t, got, "more than 4 GiB")
}

// TestCutOffWhileSending checks that a client never mistakes a file that changes during sending for complete.
func TestCutOffWhileSending(t *testing.T) {
	hurts := map[string]func(f *os.File) error{
		"truncated": func(f *os.File) error { return f.Truncate(1 << 20) },
		"written":   func(f *os.File) error { _, err := f.WriteAt([]byte("x"), 5); return err },
	}
	for name, hurt := range hurts {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t)
			const size = 64 << 20
			f, err := os.Create(filepath.Join(t.TempDir(), "large"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := f.Truncate(size); err != nil {
				t.Fatal(err)
			}
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			src := manifest.Source{URL: f.Name(), Size: size, Modified: info.ModTime()}
			o := newOrigin(&fakeData{sources: []manifest.Source{src}}, 0, src)
			defer o.close()
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/octet-stream")
				if done, err := o.serveFile(&recorder{ResponseWriter: w, limit: time.Minute}, r, &manifest.Location{Size: size}); !done || err != nil {
					t.Errorf("serveFile: %v, %v", done, err)
				}
			}))
			s.Config.ErrorLog = nil
			resp, err := http.Get(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadFull(resp.Body, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
			if err := hurt(f); err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, resp.Body)
			if err == nil {
				t.Errorf("the client got %d bytes without an error, want an incomplete answer", n+1000)
			}
		})
	}
}

// TestFullDisk checks that requests succeed if the log cannot be written.
func TestFullDisk(t *testing.T) {
	leavesNothing(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("needs /dev/full")
	}
	defer full.Close()
	if _, err := full.WriteString("x"); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("writing to /dev/full: %v", err)
	}
	d := newFake(t)
	t.Setenv("TMPDIR", "/dev/full/nothing")
	log := slog.New(slog.NewJSONHandler(full, nil))
	h, err := New(t.Context(), []string{"a"}, &Options{open: fakeOpen(d), Reload: -1, Log: log, Access: log})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	s := start(t, h)
	for _, key := range []string{"/zarr.json", "/big/c/0/0", "/small/c/0/0", "/small/c/1/0", "/regular/rect/c/0/0", "/v2/small/0.0", "/big?as=png"} {
		if got := ask(t, "GET", s.URL+key); got.status != 200 || got.body == "" {
			t.Errorf("%s: %d %.200s", key, got.status, got.body)
		}
	}
}

// TestClientsThatLeave checks that reads stop when their client disconnects.
func TestClientsThatLeave(t *testing.T) {
	leavesNothing(t)
	d := newFake(t)
	stuck := &stuckArray{array: d.arrays[1], began: make(chan struct{}), ended: make(chan error, 1)}
	d.arrays[1] = stuck
	s := start(t, newHandler(t, d))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", s.URL+"/small/c/1/0", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-stuck.began
		cancel()
	}()
	if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	select {
	case err := <-stuck.ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the read ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the read did not end")
	}
}

// stuckArray blocks reads until their context is done or it is released.
type stuckArray struct {
	array
	began chan struct{}
	ended chan error
	free  chan struct{}
}

func (a *stuckArray) Chunk(ctx context.Context, coords []int64) ([]byte, error) {
	close(a.began)
	select {
	case <-ctx.Done():
		a.ended <- ctx.Err()
		return nil, ctx.Err()
	case <-a.free:
		return a.array.Chunk(ctx, coords)
	}
}

// TestBusy checks that a request that waits too long gets 503 with Retry-After.
func TestBusy(t *testing.T) {
	leavesNothing(t)
	d := newFake(t)
	stuck := &stuckArray{array: d.arrays[1], began: make(chan struct{}), ended: make(chan error, 1), free: make(chan struct{})}
	d.arrays[1] = stuck
	opts := &Options{Reencodes: 1, Patience: 10 * time.Millisecond, open: fakeOpen(d)}
	s := start(t, newHandlerOf(t, opts, "a"))
	first := make(chan int)
	go func() {
		resp, err := http.Get(s.URL + "/small/c/1/0")
		if err != nil {
			first <- 0
			return
		}
		resp.Body.Close()
		first <- resp.StatusCode
	}()
	<-stuck.began
	if got := ask(t, "GET", s.URL+"/rect/c/1/0"); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := ask(t, "GET", s.URL+"/big/c/0/0"); got.status != 200 {
		t.Errorf("a verbatim chunk waits too: %d", got.status)
	}
	close(stuck.free)
	if status := <-first; status != 200 {
		t.Errorf("the first got %d", status)
	}
	if got := ask(t, "GET", s.URL+"/rect/c/1/0"); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// slowWriter is a client that receives only the header until it is released.
type slowWriter struct {
	*httptest.ResponseRecorder
	began, free chan struct{}
}

func newSlowWriter() *slowWriter {
	return &slowWriter{httptest.NewRecorder(), make(chan struct{}, 1), make(chan struct{})}
}

func (w *slowWriter) Write(p []byte) (int, error) {
	select {
	case w.began <- struct{}{}:
	default:
	}
	<-w.free
	return w.ResponseRecorder.Write(p)
}

// TestSlowClientsKeepNoTurns checks that a client that receives a chunk slowly occupies memory but does not
// block re-encoding for others while memory is left. Data sent by sendfile takes no memory.
func TestSlowClientsKeepNoTurns(t *testing.T) {
	leavesNothing(t)
	d := newFake(t)
	const slow, other, sent = "/small/c/1/0", "/rect/c/1/0", "/big/c/0/0"
	size := int64(len(answerOf(t, newHandlerOf(t, &Options{open: fakeOpen(d)}, "a"), slow)))
	for _, c := range []struct {
		bytes int64
		code  int
	}{{1 << 20, 200}, {size, 503}} {
		h := newHandlerOf(t, &Options{Reencodes: 1, AnswerBytes: c.bytes, Patience: 10 * time.Millisecond, open: fakeOpen(d)}, "a")
		w := newSlowWriter()
		var done sync.WaitGroup
		done.Go(func() { h.ServeHTTP(w, httptest.NewRequest("GET", slow, nil)) })
		<-w.began
		for key, want := range map[string]int{other: c.code, sent: 200} {
			got := httptest.NewRecorder()
			if h.ServeHTTP(got, httptest.NewRequest("GET", key, nil)); got.Code != want {
				t.Errorf("%s, with memory of %d: %d %s", key, c.bytes, got.Code, got.Body)
			}
		}
		close(w.free)
		done.Wait()
		if w.Code != 200 || int64(w.Body.Len()) != size {
			t.Errorf("the first got %d, %d bytes", w.Code, w.Body.Len())
		}
		answerOf(t, h, other)
	}
}

func answerOf(t *testing.T, h *Handler, key string) []byte {
	t.Helper()
	got := httptest.NewRecorder()
	if h.ServeHTTP(got, httptest.NewRequest("GET", key, nil)); got.Code != 200 {
		t.Fatalf("%s: %d %s", key, got.Code, got.Body)
	}
	return got.Body.Bytes()
}

func FuzzRequest(f *testing.F) {
	d := newFake(f)
	h := newHandler(f, d)
	f.Add("/big/c/0/0", "bytes=0-5", `"x"`, "gzip")
	f.Add("/v2/big/0.0", "bytes=-5", "", "")
	f.Add("/g%20h/%C3%BC%20%23%2541:x%3F%26/c/0/0", "", "*", "gzip;q=")
	f.Add("/regular/rect/c/0/0?plot=png", "bytes=1-", "", "")
	f.Fuzz(func(t *testing.T, target, ranges, tag, encoding string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = u
		r.Header.Set("Range", ranges)
		r.Header.Set("If-None-Match", tag)
		r.Header.Set("Accept-Encoding", encoding)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%q: %d %s", target, w.Code, w.Body)
		}
		if n := w.Header().Get("Content-Length"); n != "" && n != fmt.Sprint(w.Body.Len()) && w.Code != 304 {
			t.Errorf("%q: %s bytes promised, %d sent", target, n, w.Body.Len())
		}
	})
}

// TestTooManyOpenFiles checks that the server recovers after the process had too many open files.
func TestTooManyOpenFiles(t *testing.T) {
	leavesNothing(t)
	d := newFake(t)
	s := start(t, newHandler(t, d))
	d.fail(&fs.PathError{Op: "open", Path: "/data/a.nc", Err: syscall.EMFILE})
	if got := ask(t, "GET", s.URL+"/small/c/1/0"); got.status != 503 || got.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", got.status, got.header)
	}
	d.fail(nil)
	if got := ask(t, "GET", s.URL+"/small/c/1/0"); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}
