package zarr

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/readers"
	"varve/readers/readertest"
)

const fixtureDir = "../../../fixtures/zarr"

// expectedArray holds zarr-python's description of an array.
type expectedArray struct {
	Shape  []uint64
	Values string
	Texts  []string
	Dims   []string
	Keys   map[string]uint64
	Inner  [][4]json.RawMessage // index, key, offset, size
}

func expected(t testing.TB) map[string]map[string]expectedArray {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(fixtureDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]map[string]expectedArray
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAgainstZarrPython compares shapes, values, dimensions and refs of the sample stores with
// those that zarr-python reported when they were made.
func TestAgainstZarrPython(t *testing.T) {
	for store, arrays := range expected(t) {
		t.Run(store, func(t *testing.T) {
			found := readertest.Variables(readertest.Open(t, Format{}, filepath.Join(fixtureDir, store)))
			for path := range found {
				if _, ok := arrays[path]; !ok {
					t.Errorf("%s is not in expected.json", path)
				}
			}
			for path, want := range arrays {
				if v := found[path]; v == nil {
					t.Errorf("%s is missing", path)
				} else {
					compare(t, filepath.Join(fixtureDir, store), v, want)
				}
			}
		})
	}
}

func compare(t *testing.T, store string, v *readers.Variable, want expectedArray) {
	t.Helper()
	if !slices.Equal(v.Shape, want.Shape) {
		t.Errorf("%s: shape %v, want %v", v.Path, v.Shape, want.Shape)
	}
	for i, name := range want.Dims {
		if v.Dims[i].Name != name || v.Dims[i].Length != v.Shape[i] {
			t.Errorf("%s: dimension %d is %+v, want %s", v.Path, i, v.Dims[i], name)
		}
	}
	if v.Storage.Undecodable != nil {
		t.Errorf("%s: %v", v.Path, v.Storage.Undecodable)
	}
	value, err := v.ReadAll(context.Background(), 1<<20)
	if err != nil {
		t.Error(err)
		return
	}
	if got := hex.EncodeToString(value.Data); got != want.Values {
		t.Errorf("%s: values\n%s, want\n%s", v.Path, got, want.Values)
	}
	if want.Texts != nil && fmt.Sprintf("%q", value.Texts) != fmt.Sprintf("%q", want.Texts) {
		t.Errorf("%s: got %q, want %q", v.Path, value.Texts, want.Texts)
	}
	compareRefs(t, store, v, want)
}

// line returns a ref as text.
func line(index []uint64, key string, offset int64, size uint64) string {
	return fmt.Sprint(index, " ", key, " ", offset, " ", size)
}

func compareRefs(t *testing.T, store string, v *readers.Variable, want expectedArray) {
	t.Helper()
	prefix := store + v.Path + "/"
	var got, wanted []string
	for r, err := range v.Storage.Refs(context.Background()) {
		if err != nil {
			t.Error(err)
			return
		}
		key, ok := strings.CutPrefix(r.Other.Source, prefix)
		if !ok {
			t.Errorf("%s: chunk in %s", v.Path, r.Other.Source)
		}
		if want.Inner == nil {
			got = append(got, fmt.Sprint(key, " ", r.Offset, " ", r.Size))
		} else {
			got = append(got, line(r.Index, key, r.Offset, r.Size))
		}
	}
	for key, size := range want.Keys {
		if want.Inner == nil {
			wanted = append(wanted, fmt.Sprint(key, " 0 ", size))
		}
	}
	for _, r := range want.Inner {
		var index []uint64
		var key string
		var offset int64
		var size uint64
		for i, into := range []any{&index, &key, &offset, &size} {
			if err := json.Unmarshal(r[i], into); err != nil {
				t.Fatal(err)
			}
		}
		wanted = append(wanted, line(index, key, offset, size))
	}
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("%s: refs\n%s\nwant\n%s", v.Path, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}
