package source_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

// fault replaces the answer of a server. It gets the number of the request, which counts from 1, and reports
// whether it answered. If it did not, the server sends the file.
type fault func(n int, w http.ResponseWriter, r *http.Request) bool

const (
	faultSize   = 1 << 20
	faultOffset = 600 << 10
	faultLength = 100 << 10
)

// always returns a fault that answers with a status and headers, which are given as name, value, name, value, …
func always(status int, headers ...string) fault {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		return true
	}
}

// once returns a fault that occurs only at the first request.
func once(f fault) fault {
	return func(n int, w http.ResponseWriter, r *http.Request) bool { return n == 1 && f(n, w, r) }
}

// partial returns a fault that answers with status 206, a Content-Range and the requested bytes.
func partial(contentRange string, headers ...string) fault {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("ETag", `"version-1"`)
		w.Header().Set("Last-Modified", "Wed, 01 Jan 2020 00:00:01 GMT")
		if contentRange != "" {
			w.Header().Set("Content-Range", contentRange)
		}
		for i := 0; i < len(headers); i += 2 {
			w.Header().Del(headers[i])
			if headers[i+1] != "" {
				w.Header().Set(headers[i], headers[i+1])
			}
		}
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(faultContent()[faultOffset : faultOffset+faultLength])
		return true
	}
}

// right returns the Content-Range that matches the request.
func right() string {
	return fmt.Sprintf("bytes %d-%d/%d", faultOffset, faultOffset+faultLength-1, faultSize)
}

// raw returns a fault that writes to the connection directly.
func raw(talk func(c net.Conn, r *http.Request)) fault {
	return func(_ int, w http.ResponseWriter, r *http.Request) bool {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		talk(c, r)
		_ = c.Close()
		return true
	}
}

func reset(c net.Conn, _ *http.Request) { _ = c.(*net.TCPConn).SetLinger(0) }

// begin returns a function that sends the head of a correct answer, and the first n bytes of its body.
func begin(n int) func(net.Conn, *http.Request) {
	return func(c net.Conn, r *http.Request) {
		first, last := requested(r)
		fmt.Fprintf(c, "HTTP/1.1 206 Partial Content\r\nETag: \"version-1\"\r\nContent-Range: bytes %d-%d/%d\r\nContent-Length: %d\r\n\r\n",
			first, last, faultSize, last-first+1)
		_, _ = c.Write(faultContent()[first : first+n])
	}
}

// requested returns the range that a request asks for.
func requested(r *http.Request) (first, last int) {
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); err != nil {
		panic(err)
	}
	return first, last
}

// silence sends nothing until the client closes the connection.
func silence(c net.Conn, _ *http.Request) { _, _ = io.Copy(io.Discard, c) }

// drip sends one byte at a time, without end.
func drip(c net.Conn, r *http.Request) {
	begin(0)(c, r)
	for i, _ := requested(r); ; i++ {
		if _, err := c.Write(faultContent()[i%faultSize:][:1]); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// both returns a function that sends the output of one and then of other.
func both(one, other func(net.Conn, *http.Request)) func(net.Conn, *http.Request) {
	return func(c net.Conn, r *http.Request) {
		one(c, r)
		other(c, r)
	}
}

func say(text string) func(net.Conn, *http.Request) {
	return func(c net.Conn, _ *http.Request) { fmt.Fprint(c, text) }
}

var cachedContent = sourcetest.Content(faultSize, 11)

func faultContent() []byte { return cachedContent }

// readingFaults occur while an open source is read.
var readingFaults = []struct {
	name     string
	fault    fault
	want     string
	requests int // maximum
}{
	{"answers 408, 429, 500, 502, 503 or 504 once", once(always(503)), "the bytes", 2},
	{"answers 429 with Retry-After: 0", once(always(429, "Retry-After", "0")), "the bytes", 2},
	{"answers 503 and asks to wait until a time that has passed", once(always(503, "Retry-After", "Wed, 01 Jan 2020 00:00:00 GMT")), "the bytes", 2},
	{"answers 503 and asks to wait an hour", always(503, "Retry-After", "3600"), "error", 1},
	{"answers 503 again and again", always(503), "error", 5},
	{"answers 400 or another 4xx", always(400), "error", 1},
	{"answers 401 or 403", always(403), "fs.ErrPermission", 1},
	{"answers 404 or 410", always(404), "fs.ErrNotExist", 1},
	{"answers 412", always(412), "ErrChanged", 1},
	{"answers 416 with another size", always(416, "Content-Range", "bytes */1000"), "ErrChanged", 1},
	{"answers 416 with the same size", always(416, "Content-Range", "bytes */1048576"), "error", 1},
	{"answers 304 or another 3xx without a Location", always(304), "error", 1},
	{"answers 204", always(204), "error", 1},
	{"resets the connection once", once(raw(reset)), "the bytes", 2},
	{"resets the connection again and again", raw(reset), "error", 6},
	{"closes the connection before it answers", once(raw(say(""))), "the bytes", 2},
	{"breaks off in the middle of the body", once(raw(begin(50 << 10))), "the bytes", 2},
	{"breaks off after each 25 KiB", raw(begin(25 << 10)), "the bytes", 5},
	{"breaks off after each KiB", raw(begin(1 << 10)), "error", 5},
	{"says nothing", once(raw(silence)), "the bytes", 2},
	{"stops in the middle of the headers", once(raw(both(say("HTTP/1.1 206 Partial"), silence))), "the bytes", 2},
	{"stops in the middle of the body", once(raw(both(begin(50<<10), silence))), "the bytes", 2},
	{"sends a byte now and then", raw(drip), "error", 5},
	{"sends headers of more than 256 KiB", always(206, "X-Long", strings.Repeat("x", 300<<10)), "error", 5},
	{"does not speak HTTP", raw(say("220 ready\r\n")), "error", 5},
	{"sends another ETag", partial(right(), "ETag", `"version-2"`), "ErrChanged", 1},
	{"sends no ETag any more", partial(right(), "ETag", ""), "ErrChanged", 1},
	{"sends another size in Content-Range", partial("bytes 614400-716799/1048577"), "ErrChanged", 1},
	{"sends no Content-Range", partial(""), "error", 1},
	{"sends another range than asked for", partial("bytes 0-102399/1048576"), "error", 1},
	{"sends less of a range than asked for", partial("bytes 614400-700000/1048576"), "error", 1},
	{"sends a Content-Range without a size", partial("bytes 614400-716799/*"), "errors.ErrUnsupported", 1},
	{"sends an invalid Content-Range", partial("bytes 716799-614400/1048576"), "error", 1},
	{"sends a Content-Range with signs", partial("bytes +614400-716799/1048576"), "error", 1},
	{"sends a Content-Range of other units", partial("rows 614400-716799/1048576"), "error", 1},
	{"sends more than it said, in chunks", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("ETag", `"version-1"`)
		w.Header().Set("Content-Range", right())
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(faultContent()[faultOffset : faultOffset+faultLength])
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write([]byte("more"))
		return true
	}, "error", 1},
	{"sends several ranges", partial("", "Content-Type", "multipart/byteranges; boundary=x"), "error", 1},
	{"compresses although asked not to", partial(right(), "Content-Encoding", "gzip"), "errors.ErrUnsupported", 1},
	{"sends all of the file", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("ETag", `"version-1"`)
		_, _ = w.Write(faultContent())
		return true
	}, "errors.ErrUnsupported", 1},
	{"sends all of another file", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("ETag", `"version-2"`)
		_, _ = w.Write(faultContent())
		return true
	}, "ErrChanged", 1},
	{"sends a page about an error instead", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		fmt.Fprint(w, "<html>Please log in</html>")
		return true
	}, "ErrChanged", 1},
	{"redirects to another server that has the file", nil, "the bytes", 1},
	{"redirects in a circle", always(302, "Location", "/file"), "error", 11},
	{"redirects to a file of this machine", always(302, "Location", "file:///etc/passwd"), "error", 1},
	{"redirects to a server that does not exist", always(302, "Location", "http://127.0.0.1:1/file"), "error", 5},
}

// outcome classifies the result of a read.
func outcome(got, want []byte, err error) string {
	for _, c := range []struct {
		name string
		err  error
	}{
		{"ErrChanged", source.ErrChanged}, {"ErrForbidden", source.ErrForbidden}, {"fs.ErrNotExist", fs.ErrNotExist},
		{"fs.ErrPermission", fs.ErrPermission}, {"errors.ErrUnsupported", errors.ErrUnsupported},
	} {
		if errors.Is(err, c.err) {
			return c.name
		}
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "taken for the end of a context: " + err.Error()
	case err != nil:
		return "error"
	case bytes.Equal(got, want):
		return "the bytes"
	}
	return "WRONG BYTES"
}

// faulty is a server with a fault that can be switched on.
type faulty struct {
	*httptest.Server
	armed    atomic.Bool
	requests atomic.Int64
}

func newFaulty(t *testing.T, f fault) *faulty {
	files := sourcetest.NewServer(t)
	files.Put("/file", faultContent())
	s := &faulty{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.armed.Load() && f(int(s.requests.Add(1)), w, r) {
			return
		}
		files.ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// quick are options with short time limits, which are still long enough for a busy machine.
var quick = source.Options{Stall: time.Second, Backoff: time.Millisecond}

func TestReadingFaults(t *testing.T) {
	for _, c := range readingFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.fault == nil {
				other := newFaulty(t, nil)
				c.fault = always(307, "Location", other.URL+"/file")
			}
			server := newFaulty(t, c.fault)
			opener := source.NewOpener(&quick)
			defer opener.Close()
			s, err := opener.Open(context.Background(), server.URL+"/file")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			server.armed.Store(true)
			got := make([]byte, faultLength)
			_, err = s.ReadAt(context.Background(), got, faultOffset)
			t.Log(err)
			if was := outcome(got, faultContent()[faultOffset:faultOffset+faultLength], err); was != c.want {
				t.Errorf("got %s (%v), want %s", was, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), server.URL+"/file") {
				t.Errorf("the error does not name the source: %v", err)
			}
			if n := int(server.requests.Load()); n > c.requests || n < 2 && c.want == "the bytes" && c.requests > 1 {
				t.Errorf("%d requests, want at most %d", n, c.requests)
			}
		})
	}
}

func TestTransientStatuses(t *testing.T) {
	for _, status := range []int{408, 429, 500, 502, 503, 504} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			server := newFaulty(t, once(always(status)))
			server.armed.Store(true)
			opener := source.NewOpener(&quick)
			defer opener.Close()
			s, err := opener.Open(context.Background(), server.URL+"/file")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
		})
	}
}

// openingFaults occur while a source is opened.
var openingFaults = []struct {
	name     string
	fault    fault
	opts     source.Options
	want     string
	requests int
}{
	{"does not support ranges", whole, source.Options{}, "errors.ErrUnsupported", 1},
	{"does not support ranges, but the file is no larger than HeadBytes", whole, source.Options{HeadBytes: faultSize}, "the bytes", 1},
	{"does not support ranges, and Download is set", whole, source.Options{Download: true}, "the bytes", 2},
	{"breaks off in the middle of the download", func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 2 {
			return raw(both(say("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n"), say("half of it")))(n, w, r)
		}
		return whole(n, w, r)
	}, source.Options{Download: true}, "the bytes", 3},
	{"stops in the middle of the download", func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 2 {
			return raw(both(say("HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\nhalf of it"), silence))(n, w, r)
		}
		return whole(n, w, r)
	}, source.Options{Download: true}, "the bytes", 3},
	{"does not say how long the download is, in chunks", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		_ = http.NewResponseController(w).Flush()
		_, _ = w.Write(faultContent())
		return true
	}, source.Options{Download: true}, "the bytes", 2},
	{"does not say how long the download is, nor when it is over", raw(both(say("HTTP/1.0 200 OK\r\n\r\n"), say("is that all?"))),
		source.Options{Download: true}, "errors.ErrUnsupported", 2},
	{"redirects the download to another server", nil, source.Options{Download: true}, "the bytes", 2},
	{"compresses the download", func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(faultContent())
		return true
	}, source.Options{Download: true}, "errors.ErrUnsupported", 1},
	{"does not say how large the file is", partial("bytes 0-262143/*"), source.Options{}, "errors.ErrUnsupported", 1},
	{"has no such file", always(404), source.Options{}, "fs.ErrNotExist", 1},
	{"wants a password", always(401), source.Options{}, "fs.ErrPermission", 1},
	{"is busy once", once(always(503)), source.Options{}, "the bytes", 2},
	{"breaks off in the middle of the head", once(raw(begin(1 << 10))), source.Options{}, "the bytes", 2},
	{"redirects to an address that Allow rejects", always(302, "Location", "/secret"), source.Options{Allow: allowAllBut("/secret")}, "ErrForbidden", 1},
}

// whole answers every request with the whole file.
func whole(_ int, w http.ResponseWriter, _ *http.Request) bool {
	w.Header().Set("ETag", `"version-1"`)
	w.Header().Set("Content-Length", strconv.Itoa(faultSize))
	_, _ = w.Write(faultContent())
	return true
}

func allowAllBut(path string) func(string) error {
	return func(name string) error {
		if strings.HasSuffix(name, path) {
			return fmt.Errorf("%s: %w", name, source.ErrForbidden)
		}
		return nil
	}
}

func TestOpeningFaults(t *testing.T) {
	for _, c := range openingFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.fault == nil {
				other := newFaulty(t, whole)
				other.armed.Store(true)
				c.fault = always(307, "Location", other.URL+"/file")
			}
			server := newFaulty(t, c.fault)
			server.armed.Store(true)
			opts := c.opts
			opts.Stall, opts.Backoff, opts.TempDir = quick.Stall, quick.Backoff, t.TempDir()
			opener := source.NewOpener(&opts)
			defer opener.Close()
			got, err := readAll(opener, server.URL+"/file")
			t.Log(err)
			if was := outcome(got, faultContent(), err); was != c.want {
				t.Errorf("got %s (%v), want %s", was, err, c.want)
			}
			if err != nil && !strings.Contains(err.Error(), server.URL+"/file") {
				t.Errorf("the error does not name the source: %v", err)
			}
			if n := int(server.requests.Load()); c.want != "the bytes" && n > c.requests {
				t.Errorf("%d requests, want at most %d", n, c.requests)
			}
		})
	}
}

// readAll reads a file from its end to its start.
func readAll(opener *source.Opener, name string) ([]byte, error) {
	ctx := context.Background()
	s, err := opener.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	all := make([]byte, s.Size())
	for at := len(all); at > 0 && err == nil; {
		n := min(200<<10, at)
		at -= n
		_, err = s.ReadAt(ctx, all[at:at+n], int64(at))
	}
	return all, errors.Join(err, s.Close())
}
