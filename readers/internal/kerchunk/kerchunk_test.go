package kerchunk

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
)

// expectedArray holds fsspec's and zarr-python's description of an array. A ref is a list of URL,
// offset and size, or bytes in hexadecimal.
type expectedArray struct {
	Shape  []uint64
	Values string
	Refs   map[string]any // by numbers with commas
}

// fixtures copies the sample sets to a folder, inserts the folder's name into them, and changes to
// it, because relative URLs need that.
func fixtures(t testing.TB) (dir string, sets map[string]map[string]expectedArray) {
	t.Helper()
	from, err := filepath.Abs("../../../fixtures/kerchunk")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data = []byte(strings.ReplaceAll(string(data), "@DIR@", dir))
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(name) == "expected.json" {
			if err := json.Unmarshal(data, &sets); err != nil {
				t.Fatal(err)
			}
		}
	}
	if t, ok := t.(*testing.T); ok {
		t.Chdir(dir)
	}
	return dir, sets
}

// refs returns the refs of a variable in the form of expected.json.
func refs(t *testing.T, v *readers.Variable) map[string]any {
	t.Helper()
	out := map[string]any{}
	for r, err := range v.Storage.Refs(context.Background()) {
		if err != nil {
			t.Error(err)
			break
		}
		at := strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Index), " ", ","), "[]")
		switch {
		case r.Other.Inline != nil:
			out[at] = hex.EncodeToString(r.Other.Inline)
		case r.Size == readers.WholeSource:
			out[at] = []any{r.Other.Source}
		default:
			out[at] = []any{r.Other.Source, r.Offset, r.Size}
		}
	}
	return out
}

// TestAgainstFsspec compares shapes, refs and values of the sample sets with those that fsspec and
// zarr-python reported when they were made.
func TestAgainstFsspec(t *testing.T) {
	_, sets := fixtures(t)
	for name, arrays := range sets {
		t.Run(name, func(t *testing.T) {
			found := readertest.Variables(readertest.Open(t, Format{}, name))
			if len(found) != len(arrays) {
				t.Errorf("%d variables, want %d", len(found), len(arrays))
			}
			for path, want := range arrays {
				if v := found[path]; v == nil {
					t.Errorf("%s is missing", path)
				} else {
					compare(t, v, want)
				}
			}
		})
	}
}

func compare(t *testing.T, v *readers.Variable, want expectedArray) {
	t.Helper()
	if got := fmt.Sprint(v.Shape); got != fmt.Sprint(want.Shape) {
		t.Errorf("%s: shape %s, want %v", v.Path, got, want.Shape)
	}
	if got := refs(t, v); !maps.EqualFunc(got, want.Refs, func(a, b any) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("%s: refs %v, want %v", v.Path, got, want.Refs)
	}
	value, err := v.ReadAll(context.Background(), 1<<20)
	if err != nil {
		t.Error(err)
	}
	if got := hex.EncodeToString(value.Data); got != want.Values {
		t.Errorf("%s: values\n%s, want\n%s", v.Path, got, want.Values)
	}
}
