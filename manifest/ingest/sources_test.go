package ingest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func touch(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExpand(t *testing.T) {
	root := t.TempDir()
	touch(t, root, "a.nc", "b/2.nc", "b/1.nc", "b/c/note.txt", "b/.hidden", "[x]{y}.nc", "x.nc", "100%.nc", "day 1.nc", "a:b.nc", "@at.nc")
	if err := os.MkdirAll(filepath.Join(root, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(root, "z/store.zarr")
	touch(t, root, "z/store.zarr/c/0", "z/3.nc")
	if err := os.WriteFile(filepath.Join(store, "zarr.json"), []byte(`{"zarr_format":3,"node_type":"group","attributes":{}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	touch(t, root, "n/store.n5/raw/0/0", "n/4.nc", "n/attributes.json")
	if err := os.WriteFile(filepath.Join(root, "n/store.n5/attributes.json"), []byte(`{"n5":"4.0.0"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	list, windows, itself := filepath.Join(root, "list.txt"), filepath.Join(root, "windows.txt"), filepath.Join(root, "itself.txt")
	for name, text := range map[string]string{
		list:    filepath.Join(root, "x.nc") + "\r\n\n" + filepath.Join(root, "day 1.nc") + "\n",
		windows: "\ufeffx.nc\r\na.nc",
		itself:  "x.nc\n@" + itself,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	touch(t, root, "m/1.nc", "m/out.varve/current", "m/out.varve/snapshots/1.json", "m/out.varve/tables/t.parquet")
	elsewhere := t.TempDir()
	touch(t, elsewhere, "4.nc", "deep/5.nc", "notes.txt")
	for link, to := range map[string]string{"linked/2014": elsewhere, "folder": filepath.Join(root, "linked"), "linked/gone.nc": "nothing.nc",
		"linked/one.nc": filepath.Join(root, "a.nc"), "circle/a/back": filepath.Join(root, "circle")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip(err) // the system has no symbolic links, or does not permit them
		}
	}
	for _, c := range []struct {
		name string
		in   Sources
		want []string // below root
		err  error
	}{
		{"a manifest", Sources{Names: []string{"m/out.varve"}}, nil, errors.ErrUnsupported},
		{"a manifest among files", Sources{Names: []string{"m"}}, []string{"m/1.nc"}, nil},
		{"a manifest among matching files", Sources{Names: []string{"m"}, Match: "*.nc"}, []string{"m/1.nc"}, nil},
		{"file", Sources{Names: []string{"a.nc"}}, []string{"a.nc"}, nil},
		{"in the order given", Sources{Names: []string{"x.nc", "a.nc"}}, []string{"x.nc", "a.nc"}, nil},
		{"folder", Sources{Names: []string{"b"}}, []string{"b/1.nc", "b/2.nc", "b/c/note.txt"}, nil},
		{"folder and match", Sources{Names: []string{"b"}, Match: "*.nc"}, []string{"b/1.nc", "b/2.nc"}, nil},
		{"a file name with brackets", Sources{Names: []string{"[x]{y}.nc"}}, []string{"[x]{y}.nc"}, nil},
		{"glob", Sources{Names: []string{"b/*.nc"}}, []string{"b/1.nc", "b/2.nc"}, nil},
		{"deep glob", Sources{Names: []string{"[bm]/**/*.nc"}}, []string{"b/1.nc", "b/2.nc", "m/1.nc"}, nil},
		{"deep glob below a named folder", Sources{Names: []string{"linked/**/deep/*"}}, []string{"linked/2014/deep/5.nc"}, nil},
		{"deep glob of folders", Sources{Names: []string{"linked/**/deep"}}, []string{"linked/2014/deep/5.nc"}, nil},
		{"deep glob of all", Sources{Names: []string{"b/**"}}, []string{"b/1.nc", "b/2.nc", "b/c/note.txt"}, nil},
		{"deep glob of stores", Sources{Names: []string{"z/**/*.zarr"}}, []string{"z/store.zarr"}, nil},
		{"deep glob of nothing", Sources{Names: []string{"b/**/x*.nc"}}, nil, fs.ErrNotExist},
		{"deep glob in a missing folder", Sources{Names: []string{"gone/**/*.nc"}}, nil, fs.ErrNotExist},
		{"invalid deep glob", Sources{Names: []string{"b/**/[x"}}, nil, path.ErrBadPattern},
		{"a pattern with brackets", Sources{Names: []string{"[ax].nc"}}, []string{"a.nc", "x.nc"}, nil},
		{"names with a colon or percent sign are no URLs", Sources{Names: []string{"a:b.nc", "100%.nc"}}, []string{"a:b.nc", "100%.nc"}, nil},
		{"a store is one source", Sources{Names: []string{"z"}}, []string{"z/3.nc", "z/store.zarr"}, nil},
		{"store itself", Sources{Names: []string{"z/store.zarr"}}, []string{"z/store.zarr"}, nil},
		{"a store in an unsupported format is one source, so that it is refused once", Sources{Names: []string{"n"}}, []string{"n/4.nc", "n/attributes.json", "n/store.n5"}, nil},
		{"links", Sources{Names: []string{"linked"}}, []string{"linked/2014/4.nc", "linked/2014/deep/5.nc", "linked/2014/notes.txt", "linked/gone.nc", "linked/one.nc"}, nil},
		{"links and match", Sources{Names: []string{"linked"}, Match: "[45].nc"}, []string{"linked/2014/4.nc", "linked/2014/deep/5.nc"}, nil},
		{"a link to a folder", Sources{Names: []string{"folder"}, Match: "4.nc"}, []string{"folder/2014/4.nc"}, nil},
		{"a link in a circle", Sources{Names: []string{"circle"}}, nil, fs.ErrInvalid},
		{"list", Sources{Names: []string{"@" + list}}, []string{"x.nc", "day 1.nc"}, nil},
		{"list from Windows", Sources{Names: []string{"@" + windows}}, []string{"x.nc", "a.nc"}, nil},
		{"list of itself", Sources{Names: []string{"@" + itself}}, nil, fs.ErrInvalid},
		{"a file whose name begins with @", Sources{Names: []string{"@at.nc"}}, []string{"@at.nc"}, nil},
		{"missing file", Sources{Names: []string{"gone.nc"}}, nil, fs.ErrNotExist},
		{"nothing matches", Sources{Names: []string{"gone*.nc"}}, nil, fs.ErrNotExist},
		{"empty folder", Sources{Names: []string{"empty"}}, nil, fs.ErrNotExist},
		{"missing list", Sources{Names: []string{"@gone"}}, nil, fs.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(root)
			got, err := c.in.Expand(t.Context())
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, not %v", err, c.err)
			}
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], root+"/")
			}
			if err == nil && !slices.Equal(got, c.want) {
				t.Errorf("got %q, not %q", got, c.want)
			}
		})
	}
}

func TestExpandFromStandardInput(t *testing.T) {
	s := Sources{Names: []string{"@-"}, Stdin: strings.NewReader("https://host/a b.nc?x=1\ns3://bucket/c.nc\n")}
	got, err := s.Expand(t.Context())
	if want := []string{"https://host/a b.nc?x=1", "s3://bucket/c.nc"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, not %q", got, err, want)
	}
}

// TestWaitingForAListEnds: cancelling stops the wait for a list that provides nothing.
func TestWaitingForAListEnds(t *testing.T) {
	in, out := io.Pipe()
	defer out.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	s := Sources{Names: []string{"@-"}, Stdin: in}
	if _, err := s.Expand(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestEveryMissingSourceIsNamed(t *testing.T) {
	s := Sources{Names: []string{"/gone/one.nc", "/gone/two.nc"}}
	_, err := s.Expand(t.Context())
	if err == nil || !strings.Contains(err.Error(), "one.nc") || !strings.Contains(err.Error(), "two.nc") {
		t.Errorf("the error does not name both files: %v", err)
	}
}
