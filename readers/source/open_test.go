package source_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"varve/fixtures/system"
	"varve/readers/source"
)

func TestNames(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) string {
		name = filepath.Join(dir, filepath.FromSlash(system.FileName(name)))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("12345"), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	url := func(name string) string { return "/" + strings.TrimPrefix(filepath.ToSlash(name), "/") }
	plain := write("plain")
	for _, name := range []string{
		plain, "file://" + url(plain), "FILE://localhost" + url(plain), "local://" + plain,
		write("a b%20c#d?e:f.nc"), write("é.nc"), write("x:/y"), write("-"), write("not a scheme:/ /a"),
		"file://" + strings.ReplaceAll(url(write("g h")), " ", "%20"), "file://" + strings.ReplaceAll(url(write("i#j")), "#", "%23"),
	} {
		s, err := source.Open(context.Background(), name)
		if err != nil || s.Size() != 5 || s.Name() != name {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = s.Close()
		}
	}
	if _, err := source.LocalPath("file://host/a"); runtime.GOOS != "windows" && !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file on another host: %v", err)
	}
	for name, want := range map[string]error{
		"s3://":                              nil,
		"s3:///key":                          nil,
		"s3://a b/key":                       nil,
		"gs://user@bucket/key":               nil,
		"az://../key":                        nil,
		"gopher://host/file":                 errors.ErrUnsupported,
		dir + "/absent":                      fs.ErrNotExist,
		"file://" + url(dir) + "/absent":     fs.ErrNotExist,
		"file://" + url(plain) + "?a":        nil,
		"file://" + url(plain) + "#a":        nil,
		"http://":                            nil,
		"http:///path":                       nil,
		"http://127.0.0.1:1/a#b":             nil,
		"http://127.0.0.1:1/a b\x7f":         nil,
		"":                                   fs.ErrNotExist,
		"name with NUL \x00":                 nil,
		"http://name.that.does.not.invalid/": nil,
	} {
		s, err := source.Open(context.Background(), name)
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: got %v, %v, want %v", name, s, err, want)
		} else {
			t.Log(err)
		}
	}
}

// TestNotFiles opens devices and pipes. It must not block on a pipe without a writer.
func TestNotFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, socket := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket")
	if err := system.MakePipe(pipe); err != nil {
		t.Skip(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{pipe: "named pipe", socket: "socket", "/dev/null": "device", loop: "too many"} {
		_, err := source.Open(context.Background(), name)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %q in it", name, err, want)
		}
	}
}

func TestNoPermission(t *testing.T) {
	if os.Geteuid() <= 0 {
		t.Skip("this user may read everything, or the file system ignores file modes")
	}
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("12345"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := source.Open(context.Background(), name); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want fs.ErrPermission", err)
	}
}

func TestAllow(t *testing.T) {
	opener := source.NewOpener(&source.Options{Allow: allowAllBut("/secret")})
	if _, err := opener.Open(context.Background(), "/some/secret"); !errors.Is(err, source.ErrForbidden) {
		t.Errorf("got %v, want ErrForbidden", err)
	}
}

// TestOpenVersionOfFile checks that a file opens only if it has the recorded version.
func TestOpenVersionOfFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	s, err := source.Open(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	opener := source.NewOpener(nil)
	for what, c := range map[string]struct {
		id   source.Identity
		want error
	}{
		"the same":      {s.Identity(), nil},
		"only the size": {source.Identity{Size: 5}, nil},
		"another size":  {source.Identity{Size: 4}, source.ErrChanged},
		"another time":  {source.Identity{Size: 5, Modified: s.Identity().Modified.Add(1)}, source.ErrChanged},
		"an ETag":       {source.Identity{Size: 5, ETag: `"a"`}, source.ErrChanged},
	} {
		got, err := opener.OpenVersion(ctx, name, c.id)
		if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %v", what, err, c.want)
		}
		if err == nil {
			_ = got.Close()
		}
	}
	if _, err := opener.OpenVersion(ctx, filepath.Dir(name), source.Identity{}); err == nil {
		t.Error("OpenVersion of a folder succeeded")
	}
}
