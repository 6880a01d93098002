//go:build linux

package mount

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"varve/manifest/ingest"
	"varve/manifest/netcdffile"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// demo builds a manifest of copies of sample files, and returns the folder of the copies.
func demo(t testing.TB, out string, months ...string) (sources string) {
	t.Helper()
	sources = t.TempDir()
	opts := &ingest.Options{}
	for _, m := range months {
		b, err := os.ReadFile(filepath.Join("../../fixtures/demo", m))
		if err == nil {
			err = os.WriteFile(filepath.Join(sources, m), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		opts.Sources.Names = append(opts.Sources.Names, filepath.Join(sources, m))
	}
	if _, err := ingest.Build(t.Context(), out, opts); err != nil {
		t.Fatal(err)
	}
	return sources
}

// mounted mounts manifests and returns the folder, and the messages so far.
func mounted(t testing.TB, manifests ...string) (dir string, h *serve.Handler, messages func() string) {
	return mountedWith(t, netcdffile.Options{}, manifests...)
}

func mountedWith(t testing.TB, file netcdffile.Options, manifests ...string) (dir string, h *serve.Handler, messages func() string) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skip("this test mounts a file system: ", err)
	}
	var out lockedBuffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	h, err := serve.New(t.Context(), manifests, &serve.Options{Store: store.Options{Trusted: true}, Reload: 20 * time.Millisecond, NetCDF: file, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	m, err := Mount(dir, &Options{Handler: h, Log: log})
	if err != nil {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		t.Skip("this test mounts a file system: ", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := errors.Join(m.Wait(ctx), h.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.ReadDir(dir); err != nil || isMountPoint(dir) {
			t.Errorf("%s is still mounted: %v", dir, err)
		}
	})
	return dir, h, out.String
}

// lockedBuffer is a buffer that several goroutines use.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFiles compares all files of a mounted folder with what the library reads.
func TestFiles(t *testing.T) {
	out := filepath.Join(t.TempDir(), "weather.varve")
	demo(t, out, "2021-01.nc", "2021-02.nc")
	dir, h, _ := mounted(t, out)
	s, err := h.OpenSnapshot(t.Context(), "weather", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := s.NetCDF(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, f.Size())
	if _, err := f.ReadAt(t.Context(), want, 0); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weather.nc", "@" + s.ID() + "/weather.nc"} {
		if !bytes.Equal(read(t, filepath.Join(dir, name)), want) {
			t.Errorf("%s has other bytes", name)
		}
	}
	files := 0
	err = fs.WalkDir(os.DirFS(filepath.Join(dir, "weather.zarr")), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		e, err := s.Find(t.Context(), path)
		if err != nil {
			return err
		}
		want := make([]byte, e.Size)
		if _, err := s.Read(t.Context(), path, want, 0); err != nil {
			return err
		}
		if got := read(t, filepath.Join(dir, "weather.zarr", path)); !bytes.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s has %d bytes, want %d", path, len(got), len(want))
		}
		return nil
	})
	if err != nil || files != 5+8+3 {
		t.Errorf("%d files: %v", files, err)
	}
	for _, name := range []string{"other.nc", "weather", "weather.nc.nc", "weather.zarr/t2m/c/9/0/0", "weather.zarr/none", "@none", "@" + strings.Repeat("0", 64)} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.OpenFile(filepath.Join(dir, "weather.nc"), os.O_RDWR, 0); !errors.Is(err, syscall.EROFS) {
		t.Errorf("writing: %v", err)
	}
	if _, err := Mount(dir, &Options{Handler: h}); err == nil {
		t.Error("the folder can be mounted twice")
	}
}

// TestAppend checks that a name leads to the new snapshot after an append, and that an open file keeps the old one.
func TestAppend(t *testing.T) {
	out := filepath.Join(t.TempDir(), "weather.varve")
	demo(t, out, "2021-01.nc")
	dir, _, _ := mounted(t, out)
	name := filepath.Join(dir, "weather.nc")
	before := read(t, name)
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	first := make([]byte, 100)
	if _, err := io.ReadFull(f, first); err != nil {
		t.Fatal(err)
	}
	was, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.Append(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: []string{"../../fixtures/demo/2021-02.nc"}}}); err != nil {
		t.Fatal(err)
	}
	for {
		now, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if now.Size() != was.Size() {
			if os.SameFile(was, now) {
				t.Error("the new snapshot has the inode of the old one")
			}
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the name still leads to the old snapshot")
		case <-time.After(20 * time.Millisecond):
		}
	}
	rest, err := io.ReadAll(f)
	if err != nil || !bytes.Equal(append(first, rest...), before) {
		t.Errorf("the open file has %d other bytes: %v", len(rest), err)
	}
	if after := read(t, name); len(after) <= len(before) {
		t.Errorf("%d bytes, and %d before the append", len(after), len(before))
	}
}

// TestSourceGone checks that a read fails if a source is missing, and that the message names it.
func TestSourceGone(t *testing.T) {
	out := filepath.Join(t.TempDir(), "weather.varve")
	sources := demo(t, out, "2021-01.nc", "2021-02.nc")
	dir, _, messages := mounted(t, out)
	if err := os.Remove(filepath.Join(sources, "2021-02.nc")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "weather.nc")); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, want an input/output error", err)
	}
	if got := messages(); !strings.Contains(got, "2021-02.nc") || !strings.Contains(got, "weather.nc") {
		t.Errorf("the messages do not name the source: %s", got)
	}
}

// TestManyReaders reads a file 200 times at once.
func TestManyReaders(t *testing.T) {
	out := filepath.Join(t.TempDir(), "weather.varve")
	demo(t, out, "2021-01.nc", "2021-02.nc", "2021-03.nc")
	dir, _, _ := mounted(t, out)
	name := filepath.Join(dir, "weather.nc")
	want := read(t, name)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			f, err := os.Open(name)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			b := make([]byte, 5000)
			off := int64(i * 37 % (len(want) - len(b)))
			if _, err := f.ReadAt(b, off); err != nil || !bytes.Equal(b, want[off:][:len(b)]) {
				t.Errorf("other bytes at %d: %v", off, err)
			}
		})
	}
	all.Wait()
}

// TestKilled checks that a folder can be mounted again after its process was killed.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("VARVE_TEST_MOUNT"); dir != "" {
		h, err := serve.New(t.Context(), []string{os.Getenv("VARVE_TEST_MANIFEST")}, &serve.Options{Store: store.Options{Trusted: true}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Mount(dir, &Options{Handler: h}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("mounted")
		<-t.Context().Done() // until the process is killed
	}
	out := filepath.Join(t.TempDir(), "weather.varve")
	demo(t, out, "2021-01.nc")
	other, h, _ := mounted(t, out) // skips if nothing can be mounted
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "VARVE_TEST_MOUNT="+dir, "VARVE_TEST_MANIFEST="+out)
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	// Until Mount is done: a process that is killed while it waits for its own mount never ends.
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "mounted\n" {
		t.Fatalf("the process said %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if _, err := os.ReadDir(dir); !errors.Is(err, syscall.ENOTCONN) {
		t.Fatalf("got %v, want ENOTCONN", err)
	}
	m, err := Mount(dir, &Options{Handler: h})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(read(t, filepath.Join(dir, "weather.nc")), read(t, filepath.Join(other, "weather.nc"))) {
		t.Error("other bytes")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Wait(ctx); err != nil {
		t.Error(err)
	}
}

// TestNamesLikeSnapshots checks that the name of a manifest may begin with @, as the folders of snapshots do.
func TestNamesLikeSnapshots(t *testing.T) {
	out := filepath.Join(t.TempDir(), "@a b.c.varve")
	demo(t, out, "2021-01.nc")
	dir, h, _ := mounted(t, out)
	s, err := h.OpenSnapshot(t.Context(), "@a b.c", "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b := read(t, filepath.Join(dir, "@a b.c.nc"))
	if f, err := s.NetCDF(t.Context()); err != nil || int64(len(b)) != f.Size() {
		t.Errorf("%d bytes: %v", len(b), err)
	}
	if other := read(t, filepath.Join(dir, "@"+s.ID(), "@a b.c.nc")); !bytes.Equal(other, b) {
		t.Errorf("the file of the snapshot has %d bytes, want the same %d", len(other), len(b))
	}
	for _, name := range []string{"@", "@x", "@/@"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want that it does not exist", name, err)
		}
	}
}
