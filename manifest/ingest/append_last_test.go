package ingest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"varve/codec"
	"varve/fixtures/classic"
	"varve/grid"
	"varve/manifest/internal/planner"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/store"
)

// writeLast writes n files of two positions each along a dimension. position adds to file i what places it.
func writeLast(t *testing.T, dir string, n int, position func(i int, f *classic.File)) (names []string) {
	t.Helper()
	for i := range n {
		f := &classic.File{Dims: []classic.Dim{{Name: "at", Length: 2}, {Name: "x", Length: 3}},
			Attributes: []classic.Attribute{{Name: "history", Value: fmt.Sprintf("file %d", i)}},
			Vars: []classic.Var{
				{Name: "v", Dims: []string{"at", "x"}, Data: []int16{int16(i), 1, 2, 3, 4, 5}, Attributes: []classic.Attribute{{Name: "scale_factor", Value: []float64{1 + float64(i%2)}}}},
				{Name: "mask", Dims: []string{"x"}, Data: []int8{1, 0, 1}}}}
		position(i, f)
		names = append(names, filepath.Join(dir, fmt.Sprintf("run%d.nc", i)))
		if err := f.Write(names[i]); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

// TestAppendLast: appending the last file of an archive, or the last layer of a mosaic, gives the manifest of one build. Such an append loads as many old
// files for 80 files as for 8, and reads only the new ones.
func TestAppendLast(t *testing.T) {
	configured(t)
	none := func(int, *classic.File) {}
	coordinate := func(i int, f *classic.File) {
		f.Vars = append(f.Vars, classic.Var{Name: "at", Dims: []string{"at"}, Data: []int32{int32(2 * i), int32(2*i + 1)}})
	}
	for name, c := range map[string]struct {
		plan     plan.Options
		position func(i int, f *classic.File)
	}{
		"tiles": {plan.Options{}, func(i int, f *classic.File) {
			x := int16(3 * (i % 2))
			f.Vars = append(f.Vars, classic.Var{Name: "at", Dims: []string{"at"}, Data: []int32{int32(i / 2 * 2), int32(i/2*2 + 1)}},
				classic.Var{Name: "x", Dims: []string{"x"}, Data: []int16{x, x + 1, x + 2}})
		}},
		"values":  {plan.Options{}, coordinate},
		"names":   {plan.Options{Concat: []string{"at"}}, none},
		"pattern": {plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `run(\d+)`}}}, none},
		"attribute": {plan.Options{NewDims: []plan.NewDim{{Name: "run", Attribute: "run"}}}, func(i int, f *classic.File) {
			f.Attributes = append(f.Attributes, classic.Attribute{Name: "run", Value: fmt.Sprintf("member %03d", i)})
		}},
		"variable": {plan.Options{NewDims: []plan.NewDim{{Name: "run", Variable: "number"}}}, func(i int, f *classic.File) {
			f.Vars = append(f.Vars, classic.Var{Name: "number", Data: []int32{int32(i)}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var samples, requests []int64
			last := 1
			if name == "tiles" {
				last = 2 // a layer
			}
			for _, n := range []int{8, 80} {
				dir := t.TempDir()
				files := writeLast(t, dir, n, c.position)
				options := func(names ...string) *Options { return &Options{Sources: Sources{Names: names}, Plan: c.plan} }
				whole, err := Build(t.Context(), filepath.Join(dir, "whole"), options(files...))
				if err != nil {
					t.Fatal(err)
				}
				out := filepath.Join(dir, "out")
				built, err := Build(t.Context(), out, options(files[:n-last]...))
				if err != nil {
					t.Fatal(err)
				}
				rows, why, err := planner.Samples(built.Snapshot, nil)
				if err != nil || why != "" {
					t.Fatal(why, err)
				}
				made, err := Append(t.Context(), out, optionsFor(files[n-last:]...))
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(made.Report.Findings, func(f report.Finding) bool { return f.Code == report.Replanned }) {
					t.Errorf("%d files: %+v", n, made.Report.Findings)
				}
				if got, want := facts(t, made.Snapshot), facts(t, whole.Snapshot); got != want {
					t.Errorf("%d files: appended\n%s\nbuilt\n%s", n, got, want)
				}
				if got, want := contents(t, out), contents(t, filepath.Join(dir, "whole")); !maps.Equal(got, want) {
					t.Errorf("%d files: appended %v, built %v", n, got, want)
				}
				samples, requests = append(samples, int64(len(rows))), append(requests, made.Reading.Requests)
			}
			if samples[0] != samples[1] || samples[0] > 4 || requests[0] != requests[1] {
				t.Errorf("appends load %d old files, and send %d requests", samples, requests)
			}
		})
	}
}

// TestAppendTexts: texts that appends add one by one stay in few pieces.
func TestAppendTexts(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	files := writeLast(t, dir, 60, func(i int, f *classic.File) {
		f.Attributes = append(f.Attributes, classic.Attribute{Name: "run", Value: fmt.Sprintf("member %03d", i)})
	})
	out := filepath.Join(dir, "out")
	made, err := Build(t.Context(), out, &Options{Sources: Sources{Names: files[:2]}, Plan: plan.Options{NewDims: []plan.NewDim{{Name: "run", Attribute: "run"}}}})
	for _, name := range files[2:] {
		if err == nil {
			made, err = Append(t.Context(), out, optionsFor(name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range made.Snapshot.Arrays {
		if len(a.Pieces) > 12 {
			t.Errorf("%s: %d pieces", a.Path, len(a.Pieces))
		}
	}
	st, err := store.Open(t.Context(), out, &store.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	runs, err := st.Array("/run")
	if err != nil {
		t.Fatal(err)
	}
	shape := runs.Schema().Shape
	elems := codec.NewElems(codec.Form{Type: runs.Schema().DataType.Type(), Shape: shape})
	if err := runs.ReadRegion(t.Context(), grid.Whole(shape), elems); err != nil || len(elems.Var) != len(files) {
		t.Fatalf("%d texts, %v", len(elems.Var), err)
	}
	for i, text := range elems.Var {
		if want := fmt.Sprintf("member %03d", i); string(text) != want {
			t.Errorf("%q, want %q", text, want)
		}
	}
}
