package source_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve/fixtures/machine"
	"varve/readers/source"
	"varve/readers/source/sourcetest"
)

// tarEntry is an entry of a tar file. Its content is the content of a regular file.
type tarEntry struct {
	kind       byte
	name, link string
	content    string
	records    map[string]string
}

// tarred returns a tar file.
func tarred(t *testing.T, entries []tarEntry) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Typeflag: e.kind, Name: e.name, Linkname: e.link, Size: int64(len(e.content)), Mode: 0o644}
		if e.records != nil {
			h = &tar.Header{Typeflag: e.kind, Name: e.name, PAXRecords: e.records}
		}
		err := w.WriteHeader(h)
		if err == nil {
			_, err = w.Write([]byte(e.content))
		}
		if err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// readPacked returns all bytes of a packed file.
func readPacked(t *testing.T, o *source.Opener, name string) (string, error) {
	t.Helper()
	s, err := o.Open(t.Context(), name)
	if err != nil {
		return "", err
	}
	defer s.Close()
	b := make([]byte, s.Size())
	_, err = s.ReadAt(t.Context(), b, 0)
	return string(b), err
}

// TestTarEntries reads all kinds of entries of tar files.
func TestTarEntries(t *testing.T) {
	long := strings.Repeat("long/", 40) + "name.nc"
	plain := tarred(t, []tarEntry{
		{kind: tar.TypeXGlobalHeader, name: "pax_global_header", records: map[string]string{"comment": strings.Repeat("x", 700)}},
		{kind: tar.TypeDir, name: "./"},
		{kind: tar.TypeReg, name: "./a.nc", content: "first"},
		{kind: tar.TypeXGlobalHeader, records: map[string]string{"comment": "y"}},
		{kind: tar.TypeReg, name: long, content: strings.Repeat("z", 1000)},
		{kind: tar.TypeCont, name: "contiguous.nc", content: "contiguous"},
		{kind: tar.TypeDir, name: "m/"},
		{kind: tar.TypeReg, name: "/m/b.nc", content: "second"},
		{kind: tar.TypeLink, name: "hard.nc", link: "./a.nc"},
		{kind: tar.TypeReg, name: "a.nc", content: "replaced"},
		{kind: tar.TypeSymlink, name: "m/soft.nc", link: "../a.nc"},
		{kind: tar.TypeSymlink, name: "folder", link: "m"},
		{kind: tar.TypeSymlink, name: "onward.nc", link: "folder/soft.nc"},
		{kind: tar.TypeLink, name: "hard of soft.nc", link: "onward.nc"},
		{kind: tar.TypeSymlink, name: "dangling.nc", link: "none.nc"},
		{kind: tar.TypeSymlink, name: "outside.nc", link: "../../x.nc"},
		{kind: tar.TypeSymlink, name: "absolute.nc", link: "/data/x.nc"},
		{kind: tar.TypeSymlink, name: "loop.nc", link: "loop.nc"},
		{kind: tar.TypeFifo, name: "pipe"},
	})
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	w.Close()
	o := packedOpener(map[string]*sourcetest.Memory{"mem://x/a.tar": sourcetest.NewMemory(plain), "mem://x/a.tgz": sourcetest.NewMemory(packed.Bytes())}, nil)
	for _, prefix := range []string{"mem://x/a.tar|tar:", "mem://x/a.tgz|gzip:|tar:"} {
		listed := map[string]string{
			"a.nc": "replaced", long: strings.Repeat("z", 1000), "contiguous.nc": "contiguous", "m/b.nc": "second", "hard.nc": "first",
			"m/soft.nc": "replaced", "onward.nc": "replaced", "hard of soft.nc": "replaced",
		}
		missing := map[string]error{"dangling.nc": fs.ErrNotExist, "outside.nc": source.ErrLink, "absolute.nc": source.ErrLink, "loop.nc": source.ErrLink}
		var want []string
		for name, content := range listed {
			want = append(want, prefix+name)
			if got, err := readPacked(t, o, prefix+name); got != content || err != nil {
				t.Errorf("%s%s: got %q, want %q, %v", prefix, name, got, content, err)
			}
		}
		for name, is := range missing {
			want = append(want, prefix+name)
			if got, err := readPacked(t, o, prefix+name); !errors.Is(err, is) {
				t.Errorf("%s%s: got %q, %v, want %v", prefix, name, got, err, is)
			}
		}
		slices.Sort(want)
		got, err := o.InPacked(t.Context(), source.Outer(want[0]), func(string) bool { return true })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("listed %q, want %q, %v", got, want, err)
		}
		if got, err := readPacked(t, o, prefix+"folder/b.nc"); got != "second" || err != nil {
			t.Errorf("a file in a folder behind a link: %q, %v", got, err)
		}
		if _, err := readPacked(t, o, prefix+"folder/none.nc"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("no file in a folder behind a link: %v", err)
		}
	}
	continued := tarred(t, []tarEntry{{kind: 'M', name: "a.nc", content: "the end"}, {kind: tar.TypeReg, name: "b.nc", content: "b"}})
	o = packedOpener(map[string]*sourcetest.Memory{"mem://x/a.tar": sourcetest.NewMemory(continued)}, nil)
	if _, err := o.InPacked(t.Context(), "mem://x/a.tar", func(string) bool { return true }); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a member that begins in another volume: %v", err)
	}
}

// TestGitArchive reads a tar file of git, which begins with a global header.
func TestGitArchive(t *testing.T) {
	git := machine.Find(t, "git")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.nc"), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init -q", "add a.nc", "-c user.name=x -c user.email=x commit -q -m x", "archive -o a.tar HEAD"} {
		if out, err := machine.Command(t, git, append([]string{"-C", dir}, strings.Fields(args)...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	name := filepath.Join(dir, "a.tar")
	o := source.NewOpener(nil)
	got, err := o.InPacked(t.Context(), name, func(string) bool { return true })
	if err != nil || !slices.Equal(got, []string{name + "|tar:a.nc"}) {
		t.Errorf("got %q, %v", got, err)
	}
	if content, err := readPacked(t, o, name+"|tar:a.nc"); content != "content" || err != nil {
		t.Errorf("read %q, %v", content, err)
	}
}

// TestZipEntries reads members of zip files whose names begin with "./" or "/", and tells Zarr stores from archives with them.
func TestZipEntries(t *testing.T) {
	zipped := func(names ...string) *sourcetest.Memory {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, name := range names {
			m, err := w.Create(name)
			if err == nil && !strings.HasSuffix(name, "/") {
				_, err = m.Write([]byte(name))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return sourcetest.NewMemory(out.Bytes())
	}
	o := packedOpener(map[string]*sourcetest.Memory{
		"mem://x/names.zip":  zipped("./a.nc", "/b.nc", "m/", "m/c.nc", "../d.nc"),
		"mem://x/store.zip":  zipped("zarr.json", "c/0"),
		"mem://x/stores.zip": zipped("a.nc", "s.zarr/zarr.json", "s.zarr/c/0"),
	}, nil)
	for name, want := range map[string][]string{
		"mem://x/names.zip":  {"|zip:a.nc", "|zip:b.nc", "|zip:m/c.nc"},
		"mem://x/store.zip":  {""},
		"mem://x/stores.zip": {"|zip:a.nc", "|zip:s.zarr/c/0", "|zip:s.zarr/zarr.json"},
	} {
		for i := range want {
			want[i] = name + want[i]
		}
		if got, err := o.InPacked(t.Context(), name, func(string) bool { return true }); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, want %q, %v", got, want, err)
		}
	}
	for name, want := range map[string]string{"a.nc": "./a.nc", "b.nc": "/b.nc"} {
		if got, err := readPacked(t, o, "mem://x/names.zip|zip:"+name); got != want || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// TestPackedPanic checks that a pass that panics leaves nothing behind for which others wait.
func TestPackedPanic(t *testing.T) {
	for outer, steps := range packedSteps {
		started, resume := make(chan struct{}), make(chan struct{})
		var calls atomic.Int64
		o := packedOpener(packedFiles(t, []byte("content")), func(ctx context.Context, op source.Operation) (context.Context, func(error)) {
			if op.Name == "source.unpack" && calls.Add(1) == 1 {
				close(started)
				<-resume
				panic("a defect")
			}
			return ctx, func(error) {}
		})
		var group sync.WaitGroup
		group.Go(func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", outer)
				}
			}()
			_, _ = o.Open(t.Context(), outer+steps)
		})
		<-started
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		group.Go(func() {
			// It waits for the pass that panics, or makes its own.
			if s, err := o.Open(ctx, outer+steps); err == nil {
				s.Close()
			} else if ctx.Err() != nil {
				t.Errorf("%s: %v", outer, err)
			}
		})
		time.Sleep(time.Millisecond)
		close(resume)
		group.Wait()
		cancel()
		if got, err := readPacked(t, o, outer+steps); got != "content" || err != nil {
			t.Errorf("%s: got %q, %v", outer, got, err)
		}
	}
}
