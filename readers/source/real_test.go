//go:build unix

package source

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOpenReal checks that a path without links is opened, even below folders that may not be listed, and that no link
// in a path is followed.
func TestOpenReal(t *testing.T) {
	dir := realDir(t)
	inner := filepath.Join(dir, "a", "b")
	name := filepath.Join(inner, "file")
	if err := errors.Join(os.MkdirAll(inner, 0o777), os.WriteFile(name, []byte("data"), 0o666),
		os.Symlink("b", filepath.Join(dir, "a", "link")), os.Symlink("file", filepath.Join(inner, "filelink")),
		os.Symlink(inner, filepath.Join(dir, "far")), os.Chmod(filepath.Join(dir, "a"), 0o311)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(dir, "a"), 0o777) })
	for path, want := range map[string]error{
		name:                                    nil,
		filepath.Join(dir, "a", "link", "file"): ErrForbidden,
		filepath.Join(inner, "filelink"):        ErrForbidden,
		filepath.Join(dir, "far", "file"):       ErrForbidden,
		filepath.Join(inner, "none"):            fs.ErrNotExist,
		filepath.Join(dir, "none", "file"):      fs.ErrNotExist,
		"a/b/file":                              fs.ErrInvalid,
		filepath.Join(name, "below a file"):     ErrForbidden,
		dir + "/a/../a/./b//file":               nil,
	} {
		f, err := OpenReal(path)
		if !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
		if f == nil {
			continue
		}
		data, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil || string(data) != "data" {
			t.Errorf("%s: read %q: %v", path, data, err)
		}
	}
}

// TestOpenRealRace replaces a folder by a link to a secret one, and back, while files are opened. The secret must never be
// opened.
func TestOpenRealRace(t *testing.T) {
	dir := realDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for folder, text := range map[string]string{"open/x": "public", "secret/x": "secret"} {
		if err := errors.Join(os.MkdirAll(at(folder), 0o777), os.WriteFile(at(folder+"/file"), []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secret", at("link")); err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-end:
				return
			default:
			}
			if err := errors.Join(os.Rename(at("open"), at("away")), os.Rename(at("link"), at("open")),
				os.Rename(at("open"), at("link")), os.Rename(at("away"), at("open"))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	opened, refused := 0, 0
	for begin := time.Now(); time.Since(begin) < 5*time.Second && (opened < 200 || refused < 20); {
		f, err := OpenReal(at("open/x/file"))
		if err != nil {
			if !errors.Is(err, ErrForbidden) && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			refused++
			continue
		}
		data, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(data, []byte("public")) {
			t.Fatalf("read %q", data)
		}
		opened++
	}
	close(end)
	swapping.Wait()
	if opened == 0 {
		t.Error("the file was never opened")
	}
	t.Logf("opened %d times, refused %d times", opened, refused)
}
