package planner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestRefused: refusals have the expected finding, files and remedies.
func TestRefused(t *testing.T) {
	m64 := func(n ...int64) []int64 { return n }
	for _, c := range []struct {
		name   string
		opts   plan.Options
		make   func(m *maker)
		code   report.Code
		files  string // base names
		option string // the remedies
	}{
		{"coordinates with equal float64 values", plan.Options{}, func(m *maker) {
			for i := range 3 {
				x := coords("x", "x", int64s, 1<<60, 1<<60+1<<20)
				x.values.Data[0] = byte(i / 2) // 1<<60+1 is 1<<60 as a float64
				m.file(fmt.Sprint(i), days(i, 1), x, cube("t", "time x", m64(1, 2), m64(1, 2)))
			}
		}, report.CoordinateDiffers, "2", "coords=first"},
		{"float16 coordinates", plan.Options{}, func(m *maker) {
			for i, bytes := range []string{"\x00\x3c\x00\x40", "\x00\x3c\x00\x40", "\x01\x3c\x01\x40"} {
				w := coords("lat", "lat", int16s, 0, 0)
				w.v.Type = codec.Type{Kind: codec.Float, Size: 2}
				w.values = &manifest.Values{Data: []byte(bytes)}
				m.file(fmt.Sprint(i), days(i, 1), w, cube("t", "time lat", m64(1, 2), m64(1, 2)))
			}
		}, report.CoordinateDiffers, "2", "tolerance=0.002 | coords=first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			_, err := planAnswered(m.files, &c.opts)
			var refused *plan.Error
			if !errors.As(err, &refused) {
				t.Fatalf("error %v; want a refusal", err)
			}
			f := findingOf(t, &report.Report{Findings: refused.Findings}, c.code)
			for url := range f.Files.All() {
				if !strings.Contains(err.Error(), report.Base(url)) {
					t.Errorf("the error does not name %s: %q", url, err)
				}
			}
			if got := reporttest.Files(&f); got != c.files {
				t.Errorf("the finding names %s, want %s: %+v", got, c.files, f)
			}
			if got := reporttest.Remedies(&f); got != c.option {
				t.Errorf("the remedies are %q, want %q", got, c.option)
			}
			if f.Effect != report.Refused || f.Count != f.Files.Len() {
				t.Errorf("%+v", f)
			}
		})
	}
}
