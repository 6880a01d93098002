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

// TestOpenBesidePacked checks where files are looked for that packed files name.
func TestOpenBesidePacked(t *testing.T) {
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, filepath.FromSlash(name)) }
	for _, name := range []string{"x.zip", "x.tgz", "a.h5.gz", "b.h5.gz", "c.h5", "m/d.h5", "e.h5", "e.h5.gz"} {
		if err := os.MkdirAll(filepath.Dir(path(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	zip, tgz := path("x.zip")+"|zip:", path("x.tgz")+"|gzip:|tar:"
	for _, c := range []struct {
		of, name string
		want     []string
		err      error
	}{
		{of: zip + "a.h5", name: "c.h5", want: []string{zip + "c.h5", path("c.h5")}},
		{of: zip + "m/a.h5", name: "c.h5", want: []string{zip + "m/c.h5"}},
		{of: zip + "m/a.h5", name: "d.h5", want: []string{zip + "m/d.h5", path("m/d.h5")}},
		{of: zip + "m/a.h5", name: "../n/./c.h5", want: []string{zip + "n/c.h5"}},
		{of: tgz + "m/a.h5", name: "../c.h5", want: []string{tgz + "c.h5", path("c.h5")}},
		{of: zip + "m/a.h5", name: path("c.h5"), want: []string{zip + "m/c.h5", path("c.h5")}},
		{of: zip + "a.h5", name: "../c.h5", err: errors.ErrUnsupported},
		{of: tgz + "m/a.h5", name: "../../c.h5", err: errors.ErrUnsupported},
		{of: path("a.h5.gz") + "|gzip:", name: "b.h5", want: []string{path("b.h5.gz") + "|gzip:"}},
		{of: path("a.h5.gz") + "|gzip:", name: "c.h5", want: []string{path("c.h5")}},
		{of: path("a.h5.gz") + "|gzip:", name: "e.h5", want: []string{path("e.h5"), path("e.h5.gz") + "|gzip:"}},
		{of: "file://" + filepath.ToSlash(folder) + "/x.zip|zip:m/50%.h5", name: "c.h5", want: []string{"file://" + filepath.ToSlash(folder) + "/x.zip|zip:m/c.h5"}},
		{of: "s3://b/f/x.zip|zip:a.h5", name: "c.h5", want: []string{"s3://b/f/x.zip|zip:c.h5", "s3://b/f/c.h5"}},
		{of: "s3://b/f/x.zip|zip:m/a.h5", name: "c.h5", want: []string{"s3://b/f/x.zip|zip:m/c.h5", "s3://b/f/m/c.h5"}},
		{of: "s3://b/f/a.h5.zst|zstd:", name: "c.h5", want: []string{"s3://b/f/c.h5", "s3://b/f/c.h5.zst|zstd:"}},
	} {
		var asked []string
		_, err := source.OpenBeside(c.of, c.name, func(place string) (*source.Source, error) {
			asked = append(asked, place)
			return nil, fs.ErrNotExist
		})
		if c.err == nil {
			c.err = fs.ErrNotExist
		}
		if !errors.Is(err, c.err) || !slices.Equal(asked, c.want) {
			t.Errorf("%s names %s: asked for %q, want %q; %v", c.of, c.name, asked, c.want, err)
		}
	}
}

// TestBeside checks the names of files in the folder of another file.
func TestBeside(t *testing.T) {
	for of, want := range map[string]string{
		"a.h5":                     "b.h5",
		"/x/a.h5":                  "/x/b.h5",
		"https://h/x/a.h5":         "https://h/x/b.h5",
		"/x/a.h5.gz|gzip:":         "/x/b.h5",
		"/x/y.zip|zip:a.h5":        "/x/y.zip|zip:b.h5",
		"y.tar|tar:m/a.h5":         "y.tar|tar:m/b.h5",
		"s3://b/y.tgz|gzip:|tar:a": "s3://b/y.tgz|gzip:|tar:b.h5",
	} {
		if got := source.Beside(of, "b.h5"); got != want {
			t.Errorf("beside %s: %s, want %s", of, got, want)
		}
	}
}
