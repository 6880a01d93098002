package source_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/readers/source"
)

// TestOpenBeside checks that files named by other files are found where libhdf5 finds them.
func TestOpenBeside(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"own/a", "own/b", "own/sub/a", "real/b", "real/c", "real/d", "other/b"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"own/link": "../real/d", "own/gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(folder, from)); err != nil {
			t.Fatal(err)
		}
	}
	own, all := []string{filepath.Join(folder, "own")}, []string{folder}
	for _, c := range []struct {
		of, name string
		allowed  []string
		want     string
		err      error
	}{
		{of: "own/a", name: "b", allowed: own, want: "own/b"},
		{of: "own/a", name: "sub/a", allowed: own, want: "own/sub/a"},
		{of: "own/a", name: "absent", allowed: own, err: fs.ErrNotExist},
		{of: "own/a", name: "gone", allowed: own, err: fs.ErrNotExist},
		{of: "own/a", name: "../other/b", allowed: own, err: source.ErrForbidden},
		{of: "own/a", name: "../other/absent", allowed: own, err: fs.ErrNotExist},
		{of: "own/a", name: filepath.Join(folder, "other/b"), allowed: all, want: "other/b"},
		{of: "own/a", name: filepath.Join(folder, "other/b"), allowed: own, want: "own/b"},
		{of: "own/a", name: filepath.Join(folder, "absent/b"), allowed: own, want: "own/b"},
		{of: "own/a", name: filepath.Join(folder, "absent/c"), allowed: own, err: fs.ErrNotExist},
		{of: "own/link", name: "b", allowed: all, want: "own/b"},
		{of: "own/link", name: "c", allowed: all, want: "real/c"},
		{of: "own/link", name: "c", allowed: own, err: source.ErrForbidden},
		{of: "own/link", name: "absent", allowed: own, err: fs.ErrNotExist},
	} {
		src, err := source.OpenBeside(filepath.Join(folder, c.of), c.name, func(place string) (*source.Source, error) {
			return source.OpenWithin(context.Background(), place, c.allowed...)
		})
		if c.err != nil {
			if !errors.Is(err, c.err) {
				t.Errorf("%s names %s: %v, want %v", c.of, c.name, err, c.err)
			}
			continue
		}
		if err != nil || src.Name() != filepath.Join(folder, c.want) {
			t.Errorf("%s names %s: %v, want %s", c.of, c.name, err, c.want)
			continue
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{
		"sub/c.h5":         "https://host/a//f/sub/c.h5",
		"/absent/sub/c.h5": "https://host/a//f/c.h5",
		"./c.h5":           "https://host/a//f/c.h5",
		"sub/../c.h5":      "https://host/a//f/c.h5",
		"../c.h5":          "https://host/a//c.h5",
		"../../../x/c.h5":  "https://host/x/c.h5",
		"../../../../c.h5": "https://host/c.h5",
	} {
		var asked []string
		_, err := source.OpenBeside("https://host/a//f/b.h5", name, func(place string) (*source.Source, error) {
			asked = append(asked, place)
			return nil, fs.ErrNotExist
		})
		if !errors.Is(err, fs.ErrNotExist) || !slices.Equal(asked, []string{want}) {
			t.Errorf("%s: asked for %q, %v", name, asked, err)
		}
	}
}
