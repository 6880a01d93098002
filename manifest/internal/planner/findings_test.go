package planner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestFindings: each disagreement makes one finding, which lists all files that have it.
func TestFindings(t *testing.T) {
	m64 := func(n ...int64) []int64 { return n }
	for _, c := range []struct {
		name   string
		opts   plan.Options
		make   func(m *maker)
		code   report.Code
		effect report.Effect
		files  string
		facts  string
	}{
		{"unreadable", plan.Options{}, func(m *maker) {
			for i := range 2 {
				w := cube("odd", "time", m64(2), m64(2))
				w.v.Unreadable = "references to other objects"
				m.day(fmt.Sprint(i), 2*i, 2, w)
			}
		}, report.VariableUnreadable, report.Dropped, "0 1", "reason=references to other objects"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			f := findingOf(t, planned(t, m, &c.opts).Report, c.code)
			if got := reporttest.Files(&f); got != c.files || f.Effect != c.effect || reporttest.Facts(&f) != c.facts {
				t.Errorf("files %q, effect %s, facts %q; want %q, %s, %q", got, f.Effect, reporttest.Facts(&f), c.files, c.effect, c.facts)
			}
		})
	}
}

// TestReportIsShort: a thousand files with the same disagreement make one finding.
func TestReportIsShort(t *testing.T) {
	m := newMaker()
	for i := range 1000 {
		var more []wanted
		for k := range 5 {
			w := cube(fmt.Sprint("u", k), "time", []int64{3}, []int64{3})
			if i%3 == 0 {
				w.v.Storage.Codecs = w.v.Storage.Codecs[:1]
			}
			more = append(more, w.with("comment", fmt.Sprint(i%7)))
		}
		m.day(fmt.Sprintf("%04d", i), 3*i, 3-i%2, more[:5-i%2]...)
	}
	p := planned(t, m, nil)
	if len(p.Report.Findings) > 25 {
		t.Errorf("%d findings", len(p.Report.Findings))
	}
	for _, f := range p.Report.Findings {
		if f.Count > 0 && f.Code != report.GroupAttributes && f.Files.Len() != f.Count {
			t.Errorf("the finding counts %d files but lists %d: %+v", f.Count, f.Files.Len(), f)
		}
	}
}

// TestFirstFile: for coords=first, the first file is the first by position, not by name.
func TestFirstFile(t *testing.T) {
	m := newMaker()
	m.file("1", days(2, 2), lat(), cube("t", "time lat", []int64{2, 3}, []int64{2, 3}))
	m.file("2", days(0, 2), coords("lat", "lat", float32s, -10, 0, 11).with("units", "degrees_north"), cube("t", "time lat", []int64{2, 3}, []int64{2, 3}))
	p := planned(t, m, &plan.Options{Coords: plan.CoordsFirst})
	data, _ := elementsOfPieces(t, arrayOf(t, p, "/lat"), valuesByID(p.Values))
	if want := m.files[1].Values[1].Data; string(data) != string(want) {
		t.Errorf("lat is %x, not %x", data, want)
	}
}

// TestPaddedCoordinate: with padding, the longest coordinate is used. It is complete, so it declares
// no missing value.
func TestPaddedCoordinate(t *testing.T) {
	m := newMaker()
	m.file("1", days(0, 2), coords("x", "x", int32s, 0, 1, 2), cube("t", "time x", []int64{2, 3}, []int64{2, 3}))
	m.file("2", days(2, 2), coords("x", "x", int32s, 0, 1), cube("t", "time x", []int64{2, 2}, []int64{2, 2}))
	x := arrayOf(t, planned(t, m, &plan.Options{Pad: plan.PadFill}), "/x")
	if mask, ok := x.Schema.Attributes.Get("_FillValue"); ok {
		t.Errorf("x has _FillValue %s", mask)
	}
}

// TestNeeds: values are requested only if nothing else can decide.
func TestNeeds(t *testing.T) {
	land := func() wanted { return cube("land", "lat", []int64{3}, []int64{3}) }
	big := func() wanted { return cube("t", "lat lon", []int64{3, 4}, []int64{3, 4}) }
	for _, c := range []struct {
		name string
		opts plan.Options
		make func(m *maker)
		want string // file:variable
	}{
		{"no static variable", plan.Options{}, func(m *maker) { m.day("a", 0, 2); m.day("b", 2, 2) }, ""},
		{"a static variable, in every file", plan.Options{}, func(m *maker) {
			for i := range 3 {
				m.day(fmt.Sprint(i), 2*i, 2, land())
			}
		}, "0:4 1:4 2:4"},
		{"digests of a large static variable", plan.Options{}, func(m *maker) {
			for i := range 2 {
				m.day(fmt.Sprint(i), 2*i, 2, cube("grid", "y x", []int64{64, 128}, []int64{64, 128}))
			}
		}, "0:4 sum 1:4 sum"},
		{"all values of a large static variable if packings differ", plan.Options{}, func(m *maker) {
			for i := range 2 {
				m.day(fmt.Sprint(i), 2*i, 2, cube("grid", "y x", []int64{64, 128}, []int64{64, 128}).with("scale_factor", fmt.Sprint(i)))
			}
		}, "0:4 1:4"},
		{"nothing if values are too large to compare", plan.Options{}, func(m *maker) {
			for i := range 2 {
				m.day(fmt.Sprint(i), 2*i, 2, cube("grid", "y x", []int64{1 << 20, 1 << 20}, []int64{64, 128}))
			}
		}, "refused"},
		{"nothing for coords=first", plan.Options{Coords: plan.CoordsFirst}, func(m *maker) {
			for i := range 3 {
				m.day(fmt.Sprint(i), 2*i, 2, land())
			}
		}, ""},
		{"nothing if one file has the variable", plan.Options{}, func(m *maker) { m.day("a", 0, 2, land()); m.day("b", 2, 2) }, ""},
		{"nothing if values were never written", plan.Options{}, func(m *maker) {
			for i := range 3 {
				w := land()
				w.v.Storage = manifest.Storage{Layout: manifest.Nothing}
				m.day(fmt.Sprint(i), 2*i, 2, w)
			}
		}, ""},
		{"a coordinate that was not read", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.day("b", 2, 2)
			m.files[1].Values = append([]*manifest.Values{nil}, m.files[1].Values[1:]...)
		}, "1:0"},
		{"bounds without units of their own", plan.Options{}, func(m *maker) {
			for i := range 2 {
				at := coords("time", "time", int32s, 0, 1).with("units", fmt.Sprintf("days since 1990-01-%02d", 1+2*i), "bounds", "edges")
				edges := cube("edges", "time nv", []int64{2, 2}, []int64{2, 2})
				edges.v.Type = float64s
				m.file(fmt.Sprint(i), at, edges)
			}
		}, "0:1 1:1"},
		{"data of two of the files that cannot be ordered", plan.Options{}, func(m *maker) {
			for i := range 4 {
				m.file(fmt.Sprint(i), lat(), lon(), big())
			}
		}, "0:2 1:2"},
		{"nothing if the plan is refused anyway", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2, land())
			m.day("b", 2, 2, land(), cube("t", "time lat lon", []int64{2, 4, 4}, []int64{2, 4, 4}))
		}, "refused"},
		{"data of two of the files that hold the same positions", plan.Options{}, func(m *maker) {
			for i := range 4 {
				m.day(fmt.Sprint(i), 0, 2, land())
			}
		}, "0:3 1:3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			_, needs, err := newPlan(m.files, &c.opts)
			var got []string
			for _, n := range needs {
				got = append(got, fmt.Sprintf("%d:%d", n.File, n.Variable)+map[bool]string{true: " sum"}[n.Extent == Sum])
			}
			if err != nil {
				got = append(got, "refused")
			}
			if text := strings.Join(got, " "); text != c.want {
				t.Errorf("the plan requests %q, want %q; error %v", text, c.want, err)
			}
		})
	}
}

// TestRetimed: times with different units are converted exactly to common units, with their bounds.
func TestRetimed(t *testing.T) {
	m := newMaker()
	for i, w := range []wanted{
		coords("time", "time", float64s, 0, 0.5).with("units", "days since 1990-01-01"),
		coords("time", "time", int32s, 0, 12).with("units", "hours since 1990-01-02"),
	} {
		edges := coords("edges", "time nv", float64s, 0, 0.25, 0.5, 0.75)
		if i == 1 {
			edges = coords("edges", "time nv", float64s, 0, 6, 12, 18)
		}
		edges.v.Shape, edges.v.Storage.Chunks = []int64{2, 2}, []int64{2, 2}
		m.file(fmt.Sprint(i), w.with("bounds", "edges"), edges)
	}
	p := planned(t, m, nil)
	for path, want := range map[string][]int64{"/time": {0, 12, 24, 36}, "/edges": {0, 6, 12, 18, 24, 30, 36, 42}} {
		a := arrayOf(t, p, path)
		data, _ := elementsOfPieces(t, a, valuesByID(p.Values))
		x, err := coord.ReadNumbers(&manifest.Variable{Type: a.Schema.DataType.Type()}, data)
		if err != nil || x.Len != len(want) {
			t.Fatal(path, x.Len, err)
		}
		units, _ := a.Schema.Attributes.Get("units")
		for i, n := range want {
			if int64(x.Real(i)) != n || string(units) != `"hours since 1990-01-01"` {
				t.Errorf("%s: value %d is %v %s, want %d hours since 1990-01-01", path, i, x.Real(i), units, n)
			}
		}
	}
}

// TestCalendarsBefore1582: the standard and proleptic calendars differ before 1582, and the finding
// names the calendar of the result.
func TestCalendarsBefore1582(t *testing.T) {
	m := newMaker()
	for i, calendar := range []string{"standard", "proleptic_gregorian"} {
		m.file(calendar, coords("time", "time", float64s, float64(20*i)).with("units", "days since 1500-01-01", "calendar", calendar))
	}
	p := planned(t, m, nil)
	if f := findingOf(t, p.Report, report.CalendarsConverted); f.Args["calendar"] != "standard" {
		t.Errorf("%+v", f)
	}
}

// TestDifferentNumbersOfOneText: if two different numbers have the same text, the finding adds their
// types.
func TestDifferentNumbersOfOneText(t *testing.T) {
	m := newMaker()
	for i, typ := range []codec.Type{float32s, float64s} {
		m.file(fmt.Sprint(i), days(i, 1), coords("x", "x", typ, 0.1, 1), cube("t", "time x", []int64{1, 2}, []int64{1, 2}))
	}
	_, _, err := newPlan(m.files, nil)
	f := findingOf(t, &report.Report{Findings: refusals(t, err)}, report.CoordinateDiffers)
	if got := reporttest.Facts(&f); got != "example=1 index=0 other=0.1 of float32 standard=0 value=0.1 of float64" {
		t.Error(got)
	}
}

// TestBoundsHaveUnits: time bounds take the units of their times, even if other files have no bounds.
// They declare units themselves if no array names them as bounds.
func TestBoundsHaveUnits(t *testing.T) {
	edges := func(name string) wanted { return cube(name, "time nv", []int64{2, 2}, []int64{2, 2}) }
	const days1990 = `"units":"days since 1990-01-01"`
	for _, c := range []struct {
		name       string
		opts       plan.Options
		make       func(m *maker)
		time, ends string // attributes of /time and /edges
	}{
		{"some files have no bounds", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2).with("bounds", "edges"), edges("edges"), cube("t", "time", []int64{2}, []int64{2}))
			m.file("b", days(2, 2), cube("t", "time", []int64{2}, []int64{2}))
		}, `{"standard_name":"time","bounds":"edges",` + days1990 + `}`, `{}`},
		{"the first file has no bounds", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), cube("t", "time", []int64{2}, []int64{2}))
			m.file("b", days(2, 2).with("climatology", "edges"), edges("edges"), cube("t", "time", []int64{2}, []int64{2}))
		}, `{"standard_name":"time","climatology":"edges",` + days1990 + `}`, `{}`},
		{"bounds with different names", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2).with("bounds", "edges"), edges("edges"))
			m.file("b", days(2, 2).with("bounds", "ends"), edges("ends"))
		}, `{"standard_name":"time",` + days1990 + `}`, `{` + days1990 + `}`},
		{"some files do not name their bounds", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2).with("bounds", "edges"), edges("edges"))
			m.file("b", days(2, 2), edges("edges"))
		}, `{"standard_name":"time",` + days1990 + `}`, `{}`},
		{"the times are dropped", plan.Options{Drop: []string{"time"}, Concat: []string{"time"}}, func(m *maker) {
			m.file("a", days(0, 2).with("bounds", "edges"), edges("edges"))
			m.file("b", days(2, 2).with("bounds", "edges"), edges("edges"))
		}, "", `{` + days1990 + `}`},
		{"all files name the same bounds", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2).with("bounds", "edges"), edges("edges"))
			m.file("b", days(2, 2).with("bounds", "edges"), edges("edges"))
		}, `{"standard_name":"time","bounds":"edges",` + days1990 + `}`, `{}`},
	} {
		m := newMaker()
		c.make(m)
		p := planned(t, m, &c.opts)
		for path, want := range map[string]string{"/time": c.time, "/edges": c.ends} {
			if want == "" {
				continue
			}
			if got := string(arrayOf(t, p, path).Schema.Attributes.JSON()); got != want {
				t.Errorf("%s: %s: %s, not %s", c.name, path, got, want)
			}
		}
	}
}

// TestInvalidTimeUnits: files with many different invalid units make one finding with an example.
func TestInvalidTimeUnits(t *testing.T) {
	for name, c := range map[string]struct {
		first int
		code  report.Code
		count int64
		after string
	}{
		"other files are valid": {20, report.CoordinateKind, 20, "drop=time concat=time"},
		"all files are invalid": {0, report.CoordinateUnits, 39, "drop=time concat=time"},
	} {
		m := newMaker()
		for i := range 40 {
			month := 1
			if i >= c.first {
				month = 13
			}
			m.file(fmt.Sprintf("%02d", i), coords("time", "time", int32s, float64(i)).with("units", fmt.Sprintf("days since 2000-%02d-01 00:00:%02d", month, i)),
				cube("h", "time", []int64{1}, []int64{1}))
		}
		_, err := planning(m, &plan.Options{})
		var refused *plan.Error
		if !errors.As(err, &refused) || len(refused.Findings) != 1 || refused.Findings[0].Code != c.code || refused.Findings[0].Count != c.count {
			t.Fatalf("%s: %v", name, err)
		}
		opts := &plan.Options{}
		if got := follow(t, refused, opts); got != c.after {
			t.Errorf("%s: the remedy sets %s, want %s", name, got, c.after)
		}
		if _, err := planning(m, opts); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
