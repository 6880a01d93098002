package zarr

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers/source"
)

// TestNotMissing replaces a part of a store by a link that cannot be followed, or by something that is not a file. The
// names are listed, so what is below them is not missing, and reads fail instead of returning fill values.
func TestNotMissing(t *testing.T) {
	escape := func(t *testing.T, name string) {
		to := filepath.Join(t.TempDir(), "elsewhere")
		must(t, os.Rename(name, to))
		must(t, os.Symlink(to, name))
	}
	dangle := func(t *testing.T, name string) {
		must(t, os.RemoveAll(name))
		must(t, os.Symlink("nothing", name))
	}
	folder := func(t *testing.T, name string) {
		must(t, os.RemoveAll(name))
		must(t, os.Mkdir(name, 0o755))
	}
	file := func(t *testing.T, name string) {
		must(t, os.RemoveAll(name))
		must(t, os.WriteFile(name, nil, 0o644))
	}
	for _, test := range []struct {
		name, key string // the key of what is replaced
		replace   func(t *testing.T, name string)
		want      error
	}{
		{"a chunk is elsewhere", "a/c/0", escape, source.ErrLink},
		{"a chunk is a dangling link", "a/c/0", dangle, source.ErrLink},
		{"a chunk is a folder", "a/c/0", folder, source.ErrFolder},
		{"the chunks are elsewhere", "a/c", escape, source.ErrLink},
		{"the chunks are a dangling link", "a/c", dangle, source.ErrLink},
		{"the chunks are a file", "a/c", file, errFile},
		{"a document is elsewhere", "a/zarr.json", escape, nil},
		{"a document is a dangling link", "a/zarr.json", dangle, source.ErrLink},
		{"an array is elsewhere", "a", escape, nil},
		{"an array is a dangling link", "a", dangle, source.ErrLink},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(dir, "a", "c"), 0o755))
			for key, content := range map[string]string{"zarr.json": group3, "a/zarr.json": array3(), "a/c/0": "\x01\x02"} {
				must(t, os.WriteFile(filepath.Join(dir, key), []byte(content), 0o644))
			}
			name := filepath.Join(dir, filepath.FromSlash(test.key))
			test.replace(t, name)
			err := listAll(t, dir)
			if err == nil || errors.Is(err, fs.ErrNotExist) || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("the error does not name %s: %v", name, err)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listAll opens a store, and lists the chunks of all arrays. It returns the first error or problem.
func listAll(t *testing.T, dir string) error {
	t.Helper()
	src, err := source.Open(context.Background(), dir)
	must(t, err)
	defer src.Close()
	data, err := Format{}.Open(context.Background(), src)
	if err != nil {
		return err
	}
	for _, p := range data.Problems {
		return p.Err
	}
	for _, v := range data.Root.Variables {
		for _, err := range v.Storage.Refs(context.Background()) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}
