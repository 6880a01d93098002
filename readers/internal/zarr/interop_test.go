package zarr

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve/fixtures/soak"
	"varve/fixtures/venv"
	"varve/readers"
	"varve/readers/readertest"
)

// TestInteropRandomStores reads random stores of both formats that zarr-python has just written.
func TestInteropRandomStores(t *testing.T) {
	python := venv.Python(t, "zarr")
	seed := soak.Seed(t)
	dir := t.TempDir()
	cmd := exec.Command(python, "testdata/random_stores.py", strconv.FormatUint(seed, 10), dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var stores map[string]map[string]struct {
		Shape  []uint64
		Values string
	}
	if err := json.Unmarshal(out, &stores); err != nil {
		t.Fatal(err)
	}
	for name, arrays := range stores {
		found := readertest.Variables(readertest.Open(t, Format{}, filepath.Join(dir, name)))
		if len(found) != len(arrays) {
			t.Errorf("%s: %d variables, want %d", name, len(found), len(arrays))
		}
		for path, want := range arrays {
			v := found[path]
			if v == nil {
				t.Errorf("%s%s is missing", name, path)
				continue
			}
			if !slices.Equal(v.Shape, want.Shape) {
				t.Errorf("%s%s: shape %v, want %v", name, path, v.Shape, want.Shape)
			}
			value, err := v.ReadAll(t.Context(), 1<<24)
			if got := hex.EncodeToString(value.Data); err != nil || got != want.Values {
				t.Errorf("%s%s: got\n%s, want\n%s (%v)", name, path, got, want.Values, err)
			}
			checkRefs(t, name, v)
		}
	}
}

// checkRefs checks that refs are inside the grid of the storage.
func checkRefs(t *testing.T, name string, v *readers.Variable) {
	t.Helper()
	for r, err := range v.Storage.Refs(t.Context()) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		for k, n := range r.Index {
			if v.Storage.Grid != nil && n >= uint64(v.Storage.Grid.Counts()[k]) ||
				v.Storage.Grid == nil && n*v.Storage.ChunkShape[k] >= v.Shape[k] {
				t.Errorf("%s%s: chunk %v is outside of shape %v", name, v.Path, r.Index, v.Shape)
			}
		}
	}
}
