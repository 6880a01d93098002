package planner

import (
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// partedFile adds a file whose variable v consists of parts of a hidden file.
func (m *maker) partedFile(name string, first int, fill []byte, parts ...manifest.Part) {
	w := cube("v", "time", []int64{4}, nil)
	w.v.Storage = manifest.Storage{Layout: manifest.Parted}
	w.v.Fill = manifest.Fill{Value: fill, User: true}
	f := m.file(name, days(first, 4), w)
	hidden := len(m.files)
	for i := range parts {
		parts[i].File = hidden
	}
	f.Parts = map[int][]manifest.Part{1: parts}
	m.file(name+".parts", cube("v", "time", []int64{4}, []int64{4})).Hidden = true
}

// TestPartsRefused: overlapping parts, and different fill values between parts, are refused.
func TestPartsRefused(t *testing.T) {
	box := func(origin, length int64) manifest.Part {
		return manifest.Part{Origin: []int64{origin}, Start: []int64{0}, Shape: []int64{length}}
	}
	zero, one := []byte{0, 0, 0, 0}, []byte{0, 0, 128, 63}
	for _, c := range []struct {
		name  string
		make  func(m *maker)
		code  report.Code
		files string
		flip  map[string]plan.Direction
	}{
		{"overlapping parts", func(m *maker) { m.partedFile("a", 0, zero, box(0, 3), box(2, 2)) }, report.PartsOverlap, "a", nil},
		{"two fill values", func(m *maker) {
			m.partedFile("a", 0, zero, box(0, 2))
			m.partedFile("b", 4, one, box(0, 2))
		}, report.PartsFillDiffers, "b", nil},
		{"parts that would be read backwards", func(m *maker) { m.partedFile("a", 0, zero, box(0, 2)) }, report.PartsMoved, "a",
			map[string]plan.Direction{"time": plan.Decreasing}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			_, _, err := newPlan(m.files, &plan.Options{Flip: c.flip})
			f := findingOf(t, &report.Report{Findings: refusals(t, err)}, c.code)
			if got := reporttest.Files(&f); f.Array != "/v" || got != c.files || reporttest.Remedies(&f) != "drop=v" {
				t.Errorf("%+v", f)
			}
		})
	}
}
