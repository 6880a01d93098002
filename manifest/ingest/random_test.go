package ingest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/present"
	"varve/manifest/store"
)

// configured sets the user's config folder to a temporary folder, for the key of seals.
func configured(t *testing.T) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
}

func optionsFor(files ...string) *Options {
	return &Options{Sources: Sources{Names: files}, Plan: plan.Options{}, Writer: "test"}
}

func mustBuild(t *testing.T, dir string, files ...string) *manifest.Snapshot {
	t.Helper()
	outcome, err := Build(t.Context(), dir, optionsFor(files...))
	if err != nil {
		t.Fatal(err)
	}
	mustExplain(t, dir, outcome)
	return outcome.Snapshot
}

// decoded reads an array as numbers.
func decoded(t *testing.T, dir, path string, decode bool) (values []float64, a *store.Array) {
	t.Helper()
	st, err := store.Open(context.WithoutCancel(t.Context()), dir, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	if a, err = st.Array(path); err != nil {
		t.Fatal(err)
	}
	d, err := present.NewDecoder(a, &present.DecoderOptions{Packed: !decode})
	if err != nil {
		t.Fatal(err)
	}
	shape := a.Schema().Shape
	e := codec.NewElems(codec.Form{Type: a.Schema().DataType.Type(), Shape: shape})
	if err := a.ReadRegion(t.Context(), grid.Whole(shape), e); err != nil {
		t.Fatal(err)
	}
	values = make([]float64, len(e.Fixed)/a.Schema().DataType.Type().Size)
	d.Float64s(values, e.Fixed)
	return values, a
}

// check compares a manifest with the files.
func (a *archive) check(t *testing.T, dir string) bool {
	t.Helper()
	got, array := decoded(t, dir, "/v", true)
	shape := make([]int64, len(a.shape))
	for k := range shape {
		shape[k] = int64(a.shape[k])
	}
	if !slices.Equal(array.Schema().Shape, shape) {
		t.Errorf("v has the shape %v, not %v", array.Schema().Shape, shape)
		return false
	}
	for i := range got {
		if !same(got[i], a.want[i]) {
			t.Errorf("element %d of v is %v, not %v", i, got[i], a.want[i])
			return false
		}
	}
	for k, name := range a.dims {
		if !a.checkAxis(t, dir, name, a.axes[k]) {
			return false
		}
	}
	return true
}

func (a *archive) checkAxis(t *testing.T, dir, name string, want []float64) bool {
	t.Helper()
	got, array := decoded(t, dir, "/"+name, false)
	if units, ok := array.Schema().Attributes.Get("units"); ok {
		for i := range got {
			got[i] = decodeTime(got[i], string(units[1:len(units)-1]))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s is %v, not %v", name, got, want)
		return false
	}
	return true
}

func same(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-6*math.Max(math.Abs(a), math.Abs(b))
}

func shuffled(r *rand.Rand, files []string) []string {
	files = slices.Clone(files)
	r.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	return files
}

// TestRandomArchives: manifests of random archives have the values of their files, in any order of
// arguments.
func TestRandomArchives(t *testing.T) {
	configured(t)
	for seed := range soak.Seeds(t, 12) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		a := newArchive(t, r, filepath.Join(dir, "files"), 1+int(seed%3))
		for _, valueBytes := range []int64{0, 1 + r.Int64N(40)} { // longer coordinates are stored as summaries
			out := filepath.Join(dir, fmt.Sprint(valueBytes, ".varve"))
			opts := optionsFor(shuffled(r, a.files)...)
			opts.ValueBytes = valueBytes
			made, err := Build(t.Context(), out, opts)
			if err != nil || !a.check(t, out) {
				t.Fatalf("seed %d, %d bytes of values: %v", seed, valueBytes, err)
			}
			mustExplain(t, out, made)
		}
	}
}
