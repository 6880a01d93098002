package store

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/manifest"
	"varve/readers/source"
)

// readWith opens a manifest with these options and reads all of it.
func readWith(t *testing.T, m *memoryTables, snap *manifest.Snapshot, opts Options) ([]byte, error) {
	t.Helper()
	s, err := newStore(snap, m, nil, &opts)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return readAll(t.Context(), t, s)
}

// ownConfig makes an empty config folder for the test, and returns the path that the user's key will have.
func ownConfig(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	return filepath.Join(dir, "varve", "key")
}

// TestAllowed checks which allowed prefixes are sufficient to read two files in a folder.
func TestAllowed(t *testing.T) {
	ownConfig(t)
	for _, c := range []struct {
		name  string
		allow func(dir string) []string
		ok    bool
	}{
		{"nothing", func(string) []string { return nil }, false},
		{"the folder", func(dir string) []string { return []string{dir} }, true},
		{"the folder with a slash", func(dir string) []string { return []string{dir + "/"} }, true},
		{"the folder as a URL", func(dir string) []string { return []string{"file://" + dir} }, true},
		{"a folder above", func(dir string) []string { return []string{filepath.Dir(dir)} }, true},
		{"another folder", func(dir string) []string { return []string{dir + "x", "/etc"} }, false},
		{"the beginning of the folder's name", func(dir string) []string { return []string{dir[:len(dir)-1]} }, false},
		{"one of the files", func(dir string) []string { return []string{filepath.Join(dir, "file 0.bin")} }, false},
		{"each file", func(dir string) []string {
			return []string{filepath.Join(dir, "file 0.bin"), filepath.Join(dir, "file 1.bin")}
		}, true},
		{"a server", func(string) []string { return []string{"https://example.com/"} }, false},
		{"an empty prefix and the working folder", func(string) []string { return []string{"", "."} }, false},
	} {
		m, snap, truth := archive(t, 2, true)
		dir := filepath.Dir(m.sources[0].URL)
		got, err := readWith(t, m, snap, Options{Allow: c.allow(dir)})
		switch {
		case c.ok && (err != nil || !bytes.Equal(got, truth)):
			t.Errorf("%s: %v", c.name, err)
		case !c.ok && !errors.Is(err, source.ErrForbidden):
			t.Errorf("%s: got %v, want %v", c.name, err, source.ErrForbidden)
		case !c.ok && !strings.Contains(err.Error(), dir):
			t.Errorf("%s: %v does not name %s", c.name, err, dir)
		}
	}
}

// TestEscapes checks that no path leads out of an allowed folder.
func TestEscapes(t *testing.T) {
	ownConfig(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		url  func(dir string) string
		want error
	}{
		{"a path", func(string) string { return outside }, source.ErrForbidden},
		{"a path that does not exist", func(string) string { return outside + "x" }, source.ErrForbidden},
		{"a URL", func(string) string { return "file://" + outside }, source.ErrForbidden},
		{"dots", func(dir string) string { return dir + "/../../" + filepath.Base(filepath.Dir(outside)) + "/secret" }, source.ErrForbidden},
		{"dots in a URL", func(dir string) string { return "file://" + dir + "/%2e%2e/%2e%2e/secret" }, source.ErrForbidden},
		{"a link to a file", func(dir string) string {
			name := filepath.Join(dir, "link")
			if err := os.Symlink(outside, name); err != nil {
				t.Fatal(err)
			}
			return name
		}, source.ErrForbidden},
		{"a link to a folder", func(dir string) string {
			name := filepath.Join(dir, "folder")
			if err := os.Symlink(filepath.Dir(outside), name); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(name, "secret")
		}, source.ErrForbidden},
		{"a device", func(string) string { return "/dev/zero" }, source.ErrForbidden},
		{"a folder", func(dir string) string { return dir }, errAny},
		{"a server", func(string) string { return "http://127.0.0.1:1/x" }, source.ErrForbidden},
		{"nothing", func(string) string { return "" }, errAny},
	} {
		m, snap, _ := archive(t, 2, true)
		dir := filepath.Dir(m.sources[0].URL)
		m.sources[1].URL = c.url(dir)
		info, err := os.Stat(outside)
		if err != nil {
			t.Fatal(err)
		}
		m.sources[1].Size, m.sources[1].Modified = info.Size(), info.ModTime()
		_, err = readWith(t, m, snap, Options{Allow: []string{dir}})
		if err == nil || c.want != errAny && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

// TestLinkedFolder checks that a link to an allowed folder may be used.
func TestLinkedFolder(t *testing.T) {
	ownConfig(t)
	m, snap, truth := archive(t, 2, true)
	dir := filepath.Dir(m.sources[0].URL)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, s := range m.sources {
		s.URL = filepath.Join(link, filepath.Base(s.URL))
	}
	got, err := readWith(t, m, snap, Options{Allow: []string{link}})
	if err != nil || !bytes.Equal(got, truth) {
		t.Error(err)
	}
}

// TestSeal checks that a store reads the sources of a sealed manifest without Allow, and that it ignores forged
// seals and seals of other users.
func TestSeal(t *testing.T) {
	key := ownConfig(t)
	m, snap, truth := archive(t, 2, true)
	var urls []string
	for _, s := range m.sources {
		urls = append(urls, s.URL)
	}
	seal, err := Seal(nil, nil, slices.Values(urls))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(key)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key: %v (%v)", info, err)
	}
	again, err := Seal(nil, nil, slices.Values(urls))
	if err != nil || again.MAC != seal.MAC {
		t.Errorf("a second seal of the same sources differs (%v)", err)
	}
	read := func(s *manifest.Seal) error {
		snap.Seal = s
		got, err := readWith(t, m, snap, Options{})
		if err == nil && !bytes.Equal(got, truth) {
			t.Error("wrong values")
		}
		return err
	}
	if err := read(seal); err != nil {
		t.Errorf("sealed: %v", err)
	}
	more, err := Seal(seal, nil, slices.Values([]string{"/no/such/file"}))
	if err != nil || !slices.Contains(more.Prefixes, "/no/such") || !slices.Contains(more.Prefixes, seal.Prefixes[0]) || !isSealed(more) {
		t.Errorf("a seal with added sources: %v (%v)", more, err)
	}
	for i := range 200 {
		if more, err = Seal(more, nil, slices.Values([]string{fmt.Sprintf("/no/such/%d/file", i)})); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(more.Prefixes); n > maxPrefixes || !slices.Contains(more.Prefixes, "/no/such") {
		t.Errorf("%d prefixes after adding sources many times", n)
	}
	forged := *seal
	forged.Prefixes = append(slices.Clone(seal.Prefixes), "/")
	for name, s := range map[string]*manifest.Seal{
		"none": nil, "another prefix": &forged, "no code": {Prefixes: seal.Prefixes}, "no hex": {Prefixes: seal.Prefixes, MAC: "x"},
	} {
		if err := read(s); !errors.Is(err, source.ErrForbidden) {
			t.Errorf("%s: got %v, want %v", name, err, source.ErrForbidden)
		}
	}
	if s, err := Seal(&forged, nil, slices.Values(urls)); err != nil || slices.Contains(s.Prefixes, "/") {
		t.Errorf("adding sources to a forged seal: %v (%v)", s, err)
	}
	if err := read(&forged); !strings.Contains(err.Error(), seal.Prefixes[0]) {
		t.Errorf("%v does not name %s", err, seal.Prefixes[0])
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := read(seal); !errors.Is(err, source.ErrForbidden) {
		t.Errorf("a key that other users can read: got %v", err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if err := read(seal); !errors.Is(err, source.ErrForbidden) {
		t.Errorf("another user: got %v", err)
	}
}

// TestPrefixes checks which prefixes a seal lists for sources.
func TestPrefixes(t *testing.T) {
	many := func(yield func(string) bool) {
		for i := range 500 {
			if !yield(fmt.Sprintf("/data/sst/%d/%d/x.nc", 1990+i%40, i)) {
				return
			}
		}
	}
	for _, c := range []struct {
		name string
		urls func(func(string) bool)
		want []string
	}{
		{"one folder", slices.Values([]string{"/no/such/a.nc", "/no/such/b.nc"}), []string{"/no/such"}},
		{"a server", slices.Values([]string{"https://h/a/b.nc?x=1", "https://h/c.nc"}), []string{"https://h/", "https://h/a"}},
		{"a bucket", slices.Values([]string{"s3://b/a/100%.nc", "s3://b/a b/#1.nc"}), []string{"s3://b/a", "s3://b/a%20b"}},
		{"a root", slices.Values([]string{"/a.nc"}), []string{"/a.nc"}},
		{"years", many, func() (years []string) {
			for i := range 40 {
				years = append(years, fmt.Sprintf("/data/sst/%d", 1990+i))
			}
			return years
		}()},
	} {
		if got, err := prefixesOf(c.urls, true); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v (%v), want %v", c.name, got, err, c.want)
		}
	}
}

// TestURLs checks which URLs are within the allowed prefixes.
func TestURLs(t *testing.T) {
	x, err := newAccess([]string{"https://data.example.org/sst/v2", "http://h:8080", "http://169.254.1.1/x/", "s3://bucket/a%20b"})
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"https://data.example.org/sst/v2/a.nc":       true,
		"HTTPS://Data.Example.org/sst/v2/b/a.nc?q=1": true,
		"https://data.example.org/sst/v2":            true,
		"s3://bucket/a b/100% #1?.nc":                true, // keys of objects are not percent-encoded
		"s3://bucket/a%20b/x.nc":                     false,
		"s3://bucket/a b/../c.nc":                    false,
		"s3://other/a b/x.nc":                        false,
		"s3://user@bucket/a b/x.nc":                  false,
		"gs://bucket/a b/x.nc":                       false,
		"https://data.example.org/sst/v22/a.nc":      false,
		"https://data.example.org/sst/v2/../v1/a.nc": false,
		"https://data.example.org/sst/v2/%2e%2e/a":   false,
		"https://data.example.org/sst/v2/..%2fa":     false,
		`https://data.example.org/sst/v2/..\a`:       false,
		"http://data.example.org/sst/v2/a.nc":        false,
		"https://data.example.org:444/sst/v2/a.nc":   false,
		"https://data.example.org@evil/sst/v2/a.nc":  false,
		"https://evil/https://data.example.org/":     false,
		"http://h:8080/anything":                     true,
		"http://h/anything":                          false,
		"http://169.254.1.1/x/y":                     true,
		"http://169.254.1.1/":                        false,
	} {
		if err := x.checkURL(name); (err == nil) != ok || err != nil && !errors.Is(err, source.ErrForbidden) {
			t.Errorf("%s: got %v, want allowed %v", name, err, ok)
		}
	}
	for _, prefix := range []string{"https:///x", "https://h/a/../b", "https://h/%2e%2e"} {
		if _, err := newAccess([]string{prefix}); err == nil {
			t.Errorf("prefix %s is accepted, want an error", prefix)
		}
	}
}

// TestRedirect checks that an allowed server cannot redirect to a server that is not allowed.
func TestRedirect(t *testing.T) {
	ownConfig(t)
	m, snap, truth := archive(t, 2, true)
	files := http.FileServer(http.Dir(filepath.Dir(m.sources[0].URL)))
	elsewhere := httptest.NewServer(files)
	defer elsewhere.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusFound)
	}))
	defer first.Close()
	for _, s := range m.sources {
		s.URL = first.URL + "/" + strings.ReplaceAll(filepath.Base(s.URL), " ", "%20")
		s.Modified = s.Modified.Truncate(1e9)
	}
	if _, err := readWith(t, m, snap, Options{Allow: []string{first.URL}}); !errors.Is(err, source.ErrForbidden) {
		t.Errorf("got %v, want %v", err, source.ErrForbidden)
	}
	got, err := readWith(t, m, snap, Options{Allow: []string{first.URL, elsewhere.URL}})
	if err != nil || !bytes.Equal(got, truth) {
		t.Errorf("with both allowed: %v", err)
	}
}

// TestOpenLocal checks that OpenLocal opens only files that the store would read, and checks them each
// time.
func TestOpenLocal(t *testing.T) {
	ownConfig(t)
	m, snap, _ := archive(t, 2, true)
	dir := filepath.Dir(m.sources[0].URL)
	s, err := newStore(snap, m, nil, &Options{Allow: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	open := func(row int64) error {
		f, err := s.OpenLocal(t.Context(), row)
		if err != nil {
			return err
		}
		return errors.Join(f.Check(), f.Close())
	}
	if err := open(0); err != nil {
		t.Fatal(err)
	}
	name := m.sources[0].URL
	outside := filepath.Join(t.TempDir(), "secret")
	if err := errors.Join(os.Rename(name, outside), os.Symlink(outside, name)); err != nil {
		t.Fatal(err)
	}
	if err := open(0); !errors.Is(err, source.ErrForbidden) {
		t.Errorf("the same file through a link that leads out: got %v, want %v", err, source.ErrForbidden)
	}
	if f, err := OpenLocal(m.sources[0].Source); err != nil || f.Close() != nil {
		t.Errorf("without access control: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := open(0); !errors.Is(err, source.ErrChanged) {
		t.Errorf("a missing file: got %v, want %v", err, source.ErrChanged)
	}
	if err := os.WriteFile(name, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := open(0); !errors.Is(err, source.ErrChanged) {
		t.Errorf("a replaced file: got %v, want %v", err, source.ErrChanged)
	}
	m.sources[1].URL = "https://example.com/x"
	if err := open(1); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a server: got %v, want %v", err, errors.ErrUnsupported)
	}
}

// TestManyFolders checks that access to a source is as fast with many allowed folders as with one: an
// archive may have a folder for each month, and every opening of a file checks it.
func TestManyFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "file")
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	least := func(folders int) (best time.Duration) {
		prefixes := []string{dir}
		for i := range folders {
			prefixes = append(prefixes, filepath.Join(dir, "others", fmt.Sprint(i)))
		}
		x, err := newAccess(prefixes)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			begin := time.Now()
			for range 20 {
				if real, err := x.find(name, name); err != nil || real != name {
					t.Fatal(real, err)
				}
			}
			if took := time.Since(begin); best == 0 || took < best {
				best = took
			}
		}
		return best
	}
	if few, many := least(1), least(maxPrefixes); many > 5*few {
		t.Errorf("the check takes %v with %d more folders, and %v with one more", many, maxPrefixes, few)
	}
}

// TestForbiddenAdvice checks that the places to allow contain the refused source, whatever the seal lists.
func TestForbiddenAdvice(t *testing.T) {
	for _, c := range []struct {
		name, source   string
		sealed, advice []string
	}{
		{"no seal", "/data/x/a.nc", nil, []string{"/data/x"}},
		{"sealed", "/data/x/a.nc", []string{"/data", "/more"}, []string{"/data", "/more"}},
		{"sealed by another append", "/data/x/a.nc", []string{"/data/y"}, []string{"/data/x", "/data/y"}},
		{"URL", "https://a.org/x/a.nc", []string{"https://a.org/y", "/data"}, []string{"https://a.org/x", "https://a.org/y", "/data"}},
		{"sealed URL", "https://a.org/x/a.nc", []string{"https://a.org/x"}, []string{"https://a.org/x"}},
		{"invalid seal", "/data/x/a.nc", []string{"https://a.org/../y"}, []string{"/data/x", "https://a.org/../y"}},
	} {
		x, err := newAccess(nil)
		if err != nil {
			t.Fatal(err)
		}
		x.wanted = c.sealed
		if isFar(c.source) {
			err = x.checkURL(c.source)
		} else {
			_, err = x.find(c.source, c.source)
		}
		var forbidden *ForbiddenError
		if !errors.As(err, &forbidden) || !slices.Equal(forbidden.Allow, c.advice) {
			t.Errorf("%s: got %+v, want %q", c.name, err, c.advice)
		}
	}
}
