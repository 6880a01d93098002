package planner

import (
	"errors"
	"slices"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestCalibrated: the add_offset of HDF4 files is reported and never applied.
func TestCalibrated(t *testing.T) {
	for _, c := range []struct {
		name, format string
		offsets      [2]float64
		effect       report.Effect
		files        string
	}{
		{"the same offset", "HDF4", [2]float64{5, 5}, report.Noted, "a b"},
		{"different offsets", "HDF4", [2]float64{5, 6}, report.Refused, "a b"},
		{"one file with an offset", "HDF4", [2]float64{0, 6}, report.Refused, "b"},
		{"no offset", "HDF4", [2]float64{0, 0}, "", ""},
		{"offsets of CF", "HDF5", [2]float64{5, 6}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			for i, name := range []string{"a", "b"} {
				x := cube("h", "time lat", []int64{1, 2}, []int64{1, 2})
				x.v.Type, x.v.Attributes = int16s, []manifest.Attribute{numberAttribute("scale_factor", 0.5), numberAttribute("add_offset", c.offsets[i])}
				m.file(name, days(i, 1), x).Format = c.format
			}
			p, err := planning(m, &plan.Options{})
			var findings []report.Finding
			var refused *plan.Error
			switch {
			case errors.As(err, &refused):
				findings = refused.Findings
			case err != nil:
				t.Fatal(err)
			default:
				findings = p.Report.Findings
			}
			var found []report.Finding
			for _, f := range findings {
				if f.Code == report.OffsetSubtracted || f.Code == report.OffsetConflict {
					found = append(found, f)
				}
			}
			switch {
			case c.files == "" && len(found) > 0:
				t.Errorf("findings %v, want none", found)
			case p != nil && err == nil && isMarked(p) != (c.effect == report.Noted):
				t.Errorf("only h is marked as calibrated: %t", isMarked(p))
			case c.files != "" && (len(found) != 1 || found[0].Effect != c.effect || reporttest.Files(&found[0]) != c.files):
				t.Errorf("findings %+v, want one with effect %s for files %s", found, c.effect, c.files)
			case c.effect == report.Refused && (err == nil || reporttest.Remedies(&found[0]) != "drop=h"):
				t.Errorf("%v: %+v", err, found)
			}
		})
	}
}

// isMarked reports whether only the array h is marked as calibrated.
func isMarked(p *Plan) bool {
	return !slices.ContainsFunc(p.Arrays, func(a manifest.Array) bool { return a.Calibrated != (a.Path == "/h") })
}
