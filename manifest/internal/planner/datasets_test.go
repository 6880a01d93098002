package planner

import (
	"reflect"
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// message makes a variable of GRIB messages, a chunk for each step.
func message(name, dims string, shape ...int64) wanted {
	chunks := slices.Clone(shape)
	chunks[0] = 1
	w := cube(name, dims, shape, chunks)
	w.v.Storage.Codecs = []codec.Spec{{Name: "grib.message"}}
	return w
}

// TestSeveralDatasets: groups of GRIB messages are listed with their arrays and dimensions, and groups of other formats are not.
func TestSeveralDatasets(t *testing.T) {
	m := newMaker()
	m.file("a", message("instant/t2m", "instant/time instant/y instant/x", 12, 3, 4), message("instant/sp", "instant/time instant/y instant/x", 12, 3, 4),
		cube("instant/depth", "instant/y", []int64{3}, []int64{3}), message("accum/tp", "accum/step accum/y accum/x", 6, 3, 4))
	f := findingOf(t, planned(t, m, &plan.Options{}).Report, report.SeveralDatasets)
	want := []report.GroupDataset{
		{Group: "/accum", Arrays: []string{"tp"}, Dimensions: []report.DimLength{{Name: "step", Length: 6}, {Name: "y", Length: 3}, {Name: "x", Length: 4}}},
		{Group: "/instant", Arrays: []string{"sp", "t2m"}, Dimensions: []report.DimLength{{Name: "time", Length: 12}, {Name: "y", Length: 3}, {Name: "x", Length: 4}}},
	}
	if !reflect.DeepEqual(f.Args["groups"], want) || f.Effect != report.Noted || f.Remedies[0].Option != report.Group {
		t.Errorf("%+v, want groups %+v", f, want)
	}
	for name, opts := range map[string]*plan.Options{"one group": {Group: "accum"}, "arrays of one group": {Vars: []string{"instant/*"}}} {
		if found := planned(t, m, opts).Report.Findings; slices.ContainsFunc(found, func(f report.Finding) bool { return f.Code == report.SeveralDatasets }) {
			t.Errorf("%s: %+v", name, found)
		}
	}
	other := newMaker()
	other.file("a", cube("sea/t", "sea/time", []int64{2}, []int64{1}), cube("land/t", "land/time", []int64{3}, []int64{1}))
	if found := planned(t, other, &plan.Options{}).Report.Findings; slices.ContainsFunc(found, func(f report.Finding) bool { return f.Code == report.SeveralDatasets }) {
		t.Errorf("netCDF: %+v", found)
	}
}
