package grib

import (
	"os"
	"path/filepath"
	"testing"

	"varve/readers/source"
)

// TestFind checks that a source with several index files gets the same one whatever sources were opened before it.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	write("a.grib", "a.grib.idx", "a.index", "b.grib", "b.index", "c.grib", "c.grib.index", "d.grib")
	for _, order := range [][]string{{"a", "b", "c", "d"}, {"b", "a", "d", "c"}, {"d", "c", "b", "a"}} {
		r := NewIndexReader(IndexOptions{Open: source.Open})
		for _, name := range order {
			src, err := source.Open(t.Context(), filepath.Join(dir, name+".grib"))
			if err != nil {
				t.Fatal(err)
			}
			_, content, err := r.find(t.Context(), src)
			if err := src.Close(); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"a": "a.grib.idx", "b": "b.index", "c": "c.grib.index", "d": ""}[name]
			if string(content) != want || err != nil {
				t.Errorf("%v: %s.grib gets %q, want %q (%v)", order, name, content, want, err)
			}
		}
	}
}
