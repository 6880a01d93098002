package fits

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve/fixtures/venv"
	"varve/readers"
)

// TestInteropAstropy reads random images that astropy compressed, with every BITPIX and method, and
// a random ASCII table, and compares with astropy. VARVE_SEED repeats a run.
func TestInteropAstropy(t *testing.T) {
	python := venv.Python(t, "astropy")
	seed := rand.IntN(1e6)
	if s := os.Getenv("VARVE_SEED"); s != "" {
		seed, _ = strconv.Atoi(s)
	}
	t.Logf("VARVE_SEED=%d", seed)
	name := filepath.Join(t.TempDir(), "random.fits")
	cmd := exec.Command(python, "testdata/random_images.py", name, strconv.Itoa(seed), "120")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type values struct {
		Shape  []uint64
		Values string
	}
	var want struct{ Images, Columns map[string]values }
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, data)
	if len(d.Problems) > 0 || len(d.Root.Variables) != len(want.Images) || len(d.Root.Groups[0].Variables) != len(want.Columns) {
		t.Fatalf("%d images, %d columns, %v", len(d.Root.Variables), len(d.Root.Groups[0].Variables), d.Problems)
	}
	check := func(v *readers.Variable, want values) {
		value, err := v.ReadAll(context.Background(), 1<<24)
		sum := sha256.Sum256(value.Data)
		if err != nil || hex.EncodeToString(sum[:]) != want.Values || !slices.Equal(v.Shape, want.Shape) {
			t.Errorf("%s, %v of shape %v through %s: %v", v.Path, v.Type, v.Shape, fmt.Sprint(v.Storage.Pipeline), err)
		}
	}
	for _, v := range d.Root.Variables {
		check(v, want.Images[v.Name])
	}
	for _, v := range d.Root.Groups[0].Variables {
		check(v, want.Columns[v.Name])
	}
}
