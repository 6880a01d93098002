package source_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"varve/readers/source"
)

// spots are ranges too far apart to be joined.
var spots = []source.Range{{Offset: 300 << 10, Length: 10}, {Offset: 600 << 10, Length: 10}, {Offset: 900 << 10, Length: 10}}

// parts returns a fault that answers with several ranges. Edit can change each of them.
func parts(edit func(i int, contentRange, body string) (string, string)) fault {
	return func(_ int, w http.ResponseWriter, r *http.Request) bool {
		asked, several := strings.CutPrefix(r.Header.Get("Range"), "bytes=")
		if !several || !strings.Contains(asked, ",") {
			return false
		}
		w.Header().Set("ETag", `"version-1"`)
		w.Header().Set("Content-Type", "multipart/byteranges; boundary=SEP")
		w.WriteHeader(http.StatusPartialContent)
		for i, text := range strings.Split(asked, ",") {
			var first, last int
			if _, err := fmt.Sscanf(text, "%d-%d", &first, &last); err != nil {
				panic(err)
			}
			where, body := edit(i, fmt.Sprintf("bytes %d-%d/%d", first, last, faultSize), string(faultContent()[first:last+1]))
			if where != "" {
				fmt.Fprintf(w, "\r\n--SEP\r\nContent-Range: %s\r\n\r\n%s", where, body)
			}
		}
		fmt.Fprint(w, "\r\n--SEP--\r\n")
		return true
	}
}

// manyFaults occur in requests for several ranges.
var manyFaults = []struct {
	name     string
	fault    fault
	want     string
	requests int
}{
	{"sends them as asked", parts(func(_ int, where, body string) (string, string) { return where, body }), "the bytes", 1},
	{"sends all of the file", whole, "the bytes", 4},
	{"sends one range, with the size of another", partial("bytes 614400-716799/1048576"), "the bytes", 4},
	{"refuses with 416", always(416), "the bytes", 4},
	{"refuses with 400", always(400), "the bytes", 4},
	{"answers 503 once", once(always(503)), "the bytes", 2},
	{"has no such file any more", always(404), "fs.ErrNotExist", 1},
	{"has another version", always(412), "ErrChanged", 1},
	{"leaves one out", parts(func(i int, where, body string) (string, string) {
		if i == 1 {
			where = ""
		}
		return where, body
	}), "the bytes", 4},
	{"sends one twice and another not", parts(func(i int, where, body string) (string, string) {
		if i == 1 {
			return "bytes 294912-311295/1048576", string(faultContent()[294912:311296])
		}
		return where, body
	}), "the bytes", 4},
	{"sends a part that is too short", once(parts(func(_ int, where, body string) (string, string) { return where, body[1:] })), "the bytes", 2},
	{"sends a part of another size of the file", parts(func(_ int, where, body string) (string, string) {
		return strings.Replace(where, "1048576", "1048577", 1), body
	}), "ErrChanged", 1},
	{"sends a part without a range", parts(func(_ int, _, body string) (string, string) { return "nothing", body }), "error", 1},
	{"breaks off", once(raw(say("HTTP/1.1 206 Partial Content\r\nETag: \"version-1\"\r\nContent-Length: 9999\r\nContent-Type: multipart/byteranges; boundary=SEP\r\n\r\n--SEP\r\n"))), "the bytes", 2},
	{"names no boundary", partial("", "Content-Type", "multipart/byteranges"), "error", 5},
}

func TestManyRanges(t *testing.T) {
	for _, c := range manyFaults {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// The fault occurs only in requests for several ranges.
			server := newFaulty(t, func(n int, w http.ResponseWriter, r *http.Request) bool {
				return strings.Contains(r.Header.Get("Range"), ",") && c.fault(n, w, r)
			})
			opts := quick
			opts.GapBytes = 1
			s := mustOpen(t, opts, server.URL+"/file")
			server.armed.Store(true)
			err := s.Prefetch(context.Background(), spots)
			var got, want []byte
			for i := 0; i < len(spots) && err == nil; i++ {
				var b []byte
				b, err = s.View(context.Background(), spots[i].Offset, int(spots[i].Length))
				got, want = append(got, b...), append(want, faultContent()[spots[i].Offset:spots[i].End()]...)
			}
			if was := outcome(got, want, err); was != c.want {
				t.Errorf("got %s (%v), want %s", was, err, c.want)
			}
			if n := int(server.requests.Load()); n > c.requests {
				t.Errorf("%d requests, want at most %d", n, c.requests)
			}
		})
	}
}

// TestObjectStores checks that hosts without support for several ranges get at most one request for several.
// Hosts that identify themselves as such get none.
func TestObjectStores(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		asked  int
	}{"that says so": {"x-amz-request-id", 0}, "that does not": {"x-other", 1}} {
		t.Run(name, func(t *testing.T) {
			plain := files(t)
			asked := 0
			server := record(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(c.header, "1")
				if strings.Contains(r.Header.Get("Range"), ",") {
					asked++
					r.Header.Del("Range")
				}
				plain.ServeHTTP(w, r)
			}), (*httptest.Server).Start)
			opener := source.NewOpener(&source.Options{GapBytes: 1})
			defer opener.Close()
			for range 2 {
				s, err := opener.Open(context.Background(), server.URL+"/file")
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Prefetch(context.Background(), spots); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			if asked != c.asked {
				t.Errorf("asked %d times for several ranges, want %d", asked, c.asked)
			}
		})
	}
}
