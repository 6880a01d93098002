package serve_test

import (
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest/ingest"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// cachedFiles returns the files of a disk cache, and their size together.
func cachedFiles(t *testing.T, dir string) (names []string, size int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, bad := d.Info()
			names, size, err = append(names, name), size+info.Size(), bad
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, size
}

// TestDiskCache checks that chunks of a server and re-encoded chunks come from the disk cache after a restart, when their
// sources are gone, that damaged files and those of another version are not used, and that the limit holds.
func TestDiskCache(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "config"))
	data := t.TempDir()
	random := rand.New(rand.NewPCG(5, 6))
	for i, scale := range []float64{0.5, 1} { // of the second file the chunks are re-encoded
		values := make([]int16, 1000)
		for k := range values {
			values[k] = int16(random.Uint32())
		}
		f := classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 2, Records: true}, {Name: "x", Length: 500}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Data: []float64{float64(2 * i), float64(2*i + 1)}},
				{Name: "v", Dims: []string{"time", "x"}, Data: values, Attributes: []classic.Attribute{{Name: "scale_factor", Value: []float64{scale}}}},
			},
		}
		if err := f.Write(filepath.Join(data, string(rune('a'+i))+".nc")); err != nil {
			t.Fatal(err)
		}
	}
	bad := &badServer{files: http.FileServer(http.Dir(data))}
	remote := httptest.NewServer(bad)
	defer remote.Close()
	dir, cache := filepath.Join(t.TempDir(), "remote.varve"), filepath.Join(t.TempDir(), "cache")
	if _, err := ingest.Build(t.Context(), dir, &ingest.Options{Sources: ingest.Sources{Names: []string{remote.URL + "/a.nc", remote.URL + "/b.nc"}}, Writer: "test"}); err != nil {
		t.Fatal(err)
	}
	served := func(limit int64, version string, do func(root string)) {
		t.Helper()
		h, err := serve.New(t.Context(), []string{dir}, &serve.Options{
			Reload: -1, Store: store.Options{Trusted: true, CacheBytes: -1}, DiskCache: cache, DiskCacheBytes: limit, Version: version,
		})
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(h)
		do(s.URL)
		s.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	chunks := []string{"/v/c/0/0", "/v/c/1/0", "/regular/v/c/0/0", "/core/v/c/0/0"}
	want := map[string]string{}
	served(0, "1", func(root string) {
		for _, c := range chunks {
			code, body := get(t, root+c)
			if code == http.StatusNotFound {
				continue
			}
			if code != http.StatusOK {
				t.Fatalf("%s: %d %.200s", c, code, body)
			}
			want[c] = body
		}
	})
	names, _ := cachedFiles(t, cache)
	if len(want) < 3 || len(names) < 2 {
		t.Fatalf("%d chunks, %d files", len(want), len(names))
	}

	gone := status(http.StatusNotFound)
	bad.mode.Store(&gone)
	served(0, "1", func(root string) {
		for c, body := range want {
			if code, now := get(t, root+c); code != http.StatusOK || now != body {
				t.Errorf("%s without its source: %d %.200s", c, code, now)
			}
		}
		if _, text := get(t, root+"/metrics"); !strings.Contains(text, `varve_disk_cache_requests_total{result="found"}`) {
			t.Error("the metrics do not count the chunks")
		}
	})
	served(0, "2", func(root string) {
		if code, _ := get(t, root+"/v/c/0/0"); code != http.StatusConflict {
			t.Errorf("another version takes the chunk: %d", code)
		}
	})
	for _, name := range names {
		stored, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		stored[len(stored)/2] ^= 1
		if err := os.WriteFile(name, stored, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	served(0, "1", func(root string) {
		if code, _ := get(t, root+"/v/c/0/0"); code != http.StatusConflict {
			t.Errorf("a damaged file is used: %d", code)
		}
		bad.mode.Store(nil)
		for c, body := range want {
			if code, now := get(t, root+c); code != http.StatusOK || now != body {
				t.Errorf("%s after its file was damaged: %d", c, code)
			}
		}
	})
	_, size := cachedFiles(t, cache)
	other := filepath.Join(cache, "notes.txt")
	if err := os.WriteFile(other, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	const limit = 2500
	if size <= limit {
		t.Fatalf("the cache has only %d bytes", size)
	}
	served(limit, "1", func(root string) {
		if _, size := cachedFiles(t, cache); size > limit+5000 {
			t.Errorf("%d bytes are kept, with a limit of %d", size-5000, limit)
		}
		for c, body := range want {
			if code, now := get(t, root+c); code != http.StatusOK || now != body {
				t.Errorf("%s with a small cache: %d", c, code)
			}
		}
	})
	if _, err := os.Stat(other); err != nil {
		t.Errorf("the cache removed a file that is not its own: %v", err)
	}
	if _, size := cachedFiles(t, cache); size > limit+5000 {
		t.Errorf("%d bytes are kept, with a limit of %d", size-5000, limit)
	}
}
