package store_test

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest/build"
	"varve/manifest/plan"
	"varve/manifest/store"
)

// TestUnnamedAxes: what a file's reader calls a dimension without a name is another axis in
// another file, whichever comes first.
func TestUnnamedAxes(t *testing.T) {
	folder := "../../fixtures/hdf5/"
	for _, names := range [][]string{{"phony_numbers_1.h5", "phony_numbers_2.h5"}, {"phony_numbers_2.h5", "phony_numbers_1.h5"}} {
		out := filepath.Join(t.TempDir(), "out.varve")
		_, err := build.Build(t.Context(), out, &build.Options{
			Sources: build.Sources{Names: []string{folder + names[0], folder + names[1]}},
			Plan:    plan.Options{NewDims: []plan.NewDim{{Name: "n", Pattern: `phony_numbers_(\d)`}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		st, err := store.Open(t.Context(), out, &store.Options{Allow: []string{folder}})
		if err != nil {
			t.Fatal(err)
		}
		x, err := st.Array("x")
		if err != nil {
			t.Fatal(err)
		}
		all, err := grid.Basic(x.Grid(), grid.All(), grid.All(), grid.All())
		if err != nil {
			t.Fatal(err)
		}
		values := codec.NewElems(x.Face().Form(all.Shape()))
		if err := x.Read(t.Context(), all, values); err != nil {
			t.Fatal(err)
		}
		want := make([]byte, 0, 120)
		for _, first := range []int{0, 100} {
			for i := range 15 {
				want = binary.LittleEndian.AppendUint32(want, math.Float32bits(float32(first+i)))
			}
		}
		if !slices.Equal(all.Shape(), []int64{2, 3, 5}) || !slices.Equal(values.Fixed, want) {
			t.Errorf("%v: %v of shape %v", names, values.Fixed, all.Shape())
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	}
}
