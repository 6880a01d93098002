package planner

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestPaddedLabels: the labels of narrower files must equal the first labels of the longest. With
// coords=first, the longest is used, unless the labels occur at other positions in it.
func TestPaddedLabels(t *testing.T) {
	for _, c := range []struct {
		name, labels string
		coords       plan.Coords
		want         string // a remedy of the refusal; empty if there is none
		noted        bool   // the difference is reported
	}{
		{"the first labels", "a b", "", "", false},
		{"other positions", "b a", "", "overlap=last", false},
		{"other positions, coords=first", "b a", plan.CoordsFirst, "overlap=last", false},
		{"a later part, coords=first", "b c", plan.CoordsFirst, "overlap=last", false},
		{"another label", "a x", "", "join=station=outer", false},
		{"another label, coords=first", "a x", plan.CoordsFirst, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			for i, labels := range []string{c.labels, "a b c"} {
				list := strings.Fields(labels)
				n := int64(len(list))
				m.file(labels, days(2*i, 2), words("station", "station", list...), cube("t", "time station", []int64{2, n}, []int64{2, n}))
			}
			p, _, err := newPlan(m.files, &plan.Options{Pad: plan.PadFill, Coords: c.coords})
			var refused *plan.Error
			switch {
			case c.want != "":
				if !errors.As(err, &refused) || !strings.Contains(reporttest.Remedies(&refused.Findings[0]), c.want) {
					t.Errorf("got %v", err)
				}
			case err != nil:
				t.Error(err)
			case c.noted:
				if f := findingOf(t, p.Report, report.CoordinateDiffers); f.Effect != report.Noted || f.Array != "/station" {
					t.Errorf("got %+v", f)
				}
			}
		})
	}
}

// TestWidthsRemedies: every remedy of coordinates of different lengths helps, whatever values they have.
func TestWidthsRemedies(t *testing.T) {
	for name, c := range map[string]struct {
		short, long []float64
		opts        plan.Options
	}{
		"the first values of the longest":              {short: []float64{1, 2}, long: []float64{1, 2, 3}},
		"other values within the range of the longest": {short: []float64{2, 4}, long: []float64{1, 3, 5}},
		"some values of the longest":                   {short: []float64{1, 4}, long: []float64{1, 3, 5}},
		"values of the longest at other positions":     {short: []float64{3, 5}, long: []float64{1, 3, 5}},
		"padded: other values":                         {short: []float64{2, 4}, long: []float64{1, 3, 5}, opts: plan.Options{Pad: plan.PadFill}},
		"padded: values at other positions":            {short: []float64{3, 5}, long: []float64{1, 3, 5}, opts: plan.Options{Pad: plan.PadFill}},
		"coords=first: other values":                   {short: []float64{2, 4}, long: []float64{1, 3, 5}, opts: plan.Options{Coords: plan.CoordsFirst}},
		"coords=first: values at other positions":      {short: []float64{3, 5}, long: []float64{1, 3, 5}, opts: plan.Options{Coords: plan.CoordsFirst}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaker()
			for i, values := range [][]float64{c.short, c.long, c.long} {
				n := int64(len(values))
				m.file(strconv.Itoa(i), days(2*i, 2), coords("x", "x", float32s, values...), cube("t", "time x", []int64{2, n}, []int64{2, n}))
			}
			_, _, err := askedNew(m.files, &c.opts)
			var refused *plan.Error
			if !errors.As(err, &refused) {
				t.Fatal("not refused:", err)
			}
			t.Log(reporttest.Remedies(&refused.Findings[0]))
			for _, f := range refused.Findings {
				if len(f.Remedies) == 0 {
					t.Errorf("%s has no remedy", f.Code)
				}
				for _, r := range f.Remedies {
					if says := tryRemedy(m.files, &c.opts, &f, &r); says != "" {
						t.Errorf("%s of %s: %s", reasonText(&r), f.Code, says)
					}
				}
			}
		})
	}
}
