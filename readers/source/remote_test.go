package source_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// TestRemoteScattered lists all chunks of files whose metadata lies in many places, with default settings. 95 % of them may
// take at most 8 requests, and half of them at most 4.
func TestRemoteScattered(t *testing.T) {
	python := venv.Python(t, "netCDF4")
	dir := t.TempDir()
	if out, err := exec.Command(python, filepath.Join("testdata", "scattered.py"), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) < 40 {
		t.Fatalf("%d files, %v", len(names), err)
	}
	var all []int64
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil || size < 1<<20 {
			t.Fatalf("%s has only %d bytes, %v", name, size, err)
		}
		server := sourcetest.NewServer(t)
		s := mustOpen(t, source.Options{}, server.PutFile("/"+filepath.Base(name), f, size))
		refs, _ := walkRefs(t, s)
		requests, bytes := server.Counts()
		t.Logf("%-40s %5d refs, %3d requests, %5d KiB of %d", filepath.Base(name), refs, requests, bytes>>10, size>>10)
		all = append(all, requests)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	slices.Sort(all)
	if half, most := all[len(all)/2], all[len(all)*95/100]; half > 4 || most > 8 {
		t.Errorf("half of the files take at most %d requests, 95 %% at most %d", half, most)
	}
}

// circles writes groups that all have links to each other.
const circles = `
import sys, h5py, numpy
with h5py.File(sys.argv[1], "w", libver="latest") as f:
    f.create_dataset("filler", data=numpy.random.random((1 << 17,)))
    groups = [f.create_group(f"g{i}") for i in range(60)]
    for g in groups:
        for i, other in enumerate(groups):
            g[f"to{i}"] = other
        for i in range(20):
            g.attrs[f"a{i}"] = "x" * 100
`

// TestRemoteCircles opens a file whose groups all have links to each other: its objects are prefetched once.
func TestRemoteCircles(t *testing.T) {
	python := venv.Python(t, "h5py")
	name := filepath.Join(t.TempDir(), "circles.h5")
	if out, err := exec.Command(python, "-c", circles, name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	server := sourcetest.NewServer(t)
	s := mustOpen(t, source.Options{}, server.Put("/circles.h5", content))
	if _, err := formats.Open(t.Context(), s, nil); !errors.Is(err, readers.ErrCorrupt) {
		t.Errorf("such a file is refused, but: %v", err)
	}
	if requests, bytes := server.Counts(); requests > 8 || bytes > 2*int64(len(content)) {
		t.Errorf("%d requests, %d bytes of a file of %d", requests, bytes, len(content))
	}
}

func countRefs(t *testing.T, s *source.Source) int {
	n, variables := walkRefs(t, s)
	if variables != 30 {
		t.Errorf("%d variables, want 30", variables)
	}
	return n
}

// walkRefs returns the numbers of chunks and variables of a file.
func walkRefs(t *testing.T, s *source.Source) (n, variables int) {
	data, err := formats.Open(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
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
	return n, variables
}
