package ingest

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// unitsFile writes a day of a variable in some units, and of a packed variable in the same units.
func unitsFile(t *testing.T, dir string, day int, units string, values ...float32) string {
	t.Helper()
	name := filepath.Join(dir, fmt.Sprintf("%02d.nc", day))
	with := func(more ...classic.Attribute) []classic.Attribute {
		if units != "" {
			more = append(more, classic.Attribute{Name: "units", Value: units})
		}
		return more
	}
	packed := make([]int16, len(values))
	for i, v := range values {
		if packed[i] = int16(v * 10); v == -999 {
			packed[i] = -32768
		}
	}
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "x", Length: len(values)}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}, Data: []float64{float64(day)}},
			{Name: "v", Dims: []string{"time", "x"}, Data: values, Attributes: with(classic.Attribute{Name: "_FillValue", Value: []float32{-999}})},
			{Name: "p", Dims: []string{"time", "x"}, Data: packed, Attributes: with(classic.Attribute{Name: "scale_factor", Value: []float32{0.1}}, classic.Attribute{Name: "_FillValue", Value: []int16{-32768}})},
		},
	}
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestUnitsConverted: values of other units are converted and re-encoded, all others stay verbatim, and an append keeps
// the units that are published.
func TestUnitsConverted(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	files := []string{unitsFile(t, dir, 3, "K", 273, 300, -999), unitsFile(t, dir, 4, "degC", 0, 26.5, -999), unitsFile(t, dir, 5, "kelvin", 1, 2, 3)}
	options := func(units plan.Units, names ...string) *Options {
		return &Options{Sources: Sources{Names: names}, Plan: plan.Options{Inline: new(int64(0)), Units: units}}
	}
	var refused *plan.Error
	if _, err := Build(t.Context(), filepath.Join(dir, "refused.varve"), options("", files...)); !errors.As(err, &refused) || len(refused.Findings) != 2 {
		t.Fatal(err)
	}
	for i, at := range []string{"/p", "/v"} {
		f := &refused.Findings[i]
		if want := "units=convert | units=first | units=drop | drop=" + at; f.Code != report.UnitsDiffer || f.Array != at || f.Count != 1 || reporttest.Remedies(f) != want {
			t.Errorf("%+v", f)
		}
	}

	out := filepath.Join(dir, "out.varve")
	made, err := Build(t.Context(), out, options(plan.UnitsConvert, files...))
	if err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	compare := func(path, units string, within float64, want ...float64) {
		t.Helper()
		got, a := decoded(t, out, path, true)
		if text, _ := a.Schema().Attributes.Get("units"); string(text) != `"`+units+`"` {
			t.Errorf("%s has the units %s, want %s", path, text, units)
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", path, got, want)
		}
		for i, w := range want {
			if !(math.Abs(got[i]-w) <= within) && !(math.IsNaN(got[i]) && math.IsNaN(w)) {
				t.Errorf("%s: element %d is %v, want %v", path, i, got[i], w)
			}
		}
	}
	chunks := func(path string, verbatim, reencoded int64) {
		t.Helper()
		for _, a := range made.Snapshot.Arrays {
			if a.Path == path && (a.Chunks.Verbatim != verbatim || a.Chunks.Reencoded != reencoded || a.Reading != manifest.InUnits) {
				t.Errorf("%s: %+v", path, a.Chunks)
			}
		}
	}
	want := []float64{273, 300, nan, float64(float32(273.15)), float64(float32(299.65)), nan, 1, 2, 3}
	compare("/v", "K", 0, want...)
	compare("/p", "K", 0.11, want...) // the packed numbers are cut to tenths
	chunks("/v", 2, 1)
	chunks("/p", 0, 3)

	// Before the first file, too, the published units stay.
	made, err = Append(t.Context(), out, options("", unitsFile(t, dir, 1, "degC", 1, -999, 2), unitsFile(t, dir, 8, "degF", 32, 212, -999)))
	if err != nil {
		t.Fatal(err)
	}
	want = append([]float64{float64(float32(274.15)), nan, float64(float32(275.15))}, append(want, float64(float32(273.15)), float64(float32(373.15)), nan)...)
	compare("/v", "K", 0, want...)
	chunks("/v", 2, 3)

	if _, err = Append(t.Context(), out, options("", unitsFile(t, dir, 9, "m", 1, 2, 3))); !errors.As(err, &refused) || refused.Findings[0].Code != report.UnitsDiffer {
		t.Error(err)
	}
	// An option of the append must not take the published units away, either.
	dropping := options(plan.UnitsDrop, unitsFile(t, dir, 9, "degC", 1, 2, 3))
	dropping.Replan = true
	if _, err = Append(t.Context(), out, dropping); !errors.As(err, &refused) || refused.Findings[0].Code != report.UnitsDiffer {
		t.Error(err)
	}
	compare("/v", "K", 0, want...)
}

// TestAppendOtherUnits: an append of a file in other units is refused, and the published array keeps its units.
func TestAppendOtherUnits(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.varve")
	mustBuild(t, out, unitsFile(t, dir, 3, "K", 1, 2), unitsFile(t, dir, 4, "K", 3, 4))
	var refused *plan.Error
	for day, units := range map[int]string{1: "degC", 5: "degC", 6: "m"} {
		if _, err := Append(t.Context(), out, optionsFor(unitsFile(t, dir, day, units, 5, 6))); !errors.As(err, &refused) || refused.Findings[0].Code != report.UnitsDiffer {
			t.Errorf("%d: %v", day, err)
		}
	}
	for day, units := range map[int]string{1: "degK", 5: "", 6: "Kelvin", 7: "no unit of UDUNITS"} {
		if _, err := Append(t.Context(), out, optionsFor(unitsFile(t, dir, day, units, 5, 6))); err != nil {
			t.Errorf("%d: %v", day, err)
		}
	}
	if _, a := decoded(t, out, "/v", true); a.Schema().Shape[0] != 6 {
		t.Errorf("%d days", a.Schema().Shape[0])
	} else if text, _ := a.Schema().Attributes.Get("units"); string(text) != `"K"` && string(text) != `"degK"` {
		t.Errorf("the units are %s", text)
	}
}

// TestRemovedUnits: published numbers keep their units when the file that stated them first is removed.
func TestRemovedUnits(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	files := []string{unitsFile(t, dir, 3, "K", 273, 300), unitsFile(t, dir, 4, "degC", 0, 26.5), unitsFile(t, dir, 5, "degC", 1, 2)}
	for _, units := range []plan.Units{plan.UnitsConvert, plan.UnitsFirst} {
		out := filepath.Join(dir, string(units)+".varve")
		named := curation(t, "variables:\n  v: {attributes: {long_name: values}}\n") // which does not change units
		if _, err := Build(t.Context(), out, &Options{Sources: Sources{Names: files}, Plan: plan.Options{Inline: new(int64(0)), Units: units, Curation: named}}); err != nil {
			t.Fatal(err)
		}
		var refused *plan.Error
		_, err := Remove(t.Context(), out, func(all []*manifest.File) ([]bool, error) { return []bool{true, false, false}, nil }, &Options{})
		if units == plan.UnitsFirst {
			if !errors.As(err, &refused) || refused.Findings[0].Code != report.UnitsDiffer {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got, a := decoded(t, out, "/v", true)
		if text, _ := a.Schema().Attributes.Get("units"); string(text) != `"K"` || len(got) != 4 || got[0] != float64(float32(273.15)) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestRemovedOnlyUnits: the only file that states units can be removed.
func TestRemovedOnlyUnits(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.varve")
	mustBuild(t, out, unitsFile(t, dir, 3, "K", 273, 300), unitsFile(t, dir, 4, "", 274, 301))
	if _, err := Remove(t.Context(), out, func([]*manifest.File) ([]bool, error) { return []bool{true, false}, nil }, &Options{}); err != nil {
		t.Fatal(err)
	}
	if got, _ := decoded(t, out, "/v", true); len(got) != 2 || got[0] != 274 {
		t.Error(got)
	}
}

// TestCuratedUnits: numbers are converted to units that files state, not to units of a curation.
func TestCuratedUnits(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.varve")
	build := optionsFor(unitsFile(t, dir, 3, "K", 1, 2))
	build.Plan.Units = plan.UnitsConvert
	build.Plan.Curation = curation(t, "variables:\n  v: {units: degC}\n")
	if _, err := Build(t.Context(), out, build); err != nil {
		t.Fatal(err)
	}
	var refused *plan.OptionError
	if _, err := Append(t.Context(), out, optionsFor(unitsFile(t, dir, 4, "degC", 5, 6))); !errors.As(err, &refused) || refused.Setting.Option != report.Curation {
		t.Error(err)
	}
	if got, _ := decoded(t, out, "/v", true); len(got) != 2 || got[0] != 1 {
		t.Error(got)
	}
	// Without the curation, the numbers are in the units of the file again, and not converted.
	if _, err := Curate(t.Context(), out, &plan.Curation{}, &Options{}); err != nil {
		t.Fatal(err)
	}
	got, a := decoded(t, out, "/v", true)
	if text, _ := a.Schema().Attributes.Get("units"); string(text) != `"K"` || len(got) != 2 || got[0] != 1 {
		t.Errorf("%s: %v", text, got)
	}
}

// TestAppendWithoutUnits: an array that lost its units because its files differ gets more of these files.
func TestAppendWithoutUnits(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "out.varve")
	build := optionsFor(unitsFile(t, dir, 3, "K", 1, 2), unitsFile(t, dir, 4, "degC", 3, 4))
	build.Plan.Units = plan.UnitsDrop
	if _, err := Build(t.Context(), out, build); err != nil {
		t.Fatal(err)
	}
	more := optionsFor(unitsFile(t, dir, 5, "degC", 5, 6))
	more.Replan = true // without the option, as a manifest of an earlier version has none
	if _, err := Append(t.Context(), out, more); err != nil {
		t.Fatal(err)
	}
	got, a := decoded(t, out, "/v", true)
	if _, has := a.Schema().Attributes.Get("units"); has || len(got) != 6 {
		t.Errorf("%v: %v", has, got)
	}
}

// TestReplacedUnitsOfCoordinate: a coordinate of a dimension is not converted to its published units.
func TestReplacedUnitsOfCoordinate(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	name, out := filepath.Join(dir, "z.nc"), filepath.Join(dir, "out.varve")
	write := func(units string, values ...float64) {
		t.Helper()
		f := &classic.File{Dims: []classic.Dim{{Name: "z", Length: len(values)}}, Vars: []classic.Var{
			{Name: "z", Dims: []string{"z"}, Attributes: []classic.Attribute{{Name: "units", Value: units}}, Data: values},
			{Name: "v", Dims: []string{"z"}, Data: values},
		}}
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
	}
	write("m", 1, 2)
	build := optionsFor(name)
	build.Plan.Units = plan.UnitsConvert
	if _, err := Build(t.Context(), out, build); err != nil {
		t.Fatal(err)
	}
	write("km", 1, 2, 3)
	var refused *plan.Error
	if _, err := Sync(t.Context(), out, optionsFor(name)); !errors.As(err, &refused) || refused.Findings[0].Array != "/z" || refused.Findings[0].Code != report.UnitsDiffer {
		t.Error(err)
	}
}
