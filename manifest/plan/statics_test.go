package plan

import (
	"errors"
	"testing"

	"varve/manifest"
	"varve/manifest/report"
)

// ocean adds files with one variable each and the same grid, as CESM writes them. The last one has another angle if
// differs is set.
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

// TestComplementaryFiles: files that share a grid and hold different variables are merged. Nothing asks to concatenate
// them along the grid, which would double it.
func TestComplementaryFiles(t *testing.T) {
	m := newMaker()
	m.ocean(false, "SHF", "STF_O2")
	p := planned(t, m, &Options{})
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
	_, _, err := newPlan(m.files, &Options{})
	var refused *Error
	if !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Code != report.StaticDiffers || refused.Findings[0].Array != "/ANGLE" {
		t.Errorf("with other angles: %v", err)
	}

	m = newMaker()
	m.ocean(false, "SHF", "STF_O2")
	m.ocean(false, "SHF")
	_, _, err = newPlan(m.files, &Options{})
	if !errors.As(err, &refused) {
		t.Errorf("two files with the same variable: %v", err)
	}
}
