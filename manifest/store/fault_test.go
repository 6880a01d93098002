package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/readers/source"
	"varve/zarrjson"
)

// archive makes n files of 16 × 64 numbers, in chunks of 16 × 16, and an array that concatenates them along the
// first axis. If same is false, the schema has other codecs than the files. It also returns the expected
// values.
func archive(t testing.TB, n int64, same bool) (*memoryTables, *manifest.Snapshot, []byte) {
	t.Helper()
	typ := codec.Type{Kind: codec.Float, Size: 4}
	dt, err := zarrjson.DataTypeOf(typ)
	if err != nil {
		t.Fatal(err)
	}
	stored := []codec.Spec{spec("bytes", `{"endian":"little"}`), spec("numcodecs.zlib", `{"level":1}`)}
	schema := &zarrjson.Array{Shape: []int64{16 * n, 64}, DataType: dt, ChunkGrid: zarrjson.RegularGrid(16, 16), Codecs: stored}
	if !same {
		schema.Codecs = []codec.Spec{spec("bytes", `{"endian":"little"}`), spec("zstd", `{"level":1,"checksum":false}`)}
	}
	m, r := newMemoryTables(), rand.New(rand.NewPCG(1, 2))
	truth := make([]byte, 16*n*64*4)
	for i := range truth {
		truth[i] = byte(r.IntN(4))
	}
	all := newWindow(codec.Elems{Fixed: truth}, grid.Whole(schema.Shape), typ)
	all.region.Origin = []int64{0, 0}
	var tiles []manifest.Tile
	for i := range n {
		v := manifest.Variable{Path: "/v", Type: typ, Shape: []int64{16, 64}, Dims: []string{"/t", "/x"},
			Storage: manifest.Storage{Layout: manifest.Chunked, Chunks: []int64{16, 16}, Codecs: stored}}
		w := &world{t: t, r: r}
		var chunks []storedChunk
		for k := range int64(4) {
			e := cut(t, all.Elems, schema.Shape, grid.Region{Origin: []int64{16 * i, 16 * k}, Shape: []int64{16, 16}}, typ)
			chunks = append(chunks, storedChunk{bytes: w.encode(stored, &v, []int64{16, 16}, e)})
		}
		file := m.addFile(t, r, v, chunks)
		tiles = append(tiles, manifest.Tile{File: file, Origin: []int64{16 * i}, Start: []int64{0}, Shape: []int64{16}})
	}
	a := manifest.Array{Path: "/v", Schema: schema, Placement: "p", Variables: []string{"/v"}, Dims: []string{"/t", "/x"}, Reading: manifest.AsStored}
	return m, m.snapshot([]string{"/t"}, tiles, a), truth
}

// readAll reads the array v of a store.
func readAll(ctx context.Context, t testing.TB, s *Store) ([]byte, error) {
	t.Helper()
	a, err := s.Array("/v")
	if err != nil {
		t.Fatal(err)
	}
	shape := a.Grid().Shape()
	e := codec.NewElems(a.Schema().Form(shape))
	return e.Fixed, a.ReadRegion(ctx, grid.Region{Origin: make([]int64, len(shape)), Shape: shape}, e)
}

// TestSourceFaults changes a source in several ways, and checks that reads of it fail with an error that names
// it, and that other sources can still be read.
func TestSourceFaults(t *testing.T) {
	change := func(f func(name string, content []byte) error) func(string) error {
		return func(name string) error {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			return f(name, content)
		}
	}
	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name  string
		spoil func(name string) error
		want  error
	}{
		{"deleted", os.Remove, source.ErrChanged},
		{"truncated", change(func(name string, b []byte) error { return os.WriteFile(name, b[:len(b)/2], 0o600) }), source.ErrChanged},
		{"grown", change(func(name string, b []byte) error { return os.WriteFile(name, append(b, 1), 0o600) }), source.ErrChanged},
		{"another modification time", func(name string) error { return os.Chtimes(name, later, later) }, source.ErrChanged},
		{"replaced", change(func(name string, b []byte) error {
			return errors.Join(os.Remove(name), os.WriteFile(name, b, 0o600), os.Chtimes(name, later, later))
		}), source.ErrChanged},
		{"became a folder", func(name string) error { return errors.Join(os.Remove(name), os.Mkdir(name, 0o700)) }, source.ErrChanged},
	} {
		for _, opened := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, opened before %v", c.name, opened), func(t *testing.T) {
				m, snap, truth := archive(t, 5, true)
				s := openMemory(t, snap, m, Options{CacheBytes: -1})
				if opened {
					if got, err := readAll(t.Context(), t, s); err != nil || !bytes.Equal(got, truth) {
						t.Fatal("a read before the fault fails:", err)
					}
				}
				name := m.sources[3].URL
				if err := c.spoil(name); err != nil {
					t.Fatal(err)
				}
				_, err := readAll(t.Context(), t, s)
				if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), name) {
					t.Errorf("region: got %v, want %v, naming %s", err, c.want, name)
				}
				a, _ := s.Array("/v")
				_, err = a.Chunk(t.Context(), []int64{3, 1})
				if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), name) {
					t.Errorf("chunk: got %v, want %v, naming %s", err, c.want, name)
				}
				if b, err := a.Chunk(t.Context(), []int64{2, 1}); err != nil || len(b) == 0 {
					t.Errorf("reading a chunk of another source: %v", err)
				}
			})
		}
	}
}

// TestRecovers checks that a source can be read again after its former content was restored.
func TestRecovers(t *testing.T) {
	m, snap, truth := archive(t, 3, true)
	s := openMemory(t, snap, m, Options{})
	name := m.sources[1].URL
	if err := os.Rename(name, name+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(t.Context(), t, s); !errors.Is(err, source.ErrChanged) {
		t.Fatalf("got %v, want %v", err, source.ErrChanged)
	}
	if err := os.Rename(name+".away", name); err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(t.Context(), t, s); err != nil || !bytes.Equal(got, truth) {
		t.Errorf("reading afterwards: %v", err)
	}
}

// TestCorrupt checks that wrong refs are an ErrCorrupt.
func TestCorrupt(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(m *memoryTables)
	}{
		{"a ref past the end", func(m *memoryTables) { m.refs[m.sources[1].Row+2].Offset = 1 << 40 }},
		{"a ref that ends past the end", func(m *memoryTables) { m.refs[m.sources[1].Row+2].Size = 1 << 50 }},
		{"a size that overflows", func(m *memoryTables) { m.refs[m.sources[1].Row+3].Size = math.MaxInt64 - 5 }},
		{"an offset that overflows", func(m *memoryTables) { m.refs[m.sources[1].Row+3].Offset = math.MaxInt64 - 5 }},
		{"a negative size", func(m *memoryTables) { m.refs[m.sources[1].Row+2].Size = -77 }},
		{"a ref of other bytes", func(m *memoryTables) { m.refs[m.sources[1].Row+2].Offset++ }},
		{"a short ref", func(m *memoryTables) { m.refs[m.sources[1].Row+2].Size -= 9 }},
		{"a source that does not exist", func(m *memoryTables) { m.refs[m.sources[1].Row+2].Other = 99 }},
		{"inline bytes that do not exist", func(m *memoryTables) { m.refs[m.sources[1].Row+2].Offset = manifest.InlineRow(7) }},
	} {
		for _, same := range []bool{true, false} {
			m, snap, _ := archive(t, 3, same)
			c.spoil(m)
			s := openMemory(t, snap, m, Options{})
			if _, err := readAll(t.Context(), t, s); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s: got %v, want %v", c.name, err, codec.ErrCorrupt)
			}
		}
	}
}

// TestCancelled checks that a cancelled read returns context.Canceled, and leaves no goroutines and no reserved
// memory.
func TestCancelled(t *testing.T) {
	m, snap, truth := archive(t, 40, false)
	s := openMemory(t, snap, m, Options{CacheBytes: -1})
	before := runtime.NumGoroutine()
	for i := range 60 {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(time.Duration(i)*20*time.Microsecond, cancel)
		got, err := readAll(ctx, t, s)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v, want %v", err, context.Canceled)
		}
		if err == nil && !bytes.Equal(got, truth) {
			t.Fatal("a read that finished before it was cancelled has wrong values")
		}
		timer.Stop()
		cancel()
	}
	if got, err := readAll(t.Context(), t, s); err != nil || !bytes.Equal(got, truth) {
		t.Errorf("reading afterwards: %v", err)
	}
	waitFor(t, "goroutines", func() bool { return runtime.NumGoroutine() <= before })
	if s.flight.used != 0 {
		t.Errorf("%d bytes are still reserved", s.flight.used)
	}
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 200 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("too many %s remain", what)
}

// TestOpenFiles checks the limit of open sources, and that Close closes all of them.
func TestOpenFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/self/fd")
	}
	m, snap, truth := archive(t, 30, true)
	s, err := newStore(snap, m, nil, &Options{OpenFiles: 3, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := readAll(t.Context(), t, s); err != nil || !bytes.Equal(got, truth) {
			t.Fatal(err)
		}
	}
	dir := filepath.Dir(m.sources[0].URL)
	if n := openIn(t, dir); n > 3 || n == 0 {
		t.Errorf("%d files are open, want 1 to 3", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := openIn(t, dir); n != 0 || !m.closed.Load() {
		t.Errorf("after closing %d files are open, tables closed %v", n, m.closed.Load())
	}
	if _, err := readAll(t.Context(), t, s); err == nil {
		t.Error("reading a closed store succeeds, want an error")
	}
}

// TestTooManyOpenFiles checks that, when the process cannot open more files, the store closes idle sources and
// tries again.
func TestTooManyOpenFiles(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/self/fd")
	}
	m, snap, truth := archive(t, 30, true)
	s, err := newStore(snap, m, nil, &Options{Trusted: true, Workers: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dir, open := filepath.Dir(m.sources[0].URL), s.sources.open
	var one sync.Mutex
	refused := 0
	s.sources.open = func(ctx context.Context, row int64, src manifest.Source) (*source.Source, error) {
		one.Lock()
		defer one.Unlock()
		if openIn(t, dir) >= 2 {
			refused++
			return nil, &fs.PathError{Op: "open", Path: m.sources[row].URL, Err: syscall.EMFILE}
		}
		return open(ctx, row, src)
	}
	for range 3 {
		if got, err := readAll(t.Context(), t, s); err != nil || !bytes.Equal(got, truth) {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Error("the limit was never reached")
	}
	s.sources.open = func(context.Context, int64, manifest.Source) (*source.Source, error) { return nil, syscall.EMFILE }
	for range 30 {
		s.sources.makeRoom()
	}
	if _, err := readAll(t.Context(), t, s); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("no file can be opened: %v", err)
	}
}

// openIn returns the number of open files of a folder.
func openIn(t testing.TB, dir string) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// served starts a server with the files of an archive, and changes the sources to URLs of the server.
func served(t testing.TB, m *memoryTables, around func(http.Handler) http.Handler) {
	t.Helper()
	server := httptest.NewServer(around(http.FileServer(http.Dir(filepath.Dir(m.sources[0].URL)))))
	t.Cleanup(server.Close)
	for _, s := range m.sources {
		s.URL = server.URL + "/" + strings.ReplaceAll(filepath.Base(s.URL), " ", "%20")
		s.Modified = s.Modified.Truncate(time.Second)
	}
}

// TestServer reads sources on a server, and checks that adjacent chunks are fetched together.
func TestServer(t *testing.T) {
	m, snap, truth := archive(t, 6, false)
	var requests atomic.Int64
	served(t, m, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.Add(1); h.ServeHTTP(w, r) })
	})
	s := openMemory(t, snap, m, Options{})
	if got, err := readAll(t.Context(), t, s); err != nil || !bytes.Equal(got, truth) {
		t.Fatal("over HTTP:", err)
	}
	if n := requests.Load(); n > 6 {
		t.Errorf("%d requests for 6 files of 4 adjacent chunks", n)
	}
}

// TestServerFaults checks that reads survive temporary faults of a server, and return an error for others.
func TestServerFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w http.ResponseWriter, r *http.Request, next http.Handler, n int64)
		want error // nil: the read succeeds
	}{
		{"a burst of 503", func(w http.ResponseWriter, r *http.Request, next http.Handler, n int64) {
			if n < 6 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		}, nil},
		{"gone", func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ int64) {
			w.WriteHeader(http.StatusNotFound)
		}, errAny},
		{"modified", func(w http.ResponseWriter, r *http.Request, _ http.Handler, _ int64) {
			http.ServeContent(w, r, "x", time.Now().Add(time.Hour), bytes.NewReader(make([]byte, 5000)))
		}, source.ErrChanged},
		{"hangs half-way", func(w http.ResponseWriter, r *http.Request, next http.Handler, n int64) {
			if n == 1 {
				w.Header().Set("Content-Length", "100000")
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, snap, truth := archive(t, 3, false)
			var n atomic.Int64
			served(t, m, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.do(w, r, h, n.Add(1)) })
			})
			opener := source.NewOpener(&source.Options{Backoff: time.Millisecond, Stall: 300 * time.Millisecond, Patience: 5 * time.Second})
			t.Cleanup(func() { _ = opener.Close() })
			s := openMemory(t, snap, m, Options{Opener: opener})
			got, err := readAll(t.Context(), t, s)
			switch {
			case c.want == nil && (err != nil || !bytes.Equal(got, truth)):
				t.Errorf("got %v", err)
			case c.want != nil && err == nil:
				t.Error("the read succeeds, want an error")
			case c.want != nil && c.want != errAny && !errors.Is(err, c.want):
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

var errAny = errors.New("any")
