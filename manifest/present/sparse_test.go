package present

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"varve/fixtures/soak"
	"varve/manifest/ingest"
	"varve/manifest/store"
)

// TestMeasureSparse reads statistics of every third element, and others, of an array with 2⁴⁰ elements and one stored chunk.
// The time must not depend on the declared shape.
func TestMeasureSparse(t *testing.T) {
	const shape, chunk, at = int64(1) << 40, int64(1) << 22, int64(3)
	st := sparse(t, shape, chunk, at)
	for _, term := range []string{"x=::3", "x=::-2", "x=5::4194304", fmt.Sprintf("x=[0,%d,%d]", at*chunk, shape-1)} {
		s := selected(t, st, "v", []string{term}, nil)
		var got Statistics
		var err error
		soak.Within(t, time.Minute, func() { got, err = Measure(t.Context(), s, decoderOf(t, s, true)) })
		if err != nil {
			t.Fatal(err)
		}
		ones := int64(0)
		x := s.Axes[0]
		for i := range x.Len() {
			if x.List == nil && i > 1<<24 {
				break // the chunk is near the beginning, or is counted below
			}
			if v := x.At(i); v >= at*chunk && v < (at+1)*chunk {
				ones++
			}
		}
		if x.Step < 0 {
			ones = chunk / 2
		}
		sum := 7*(s.Count()-ones) + ones
		if got.Count != s.Count() || got.Valid != s.Count() || got.Sum.Float != float64(sum) || got.Min.Float != 1 || got.Max.Float != 7 {
			t.Errorf("%s: %+v, want %d elements and the sum %d", term, got, s.Count(), sum)
		}
	}
}

// TestMeasureParts checks that parts of a selection have all its elements, however it is divided.
func TestMeasureParts(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	st := sparse(t, 97, 5, 3)
	for _, term := range []string{"x=::3", "x=::-2", "x=1:90:4", "x=[0,16,96,17,3]", "x=20::7"} {
		s := selected(t, st, "v", []string{term}, nil)
		c, err := decoderOf(t, s, true).counter()
		if err != nil {
			t.Fatal(err)
		}
		want, err := measureParts(t.Context(), s, c, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			if got, err := measureParts(t.Context(), s, c, 1+r.Int64N(20)); err != nil || got != want {
				t.Errorf("%s: %+v, want %+v, %v", term, got, want, err)
			}
		}
	}
}

// sparse makes an array of bytes with the fill value 7, and one chunk of ones.
func sparse(t *testing.T, shape, chunk, at int64) *store.Store {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "a.zarr")
	if err := os.MkdirAll(filepath.Join(root, "v", "c"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"zarr.json": []byte(`{"zarr_format":3,"node_type":"group","attributes":{}}`),
		"v/zarr.json": fmt.Appendf(nil, `{"zarr_format":3,"node_type":"array","shape":[%d],"data_type":"uint8","fill_value":7,"attributes":{},"dimension_names":["x"],
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[%d]}},"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]}`, shape, chunk),
		fmt.Sprintf("v/c/%d", at): bytes.Repeat([]byte{1}, int(chunk)),
	} {
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return opened(t, filepath.Join(dir, "a.varve"), &ingest.Options{Sources: ingest.Sources{Names: []string{root}}})
}
