package planner

import (
	"errors"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
)

// TestSpellingsOfUnits: different spellings of a unit are equal, and the spelling of the first file is
// declared. Different units are refused.
func TestSpellingsOfUnits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"degrees_north", "degree_N", true}, {"m", "metres", true}, {"hPa", "millibar", true}, {"1", "", true}, {"m s-1", "m/s", true},
		{"degrees_north", "degrees_east", false}, {"K", "degC", false}, {"hPa", "Pa", false},
	} {
		for name, make := range map[string]func(i int, units string) []wanted{
			"equal in all files": func(i int, units string) []wanted { // height is an auxiliary coordinate, which is compared as numbers
				return []wanted{days(2*i, 2), coords("y", "y", float64s, 1, 2).with("units", units), coords("height", "k", float32s, 3, 4).with("units", units),
					cube("v", "time y", []int64{2, 2}, []int64{2, 2}).with("units", units, "coordinates", "height")}
			},
			"concatenated": func(i int, units string) []wanted {
				return []wanted{coords("y", "y", float64s, float64(2*i), float64(2*i+1)).with("units", units), cube("v", "y", []int64{2}, []int64{2}).with("units", units)}
			},
		} {
			m := newMaker()
			m.file("0", make(0, c.a)...)
			m.file("1", make(1, c.b)...)
			p, needs, err := newPlan(m.files, nil)
			var refused *plan.Error
			if !c.same {
				if !errors.As(err, &refused) || refused.Findings[0].Code != report.CoordinateUnits {
					t.Errorf("%s, %q and %q: %v", name, c.a, c.b, err)
				}
				continue
			}
			if err != nil || len(needs) > 0 {
				t.Errorf("%s, %q and %q: error %v, needs %v", name, c.a, c.b, err, needs)
				continue
			}
			for _, at := range []string{"/y", "/v"} {
				if units, _ := arrayOf(t, p, at).Schema.Attributes.Get("units"); string(units) != `"`+c.a+`"` {
					t.Errorf("%s: %s has units %s, not %s", name, at, units, c.a)
				}
			}
			if f := findingOf(t, p.Report, report.UnitsSpelling); f.Effect != report.Verbatim {
				t.Errorf("%s: %+v", name, f)
			}
			// An appended file may have another spelling, too.
			m.file("2", make(2, c.b)...)
			if base, _, err := newPlan(m.files[:2], &plan.Options{Rectilinear: true}); err != nil || base.State == nil {
				t.Errorf("%s: the plan has no state: %v", name, err)
			} else if x, needs, err := askedExtend(snapshotOf(base, 2), m.files, &plan.Options{Rectilinear: true}); err != nil || x == nil {
				t.Errorf("%s, %q and %q: not extended: error %v, needs %v", name, c.a, c.b, err, needs)
			}
		}
	}
}

// TestUnitsMissing: a missing unit does not contradict a unit. This holds for dimension coordinates, for
// variables that the attribute coordinates names, and for data.
func TestUnitsMissing(t *testing.T) {
	file := func(m *maker, i int, units ...string) {
		m.file(string(rune('a'+i)), days(2*i, 2), coords("y", "y", float64s, 1, 2).with(units...), coords("height", "k", float32s, 3, 4).with(units...),
			cube("v", "time y", []int64{2, 2}, []int64{2, 2}).with(append([]string{"coordinates", "height"}, units...)...))
	}
	for name, c := range map[string]struct {
		units [][]string
		want  string // empty if refused
	}{
		"first missing": {[][]string{nil, {"units", "m"}}, `"m"`},
		"last missing":  {[][]string{{"units", "m"}, {"units", "meter"}, nil}, `"m"`},
		"empty":         {[][]string{{"units", "m"}, {"units", ""}}, `"m"`},
		"all missing":   {[][]string{nil, {"units", ""}}, ``},
		"1 and missing": {[][]string{{"units", "1"}, nil}, `"1"`},
		"two units":     {[][]string{nil, {"units", "m"}, {"units", "km"}}, "refused"},
		"1 and m":       {[][]string{{"units", "1"}, {"units", "m"}}, "refused"},
	} {
		m := newMaker()
		for i, units := range c.units {
			file(m, i, units...)
		}
		p, _, err := newPlan(m.files, nil)
		if c.want == "refused" {
			var refused *plan.Error
			if !errors.As(err, &refused) || refused.Findings[0].Code != report.CoordinateUnits {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, at := range []string{"/y", "/v", "/height"} {
			if units, _ := arrayOf(t, p, at).Schema.Attributes.Get("units"); string(units) != c.want && !(c.want == "" && string(units) == `""`) {
				t.Errorf("%s: %s has units %s, not %s", name, at, units, c.want)
			}
		}
	}
}

// TestSpellingWithFirstCoordinates: with coords=first, the spelling of the first file's units is
// declared.
func TestSpellingWithFirstCoordinates(t *testing.T) {
	m := newMaker()
	for i, units := range []string{"degrees_north", "degree_north"} {
		m.file(string(rune('a'+i)), days(2*i, 2), coords("lat", "lat", float32s, 1, 2, float64(3+i)).with("units", units), cube("v", "time lat", []int64{2, 3}, []int64{2, 3}))
	}
	p := planned(t, m, &plan.Options{Coords: plan.CoordsFirst})
	if units, _ := arrayOf(t, p, "/lat").Schema.Attributes.Get("units"); string(units) != `"degrees_north"` {
		t.Errorf("the units are %s, want degrees_north", units)
	}
}
