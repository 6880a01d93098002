package source_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"varve/fixtures/venv"
	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

// Limits for reading the metadata of a 50 MB file on a server.
const (
	maxRequests = 8
	maxBytes    = 2 << 20
)

func checkCost(t *testing.T, server *sourcetest.Server, s *source.Source) {
	t.Helper()
	requests, bytes := server.Counts()
	for range 100 { // the server counts bytes after it sends them
		if bytes == s.Stats().Bytes {
			break
		}
		time.Sleep(10 * time.Millisecond)
		requests, bytes = server.Counts()
	}
	t.Logf("%d requests, %d bytes", requests, bytes)
	if requests > maxRequests || bytes > maxBytes {
		t.Errorf("%d requests and %d bytes, want at most %d and %d", requests, bytes, maxRequests, maxBytes)
	}
	if got := s.Stats(); got.Requests != requests || got.Bytes != bytes {
		t.Errorf("Stats says %+v, the server counted %d requests and %d bytes", got, requests, bytes)
	}
}

// holes is a large file of zeros, which needs no memory.
type holes struct{}

func (holes) ReadAt(p []byte, off int64) (int, error) {
	for i := range p {
		p[i] = byte(off + int64(i))
	}
	return len(p), nil
}

// TestRemoteScan reads like a metadata scanner: a few bytes at several places near the start, then one index
// after another, then the end.
func TestRemoteScan(t *testing.T) {
	const size = 50 << 20
	server := sourcetest.NewServer(t)
	server.Latency = 5 * time.Millisecond
	s := mustOpen(t, source.Options{}, server.PutFile("/large", holes{}, size))
	var at []int64
	for i := range int64(60) {
		at = append(at, i*7919%30000) // object headers
	}
	for i := range int64(90) {
		at = append(at, 35000+i*6500) // indexes, up to 600 KB
	}
	at = append(at, size-100, size-100_000, size-1000)
	for _, off := range at {
		got, err := s.View(context.Background(), off, 100)
		if err != nil || got[0] != byte(off) || got[99] != byte(off+99) {
			t.Fatalf("wrong bytes at %d, or error %v", off, err)
		}
	}
	checkCost(t, server, s)
}

// TestRemoteNetCDF4 opens real files and lists all chunks.
func TestRemoteNetCDF4(t *testing.T) {
	python := venv.Python(t, "netCDF4")
	dir := t.TempDir()
	if out, err := exec.Command(python, filepath.Join("testdata", "generate.py"), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, refs := range map[string]int{"unlimited": 27*12 + 1, "fixed": 0, "deflated": 27*12 + 1, "in_turn": 30 * 12, "by_step": 27*12 + 1, "appended": 27*12 + 1} {
		t.Run(name, func(t *testing.T) {
			f, err := os.Open(filepath.Join(dir, name+".nc"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			size, err := f.Seek(0, io.SeekEnd)
			if err != nil {
				t.Fatal(err)
			}
			server := sourcetest.NewServer(t)
			server.Latency = 50 * time.Millisecond
			url := server.PutFile("/file.nc", f, size)
			began := time.Now()
			s := mustOpen(t, source.Options{}, url)
			if n := countRefs(t, s); n != refs {
				t.Errorf("%d refs, want %d", n, refs)
			}
			t.Logf("%d bytes on the server, scanned in %s", size, time.Since(began).Round(time.Millisecond))
			checkCost(t, server, s)
		})
	}
}

func countRefs(t *testing.T, s *source.Source) int {
	data, err := formats.Open(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, variables := 0, 0
	data.Root.Walk(func(g *readers.Group) bool {
		for _, v := range g.Variables {
			variables++
			for _, err := range v.Storage.Refs(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
		}
		return true
	})
	if variables != 30 {
		t.Errorf("%d variables, want 30", variables)
	}
	return n
}
