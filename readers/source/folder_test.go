package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// makeFolder writes files by their keys into a new folder.
func makeFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "folder")
	for key, data := range files {
		name := filepath.Join(dir, key)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func openFolder(t *testing.T, dir string) *Source {
	t.Helper()
	s, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func names(t *testing.T, s *Source, key string) []string {
	t.Helper()
	var out []string
	for e, err := range s.List(context.Background(), key) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Folder {
			e.Name += "/"
		}
		if e.Err != nil {
			e.Name += " cannot be read"
		}
		out = append(out, e.Name)
	}
	slices.Sort(out)
	return out
}

func TestFolder(t *testing.T) {
	dir := makeFolder(t, map[string]string{"a": "12345", "sub/b": "678", "sub/deep/c": ""})
	outside := filepath.Join(dir, "..", "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"in": "a", "out": outside, "nowhere": "gone", "loop": "."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := openFolder(t, dir)
	if !s.IsFolder() || s.Size() != 0 {
		t.Errorf("folder: got IsFolder %v, Size %d", s.IsFolder(), s.Size())
	}
	if got := names(t, s, ""); !slices.Equal(got, []string{"a", "in", "loop/", "nowhere cannot be read", "out cannot be read", "sub/"}) {
		t.Errorf("List: got %q", got)
	}
	if got := names(t, s, "sub"); !slices.Equal(got, []string{"b", "deep/"}) {
		t.Errorf("List of sub: got %q", got)
	}
	if got := names(t, s, "absent"); len(got) > 0 {
		t.Errorf("List of a missing folder: got %q", got)
	}
	// Entries below these keys are not missing: the keys are listed, but cannot be folders.
	for _, key := range []string{"a", "nowhere", "nowhere/below", "out", "out/below"} {
		listed := 0
		var failed error
		for _, err := range s.List(context.Background(), key) {
			listed++
			failed = err
		}
		if listed != 1 || failed == nil || errors.Is(failed, fs.ErrNotExist) {
			t.Errorf("List of %s: got %d entries, %v", key, listed, failed)
		}
	}
	for _, key := range []string{"nowhere", "nowhere/below", "out"} {
		if _, err := s.Member(context.Background(), key); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Member %s: got %v", key, err)
		}
	}
	for key, want := range map[string]string{"a": "12345", "in": "12345", "sub/b": "678", "sub/deep/c": "", "loop/a": "12345"} {
		if got, err := s.ReadMember(context.Background(), key, 100); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", key, got, err)
		}
	}
}

func TestFolderRefuses(t *testing.T) {
	dir := makeFolder(t, map[string]string{"a": "12345"})
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	s := openFolder(t, dir)
	ctx := context.Background()
	for key, want := range map[string]error{"absent": fs.ErrNotExist, "a/b": fs.ErrNotExist, "../folder/a": fs.ErrInvalid, "/etc/hostname": fs.ErrInvalid} {
		if _, err := s.ReadMember(ctx, key, 100); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", key, err, want)
		}
	}
	for _, key := range []string{"out", "."} {
		if data, err := s.ReadMember(ctx, key, 100); err == nil {
			t.Errorf("%s: read %q", key, data)
		}
	}
	if _, err := s.ReadMember(ctx, "a", 4); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a file over the limit: got %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Member(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: got %v", err)
	}
	if _, err := s.View(ctx, 0, 1); err == nil {
		t.Error("reading the folder itself gave no error")
	}
	for _, err := range s.List(ended, "") {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("listing in an ended context: got %v", err)
		}
	}
}

func TestFileIsNotFolder(t *testing.T) {
	s := openFolder(t, filepath.Join(makeFolder(t, map[string]string{"a": "12345"}), "a"))
	if s.IsFolder() {
		t.Error("IsFolder of a file is true")
	}
	if _, err := s.Member(context.Background(), "b"); err == nil {
		t.Error("a file has a member")
	}
	for _, err := range s.List(context.Background(), "") {
		if err == nil {
			t.Error("a file can be listed")
		}
	}
}

func TestOpenWithin(t *testing.T) {
	dir := makeFolder(t, map[string]string{"data/a b": "12345", "secret": "no"})
	data := filepath.Join(dir, "data")
	link := filepath.Join(dir, "link")
	for name, target := range map[string]string{link: data, filepath.Join(data, "out"): "../secret"} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	url := "file:///" + strings.TrimPrefix(filepath.ToSlash(data), "/")
	another := errors.ErrUnsupported
	if runtime.GOOS == "windows" { // where file URLs have a host
		another = ErrForbidden
	}
	for _, test := range []struct {
		name, path, folder string
		want               error
	}{
		{"path", data + "/a b", data, nil},
		{"URL", url + "/a%20b", data, nil},
		{"folder above", data + "/a b", dir, nil},
		{"folder by a link", data + "/a b", link, nil},
		{"file by a link to its folder", link + "/a b", data, nil},
		{"outside", dir + "/secret", data, ErrForbidden},
		{"dots", data + "/../secret", data, ErrForbidden},
		{"dots in a URL", url + "/%2e%2e/secret", data, ErrForbidden},
		{"another scheme", "s3://bucket/key", data, errors.ErrUnsupported},
		{"another host", "file://host/a", data, another},
		{"absent", data + "/b", data, fs.ErrNotExist},
	} {
		s, err := OpenWithin(context.Background(), test.path, "/nowhere", test.folder)
		if !errors.Is(err, test.want) || err == nil && s.Size() != 5 {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if err == nil {
			_ = s.Close()
		}
	}
	if _, err := OpenWithin(context.Background(), data+"/out", data); err == nil {
		t.Error("a link out of the folder was followed")
	}
}
