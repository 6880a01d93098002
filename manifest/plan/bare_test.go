package plan

import (
	"errors"
	"strings"
	"testing"

	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestPaddedLabels: the labels of narrower files must equal the first labels of the longest. With
// coords=first, the longest is used, unless the labels occur at other positions in it.
func TestPaddedLabels(t *testing.T) {
	for _, c := range []struct {
		name, labels string
		coords       Coords
		want         string // of the refusal
		noted        bool
	}{
		{"begins alike", "a b", "", "", false},
		{"in other places", "b a", "", "overlap=last", false},
		{"in other places, and the first count", "b a", CoordsFirst, "overlap=last", false},
		{"a stretch, and the first count", "b c", CoordsFirst, "overlap=last", false},
		{"others", "a x", "", "coords=first", false},
		{"others, and the first count", "a x", CoordsFirst, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			for i, labels := range []string{c.labels, "a b c"} {
				list := strings.Fields(labels)
				n := int64(len(list))
				m.file(labels, days(2*i, 2), words("station", "station", list...), cube("t", "time station", []int64{2, n}, []int64{2, n}))
			}
			p, _, err := newPlan(m.files, &Options{Pad: PadFill, Coords: c.coords})
			var refused *Error
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
