package ingest

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// packedFile writes a day of a packed variable.
func packedFile(t *testing.T, dir string, day int, scale, offset float64, stored ...int16) string {
	t.Helper()
	name := filepath.Join(dir, fmt.Sprintf("%02d.nc", day))
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "x", Length: len(stored)}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(day)}},
			{Name: "v", Dims: []string{"time", "x"}, Data: stored, Attributes: []classic.Attribute{{Name: "scale_factor", Value: []float64{scale}},
				{Name: "add_offset", Value: []float64{offset}}, {Name: "_FillValue", Value: []int16{-32768}}}},
		},
	}
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestRepacked packs the values of one file like those of the others: most chunks stay verbatim, and the largest
// change is measured, also for appended files.
func TestRepacked(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	files := []string{
		packedFile(t, dir, 0, 0.01, 0, 100, -200, -32768), packedFile(t, dir, 1, 0.01, 0, 1, 2, 3),
		packedFile(t, dir, 2, 0.004, 0, 1001, -500, -32768),
	}
	options := func(scale float64, names ...string) *Options {
		return &Options{Sources: Sources{Names: names}, Plan: plan.Options{Inline: new(int64(0)), Repack: []plan.Repack{{Array: "v", Scale: scale}}}}
	}
	out := filepath.Join(dir, "out.varve")
	made, err := Build(t.Context(), out, options(0.01, files...))
	if err != nil {
		t.Fatal(err)
	}
	changes := func(made *Result, largest string) {
		t.Helper()
		i := slices.IndexFunc(made.Report.Findings, func(f report.Finding) bool { return f.Code == report.Repacked })
		if i < 0 {
			t.Fatal("no finding says what repacking changed")
		}
		if f := made.Report.Findings[i]; f.Args["largest"] != largest || f.Args["scale"] != "0.01" || f.Array != "/v" || f.Count != 1 {
			t.Errorf("%+v", f)
		}
	}
	changes(made, "0.004")
	v := func(s *manifest.Snapshot) *manifest.Array {
		return &s.Arrays[slices.IndexFunc(s.Arrays, func(a manifest.Array) bool { return a.Path == "/v" })]
	}
	if a := v(made.Snapshot); a.Chunks.Verbatim != 2 || a.Chunks.Reencoded != 1 || a.Schema.DataType.Name() != "int16" || a.Reading != manifest.Repacked {
		t.Errorf("%+v, %v", a.Chunks, a.Schema.DataType)
	}
	want := []float64{1, -2, math.NaN(), 0.01, 0.02, 0.03, 4, -2, math.NaN()}
	compare := func(want []float64) {
		t.Helper()
		got, _ := decoded(t, out, "/v", true)
		if len(got) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i, w := range want {
			if math.Abs(got[i]-w) > 1e-9 || math.IsNaN(got[i]) != math.IsNaN(w) {
				t.Errorf("element %d is %v, want %v", i, got[i], w)
			}
		}
	}
	compare(want)

	made, err = Append(t.Context(), out, options(0.01, packedFile(t, dir, 3, 0.002, 1, 11, 1, -32768)))
	if err != nil {
		t.Fatal(err)
	}
	changes(made, "0.002")
	compare(append(want, 1.02, 1, math.NaN()))

	// 3276.7 is beyond 327.67, the greatest value of the declared packing.
	far := packedFile(t, dir, 4, 0.1, 0, 32767, 1, 2)
	var refused *plan.Error
	if _, err = Append(t.Context(), out, options(0.01, far)); !errors.As(err, &refused) {
		t.Fatal(err)
	}
	f := refused.Findings[0]
	if f.Code != report.RepackChanges || f.Args["largest"] != "2949.03" || reporttest.Remedies(&f) != "repack-lossy=v" {
		t.Errorf("%+v", f)
	}
	lossy := options(0.01, append(files, far)...)
	lossy.Force, lossy.Plan.RepackLossy = true, []string{"v"}
	if _, err = Build(t.Context(), out, lossy); err != nil {
		t.Fatal(err)
	}
	compare(append(want, 327.67, 0.1, 0.2))

	for scale, says := range map[float64]bool{0.004: true, 0.5: false} {
		_, err := Check(t.Context(), options(scale, files...))
		var invalid *plan.OptionError
		if says != (err == nil) || !says && !errors.As(err, &invalid) {
			t.Errorf("scale %v: %v", scale, err)
		}
	}
}
