package zarr

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"varve/fixtures/venv"
)

// TestInteropCopies lets zarr-python and xarray read copies of every kind, two of them after an append.
func TestInteropCopies(t *testing.T) {
	interpreter := venv.Python(t, "zarr and xarray")
	grown := newSample(t, january, february)
	dir := t.TempDir()
	week, shards := []Edges{{Dim: "time", Sizes: []int64{7}}}, []Edges{{Dim: "time", Sizes: []int64{28}}}
	kinds := map[string]Options{
		"plain":   {},
		"regular": {Chunks: week},
		"sharded": {Chunks: week, Shards: shards},
		"edges":   {Chunks: []Edges{{Dim: "time", Sizes: []int64{7}}}, Shards: []Edges{{Array: "t2m", Dim: "time", Sizes: []int64{14, 21, 56}}}},
		"format2": {Chunks: week, Format: 2},
	}
	args := []string{"testdata/peer.py"}
	for _, name := range []string{"plain", "regular", "format2"} {
		grown.copy(t, filepath.Join(dir, "grown "+name), kinds[name])
	}
	grown.append(t, march)
	for _, name := range []string{"plain", "regular", "format2"} {
		o := kinds[name]
		o.Append = true
		grown.copy(t, filepath.Join(dir, "grown "+name), o)
		args = append(args, filepath.Join(dir, "grown "+name))
	}
	// Out of a sharded copy into other shards, whose chunks are copied as they are.
	grown.copy(t, filepath.Join(dir, "weeks"), Options{Chunks: week})
	again := newSample(t, filepath.Join(dir, "weeks"))
	again.copy(t, filepath.Join(dir, "assembled"), Options{Shards: []Edges{{Array: "t2m", Dim: "time", Sizes: []int64{28}}}})
	args = append(args, filepath.Join(dir, "assembled"))
	for name, o := range kinds {
		grown.copy(t, filepath.Join(dir, name), o)
		args = append(args, filepath.Join(dir, name))
	}
	out, err := exec.Command(interpreter, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("peer.py: %v\n%s", err, out)
	}
	t.Logf("%s", bytes.TrimSpace(out))
}
