package store_test

import (
	"encoding/binary"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve/codec"
	"varve/grid"
	"varve/manifest/ingest"
	"varve/manifest/plan"
	"varve/manifest/store"
)

// TestUnnamedAxes checks files for which the reader invents the same name for different axes: in any order of
// files, with values in other files, and together with a file that names its dimensions.
func TestUnnamedAxes(t *testing.T) {
	first := map[string]int{"phony_numbers_1.h5": 0, "phony_numbers_2.h5": 100, "phony_virtual_1.h5": 0, "phony_virtual_2.h5": 100, "phony_beside_scale.h5": 200}
	for _, c := range []struct {
		dim   string
		names []string
	}{
		{"/phony_dim_0", []string{"phony_numbers_1.h5", "phony_numbers_2.h5"}},
		{"/phony_dim_0", []string{"phony_virtual_1.h5", "phony_virtual_2.h5"}},
		{"/lat", []string{"phony_beside_scale.h5", "phony_numbers_1.h5"}},
		{"/lat", []string{"phony_beside_scale.h5", "phony_numbers_2.h5"}},
		{"/lat", []string{"phony_virtual_2.h5", "phony_beside_scale.h5", "phony_numbers_1.h5"}},
	} {
		for range 2 {
			var want []byte
			for _, name := range c.names {
				for i := range 15 {
					want = binary.LittleEndian.AppendUint32(want, math.Float32bits(float32(first[name]+i)))
				}
			}
			got, dims := stacked(t, c.names)
			if !slices.Equal(got, want) {
				t.Errorf("%v: %v", c.names, got)
			}
			if dims[1] != c.dim && dims[1] != "/phony_dim_1" {
				t.Errorf("%v: dimensions %v", c.names, dims)
			}
			slices.Reverse(c.names)
		}
	}
}

// stacked returns the elements and dimensions of x after concatenating files in their order.
func stacked(t *testing.T, names []string) (elements []byte, dims []string) {
	t.Helper()
	folder := "../../fixtures/hdf5/"
	steps := plan.NewDim{Name: "n"}
	paths := slices.Clone(names)
	for i := range paths {
		paths[i], steps.Values = folder+paths[i], append(steps.Values, strconv.Itoa(i))
	}
	out := filepath.Join(t.TempDir(), "out.varve")
	made, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: paths}, Plan: plan.Options{NewDims: []plan.NewDim{steps}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range made.Snapshot.Arrays {
		if a.Path == "/x" {
			dims = a.Dims
		}
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
	values := codec.NewElems(x.Schema().Form(all.Shape()))
	if err := x.Read(t.Context(), all, values); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	return values.Fixed, dims
}

// TestGuessedAxes checks that, if two unnamed dimensions of a file have the same length, the lengths in another
// file determine which axis is which.
func TestGuessedAxes(t *testing.T) {
	names := []string{"testdata/guess_0.h5", "testdata/guess_1.h5"}
	for range 2 {
		out := filepath.Join(t.TempDir(), "out.varve")
		if _, err := ingest.Build(t.Context(), out, &ingest.Options{Sources: ingest.Sources{Names: names}}); err != nil {
			t.Fatal(err)
		}
		st, err := store.Open(t.Context(), out, &store.Options{Allow: []string{"testdata"}})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		a, err := st.Array("data")
		if err != nil {
			t.Fatal(err)
		}
		all, err := grid.Basic(a.Grid(), grid.All(), grid.All())
		if err != nil {
			t.Fatal(err)
		}
		values := codec.NewElems(a.Schema().Form(all.Shape()))
		if err := a.Read(t.Context(), all, values); err != nil {
			t.Fatal(err)
		}
		var want []byte
		for y := range 3 {
			for x := range 7 {
				want = binary.LittleEndian.AppendUint32(want, math.Float32bits(float32(100*y+x)))
			}
		}
		if !slices.Equal(values.Fixed, want) {
			t.Errorf("%v: %v", all.Shape(), values.Fixed)
		}
		slices.Reverse(names)
	}
	if _, err := ingest.Build(t.Context(), filepath.Join(t.TempDir(), "out.varve"), &ingest.Options{Sources: ingest.Sources{Names: names}, Plan: plan.Options{Rename: []plan.Rename{{Old: "like_y", New: "x"}}}}); err == nil {
		t.Error("renaming y to x succeeded, want an error")
	}
}
