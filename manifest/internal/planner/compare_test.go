package planner

import (
	"errors"
	"fmt"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// ocean adds files with one variable each and the same grid, as CESM writes them. If differs is set, the
// last file has another grid.
func (m *maker) ocean(differs bool, variables ...string) {
	for i, name := range variables {
		angle := cube("ANGLE", "nlat nlon", []int64{2, 3}, []int64{2, 3})
		angle.values = &manifest.Values{Data: make([]byte, 24)}
		if differs && i == len(variables)-1 {
			angle.values.Data[0] = 1
		}
		m.file(name, days(0, 2), angle, cube(name, "time nlat nlon", []int64{2, 2, 3}, []int64{1, 2, 3}))
	}
}

// TestComplementaryFiles: files that share a grid and have different variables are merged, and not
// concatenated along the grid.
func TestComplementaryFiles(t *testing.T) {
	m := newMaker()
	m.ocean(false, "SHF", "STF_O2")
	p := planned(t, m, &plan.Options{})
	for _, path := range []string{"/SHF", "/STF_O2"} {
		if shape := arrayOf(t, p, path).Schema.Shape; len(shape) != 3 || shape[0] != 2 || shape[1] != 2 || shape[2] != 3 {
			t.Errorf("%s has the shape %v", path, shape)
		}
	}
	if shape := arrayOf(t, p, "/ANGLE").Schema.Shape; len(shape) != 2 || shape[0] != 2 {
		t.Errorf("/ANGLE has the shape %v", shape)
	}

	m = newMaker()
	m.ocean(true, "SHF", "STF_O2")
	_, _, err := newPlan(m.files, &plan.Options{})
	var refused *plan.Error
	if !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Code != report.StaticDiffers || refused.Findings[0].Array != "/ANGLE" {
		t.Errorf("a file with another grid: %v", err)
	}

	m = newMaker()
	m.ocean(false, "SHF", "STF_O2")
	m.ocean(false, "SHF")
	_, err = planAnswered(m.files, &plan.Options{})
	if !errors.As(err, &refused) {
		t.Errorf("two files with the same variable: %v", err)
	}
}

// TestGridInItsOwnFile: files that share no variable are not foreign if they share the longest
// dimension of one file, or if attributes of one name variables of the other.
func TestGridInItsOwnFile(t *testing.T) {
	data := func(m *maker, attributes ...string) {
		for i := range 2 {
			m.file(fmt.Sprint("data", i), days(2*i, 2), cube("v", "time node", []int64{2, 9}, []int64{2, 9}).with(attributes...))
		}
	}
	external := &manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/", Attributes: []manifest.Attribute{textAttribute("external_variables", "area volume")}}}}
	for name, c := range map[string]struct {
		make    func(m *maker)
		foreign bool
	}{
		"a mesh with the same dimension": {func(m *maker) {
			data(m)
			m.file("mesh", cube("x", "node", []int64{9}, []int64{9}), cube("corners", "face corner", []int64{4, 3}, []int64{4, 3}))
		}, false},
		"a mesh with another length": {func(m *maker) { data(m); m.file("mesh", cube("x", "node", []int64{8}, []int64{8})) }, true},
		"only an unlimited dimension is shared": {func(m *maker) {
			data(m)
			m.file("stray", cube("x", "time", []int64{2}, []int64{2}))
		}, true},
		"a mesh that is named": {func(m *maker) { data(m, "mesh", "topology"); m.file("mesh", scalar("topology", 0)) }, false},
		"a mapping that is named": {func(m *maker) {
			data(m, "grid_mapping", "crs: x y")
			m.file("mesh", scalar("crs", 0))
		}, false},
		"a cell area outside": {func(m *maker) {
			data(m)
			for _, f := range m.files {
				f.Groups = manifest.NewFileGroups(external)
			}
			m.file("areas", cube("area", "cell", []int64{7}, []int64{7}))
		}, false},
		"a mapping of another name": {func(m *maker) { data(m, "grid_mapping", "crs"); m.file("mesh", scalar("polar", 0)) }, true},
	} {
		m := newMaker()
		c.make(m)
		_, _, err := newPlan(m.files, nil)
		var refused *plan.Error
		isForeign := errors.As(err, &refused) && refused.Findings[0].Code == report.ForeignFile
		if isForeign != c.foreign || err != nil && !isForeign {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTextsAreNotConcatenated: no remedy concatenates files along the characters of a text.
func TestTextsAreNotConcatenated(t *testing.T) {
	m := newMaker()
	for _, name := range []string{"a", "b"} {
		label := cube("label", "component length", []int64{3, 20}, []int64{3, 20})
		label.v.Type = codec.Type{Kind: codec.FixedBytes, Size: 1}
		m.file(name, label, cube("v", "component y", []int64{3, 5}, []int64{3, 5}))
	}
	_, err := planAnswered(m.files, nil)
	for _, f := range refusals(t, err) {
		for _, r := range f.Remedies {
			if r.Option == report.Concat && r.Value == "length" {
				t.Errorf("%s: %+v", f.Code, r)
			}
		}
	}
}
