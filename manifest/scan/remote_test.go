package scan_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/fixtures/classic"
	"varve/manifest/scan"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

// serveFiles serves n files with one value each, and returns their URLs.
func serveFiles(t *testing.T, s *sourcetest.Server, n int) (urls []string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.nc")
	f := classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 1}},
		Vars: []classic.Var{{Name: "time", Dims: []string{"time"}, Data: []float64{0}}, {Name: "v", Dims: []string{"time"}, Data: []int16{1}}},
	}
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		urls = append(urls, s.Put(fmt.Sprintf("/%04d.nc", i), bytes.Clone(data)))
	}
	return urls
}

// TestLatency checks that a scan does not wait for one answer after the other, unless the user fixes the number of
// workers, and that local files are not affected.
func TestLatency(t *testing.T) {
	s := sourcetest.NewServer(t)
	s.Latency = 40 * time.Millisecond
	urls := serveFiles(t, s, 300)
	began := time.Now()
	found, err := scan.Scan(t.Context(), urls, nil)
	if err != nil || len(found.Files) != len(urls) {
		t.Fatal(err)
	}
	most, _ := s.Crowd()
	t.Logf("%d files in %s, at most %d requests at a time", len(urls), time.Since(began), most)
	if most < 4 {
		t.Errorf("at most %d requests at a time, want at least 4", most)
	}
	fixed := sourcetest.NewServer(t)
	fixed.Latency = time.Millisecond
	if _, err := scan.Scan(t.Context(), serveFiles(t, fixed, 20), &scan.Options{Workers: 3}); err != nil {
		t.Fatal(err)
	}
	if most, _ := fixed.Crowd(); most > 3 {
		t.Errorf("3 workers made %d requests at a time", most)
	}
}

// TestTooManyRequests checks that a scan finds the number of requests that a server accepts.
func TestTooManyRequests(t *testing.T) {
	for _, limit := range []int64{1, 6} {
		s := sourcetest.NewServer(t)
		s.Latency, s.Limit = 5*time.Millisecond, limit
		urls := serveFiles(t, s, 200)
		opener := source.NewOpener(&source.Options{Backoff: 50 * time.Millisecond})
		found, err := scan.Scan(t.Context(), urls, &scan.Options{Opener: opener})
		if err != nil || len(found.Files) != len(urls) {
			t.Fatalf("limit %d: %v", limit, err)
		}
		most, refused := s.Crowd()
		t.Logf("limit %d: at most %d requests at a time, %d refused", limit, most, refused)
		if requests, _ := s.Counts(); refused > requests/2 {
			t.Errorf("limit %d: %d of %d requests were refused", limit, refused, requests)
		}
		if err := opener.Close(); err != nil {
			t.Error(err)
		}
	}
}
