package planner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// coordinateOf returns the units of a coordinate and its values as integers, floats or texts.
func coordinateOf(t *testing.T, p *Plan, path string) string {
	t.Helper()
	a := arrayOf(t, p, path)
	units := "-"
	if raw, ok := a.Schema.Attributes.Get("units"); ok {
		units = strings.Trim(string(raw), `"`)
	}
	out := []string{units}
	for _, piece := range a.Pieces {
		for _, v := range p.Values {
			if v.ID != piece.Values {
				continue
			}
			for i := 0; i+8 <= len(v.Data); i += 8 {
				x := binary.LittleEndian.Uint64(v.Data[i:])
				if strings.HasPrefix(a.Schema.DataType.Type().String(), "float") {
					out = append(out, fmt.Sprint(math.Float64frombits(x)))
				} else {
					out = append(out, fmt.Sprint(int64(x)))
				}
			}
			for _, text := range v.Texts {
				out = append(out, string(text))
			}
			break
		}
	}
	return strings.Join(out, " ")
}

// TestSteps: the values of a new dimension become times, whole numbers, floats or texts, and times
// get the coarsest unit that represents all of them.
func TestSteps(t *testing.T) {
	for texts, want := range map[string]string{
		"1970-01-03 1970-01-02":                                        "days since 1970-01-01 1 2",
		"1970-01-01T00:00:05 1970-01-02":                               "seconds since 1970-01-01 5 86400",
		"1970-01-01T00:00:00.25 1970-01-01T00:00:01.750":               "milliseconds since 1970-01-01 250 1750",
		"1969-12-31T23:59:59.999999Z 1970-01-01":                       "microseconds since 1970-01-01 -1 0",
		"1970-01-01T00:00:01.000000001 1970-01-01":                     "nanoseconds since 1970-01-01 0 1000000001",
		"7 -9223372036854775808":                                       "- -9223372036854775808 7",
		"7 0.5":                                                        "- 0.5 7",
		"9223372036854775808 9223372036854775809":                      "- 9223372036854775808 9223372036854775809",
		"18446744073709551617 0.5":                                     "- 0.5 18446744073709551617",
		"r1i1p1 control":                                               "- control r1i1p1",
		"9999-01-01T00:00:00.5 0001-01-01T00:00:00":                    "milliseconds since 1970-01-01 -62135596800000 253370764800500",
		"9999-01-01T00:00:00.000000001 0001-01-01T00:00:00.0000000010": "",
	} {
		m := newMaker()
		list := strings.Fields(texts)
		for i := range list {
			m.file(fmt.Sprint(i), lat(), cube("t", "lat", []int64{3}, []int64{3}))
		}
		opts := &plan.Options{NewDims: []plan.NewDim{{Name: "step", Values: list}}}
		if want == "" {
			if _, _, err := newPlan(m.files, opts); !mentions(err, "-01-01T00:00:00.000000001", "nanoseconds") {
				t.Errorf("%s: got %v, want an error that names the time and the unit", texts, err)
			}
			continue
		}
		if got := coordinateOf(t, planned(t, m, opts), "/step"); got != want {
			t.Errorf("%s: got %s, want %s", texts, got, want)
		}
	}
}

// TestInvalidTimes: named groups that match an invalid date or time of day are an error.
func TestInvalidTimes(t *testing.T) {
	for name, time := range map[string]string{"19900230_0000": "1990-02-30 00:00:00", "19900101_0075": "1990-01-01 00:75:00", "19900101_2500": "1990-01-01 25:00:00"} {
		m := newMaker()
		m.file(name, lat(), cube("t", "lat", []int64{3}, []int64{3}))
		_, _, err := newPlan(m.files, &plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: `(?P<y>\d{4})(?P<m>\d\d)(?P<d>\d\d)_(?P<H>\d\d)(?P<M>\d\d)`}}})
		if !mentions(err, name, time) {
			t.Errorf("%s: got %v, want an error that names the file and %s", name, err, time)
		}
	}
	m := newMaker()
	m.file("2019366", lat(), cube("t", "lat", []int64{3}, []int64{3}))
	if _, _, err := newPlan(m.files, &plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: `(?P<y>\d{4})(?P<j>\d{3})`}}}); !mentions(err, "2019366", "366") {
		t.Errorf("got %v, want an error that names the file and day 366", err)
	}
}

// TestDaysOfTheYear: the group j is the day of the year, and day 366 needs a leap year.
func TestDaysOfTheYear(t *testing.T) {
	m := newMaker()
	for _, name := range []string{"A2020060.nc", "A2019060.nc", "A2020366.nc"} {
		m.file(name, lat(), cube("t", "lat", []int64{3}, []int64{3}))
	}
	p := planned(t, m, &plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: `A(?P<y>\d{4})(?P<j>\d{3})`}}})
	if got, want := coordinateOf(t, p, "/time"), "days since 1970-01-01 17956 18321 18627"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTimeFormats: a pattern may be a time format, and years of two digits are read as POSIX does.
func TestTimeFormats(t *testing.T) {
	for _, c := range []struct{ pattern, names, want, short string }{
		{"%Y%m%d_%H%M", "x_20200101_0030.nc x_20200101_0000.nc", "seconds since 1970-01-01 1577836800 1577838600", ""},
		{"A%Y%j", "A2020060.nc A2019060.nc A2020366.nc", "days since 1970-01-01 17956 18321 18627", ""},
		{"%Y%m%d", "sat12_v3_20200102.L3.nc sat12_v3_20200101.L3.nc", "days since 1970-01-01 18262 18263", ""},
		{"s%y%m%d", "s970101.nc s000101.nc s680101.nc s690101.nc", "days since 1970-01-01 -365 9862 10957 35794", "s000101.nc s680101.nc s690101.nc s970101.nc"},
		{`s(?P<y>\d\d)(?P<m>\d\d)`, "s9701.nc s0001.nc", "days since 1970-01-01 9862 10957", "s0001.nc s9701.nc"},
		{`s(?P<y>\d+)_`, "s1997_.nc s98_.nc", "days since 1970-01-01 9862 10227", "s98_.nc"},
		{`s(?P<y>\d+)_`, "s997_.nc s0001_.nc", "", ""},
		{`s(?P<y>\d+)_`, "s12020_.nc s0001_.nc", "", ""},
		{"%Y%m%d", "x_2020010112.nc x_2020010212.nc", "", ""}, // the hours would be lost
		{"%Y%m%d", "x_20200230.nc x_20200101.nc", "", ""},
	} {
		m := newMaker()
		for _, name := range strings.Fields(c.names) {
			m.file(name, lat(), cube("t", "lat", []int64{3}, []int64{3}))
		}
		opts := &plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: c.pattern}}}
		if c.want == "" {
			if _, _, err := newPlan(m.files, opts); err == nil {
				t.Errorf("%s: %s: not refused", c.pattern, c.names)
			}
			continue
		}
		p := planned(t, m, opts)
		if got := coordinateOf(t, p, "/time"); got != c.want {
			t.Errorf("%s: %s: got %s, want %s", c.pattern, c.names, got, c.want)
		}
		short := ""
		for _, f := range p.Report.Findings {
			if f.Code == report.ShortYears {
				short = strings.ReplaceAll(strings.Join(slices.Collect(f.Files.All()), " "), "/archive/", "")
			}
		}
		if short != c.short {
			t.Errorf("%s: %s: years of two digits in %q, want %q", c.pattern, c.names, short, c.short)
		}
	}
}

// TestPatterns: if one named group of a pattern is a part of a time, all of them must be.
func TestPatterns(t *testing.T) {
	for pattern, want := range map[string]string{ // the group or code that the error names
		`(?P<y>\d{4})(?P<mon>\d\d)`:        " mon, ",
		`(?P<y>\d{4})(?P<m>\d\d)(?P<j>\d)`: " j, ",
		`\d+`:                              `"\\d+"`,
		`%Y%b`:                             " %b",
		`%Y%m%Y`:                           " %Y ",
		`%Y%m%j`:                           " j, ",
		`100%_%m`:                          " %_",
		`(100%)`:                           "",
		`%Y%%*`:                            "",
		`(?P<member>\d+)`:                  "",
		`(?P<y>\d{4})(_v2)?`:               "",
		`r(?P<m>\d+)`:                      " m,", // not dates in 1970
		`(?P<H>\d\d)(?P<M>\d\d)`:           " H,",
		`%m%d`:                             " m,",
		`%j`:                               " j,",
		`%d%Y`:                             "",
	} {
		_, _, err := plan.ParseNewDim("time=" + pattern)
		if want == "" && err != nil || want != "" && !mentions(err, want) {
			t.Errorf("%s: got %v, want an error that names %q", pattern, err, want)
		}
	}
}

// TestNewDimensionsOfAuxiliaries: an auxiliary variable gets the new dimensions that distinguish
// its values, whether the values are known or requested.
func TestNewDimensionsOfAuxiliaries(t *testing.T) {
	opts := &plan.Options{NewDims: []plan.NewDim{{Name: "member", Pattern: `(\d+)$`}, {Name: "run", Variable: "run"}}}
	for name, c := range map[string]struct {
		valid func(run, member float64) float64
		dims  string
	}{
		"depends on run":            {func(run, member float64) float64 { return run }, "/run /lead"},
		"depends on run and member": {func(run, member float64) float64 { return 10*run + member }, "/member /run /lead"},
		"constant":                  {func(run, member float64) float64 { return 7 }, "/lead"},
	} {
		m := newMaker()
		for i := range 6 {
			run, member := float64(i/3), float64(i%3)
			at := coords("valid", "lead", int32s, c.valid(run, member), c.valid(run, member)+1).with("units", "days since 1990-01-01")
			m.file(fmt.Sprintf("run%v_%v", run, member), coords("lead", "lead", int32s, 0, 1), scalar("run", run), at,
				cube("t", "lead", []int64{2}, []int64{2}).with("coordinates", "valid"))
		}
		p := planned(t, m, opts)
		if got := strings.Join(arrayOf(t, p, "/valid").Dims, " "); got != c.dims {
			t.Errorf("%s: got %s, want %s", name, got, c.dims)
		}
		asked := map[int]bool{}
		for _, f := range m.files {
			at := slices.IndexFunc(f.Header.Expand().Variables, func(v *manifest.Variable) bool { return v.Path == "/valid" })
			f.Values[at] = nil
		}
		_, needs, err := newPlan(m.files, opts)
		for _, n := range needs {
			asked[n.File] = m.files[n.File].Header.Variable(n.Variable).Path == "/valid"
		}
		if err != nil || len(asked) != len(m.files) {
			t.Errorf("%s: the plan requests %v, want the values of /valid of all files: %v", name, needs, err)
		}
	}
}

// TestNewDimensionsAndTimesOfAnotherName: if new dimensions distinguish all files, times along a
// dimension with another name do not concatenate files, provided that all files have the same
// length.
func TestNewDimensionsAndTimesOfAnotherName(t *testing.T) {
	for name, c := range map[string]struct {
		opts  plan.Options
		steps func(i int) int
		dims  string
		shape []int64
	}{
		"one file per run":     {plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)$`}}}, func(i int) int { return 3 }, "/run /lead", []int64{4, 3}},
		"two files per member": {plan.Options{NewDims: []plan.NewDim{{Name: "member", Pattern: `^.(\d)`}}}, func(i int) int { return 3 }, "/lead", []int64{6}},
		"different lengths":    {plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)$`}}}, func(i int) int { return 2 + i%2 }, "/lead", []int64{10}},
		"concat=lead":          {plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d+)$`}}, Concat: []string{"lead"}}, func(i int) int { return 3 }, "/lead", []int64{12}},
		"no new dimension":     {plan.Options{}, func(i int) int { return 3 }, "/lead", []int64{12}},
	} {
		m := newMaker()
		for i := range 4 {
			n, from := c.steps(i), float64(10*i)
			if name == "two files per member" {
				from = float64(10 * (i % 2))
			}
			at := coords("valid", "lead", int32s, lines(from, float64(n), 1)...).with("units", "days since 1990-01-01")
			m.file(fmt.Sprintf("m%d_%d", i/2, i), at, cube("t", "lead", []int64{int64(n)}, []int64{int64(n)}).with("coordinates", "valid"))
		}
		a := arrayOf(t, planned(t, m, &c.opts), "/valid")
		if got := strings.Join(a.Dims, " "); got != c.dims || !slices.Equal(a.Schema.Shape, c.shape) {
			t.Errorf("%s: /valid has the dimensions %s and shape %v; want %s and %v", name, got, a.Schema.Shape, c.dims, c.shape)
		}
	}
}

// TestNewDimensionOfBounds: the bounds of a file's only time are not times along their own
// dimension, with or without units.
func TestNewDimensionOfBounds(t *testing.T) {
	for name, own := range map[string][]string{"bounds with units": {"units", "days since 1990-01-01"}, "bounds without units": nil} {
		m := newMaker()
		for i := range 3 {
			at := scalar("time", float64(2*i)).with("units", "days since 1990-01-01", "bounds", "edges")
			m.file(fmt.Sprint(i), at, coords("edges", "nv", float64s, float64(2*i), float64(2*i+1)).with(own...), cube("t", "x", []int64{3}, []int64{3}))
		}
		p := planned(t, m, &plan.Options{NewDims: []plan.NewDim{{Name: "time", Variable: "time"}}})
		if a := arrayOf(t, p, "/edges"); strings.Join(a.Dims, " ") != "/time /nv" || !slices.Equal(a.Schema.Shape, []int64{3, 2}) {
			t.Errorf("%s: /edges has the dimensions %v and shape %v; want [/time /nv] and [3 2]", name, a.Dims, a.Schema.Shape)
		}
	}
}

// TestNewDimensionOfAnyUnits: a new dimension's coordinate has the values of its variable, although
// units, packing and type differ between files.
func TestNewDimensionOfAnyUnits(t *testing.T) {
	for name, vars := range map[string][2]wanted{
		"units":   {scalar("when", 2).with("units", "days since 1990-01-01"), scalar("when", 3).with("units", "hours since 1990-01-01")},
		"packing": {packed("when", 1, 20), packed("when", 2, 10)},
		"type":    {scalar("when", 2), integer("when", 1)},
	} {
		m := newMaker()
		for i, v := range vars {
			m.file(fmt.Sprint(i), lat(), v, cube("t", "lat", []int64{3}, []int64{3}))
		}
		p := planned(t, m, &plan.Options{NewDims: []plan.NewDim{{Name: "run", Variable: "when"}}})
		if got, want := coordinateOf(t, p, "/run"), coordinateOf(t, p, "/when"); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func packed(name string, x, offset float64) wanted {
	w := integer(name, x)
	add := manifest.Attribute{Name: "add_offset", Type: float64s, Scalar: true}
	add.Data = binary.LittleEndian.AppendUint64(nil, math.Float64bits(offset))
	w.v.Attributes = append(w.v.Attributes, add)
	return w
}

func integer(name string, x float64) wanted {
	w := coords(name, name, int16s, x)
	w.v.Dims, w.v.Shape, w.v.Storage.Chunks = nil, nil, nil
	return w
}

// TestNewDimensionOfMissingValues: a file whose value is missing is refused, because it has no
// position.
func TestNewDimensionOfMissingValues(t *testing.T) {
	masked := func(x float64) wanted {
		w := integer("when", x)
		fill := manifest.Attribute{Name: "_FillValue", Type: int16s, Scalar: true, Data: []byte{9, 0}}
		w.v.Attributes = append(w.v.Attributes, fill)
		return w
	}
	for name, vars := range map[string][2]wanted{
		"NaN":         {scalar("when", 2), scalar("when", math.NaN())},
		"NaN time":    {scalar("when", 2).with("units", "days since 1990-01-01"), scalar("when", math.NaN()).with("units", "days since 1990-01-01")},
		"fill value":  {masked(2), masked(9)},
		"no variable": {scalar("when", 2), scalar("other", 2)},
	} {
		m := newMaker()
		for i, v := range vars {
			m.file(fmt.Sprint(i), lat(), v, cube("t", "lat", []int64{3}, []int64{3}))
		}
		_, _, err := newPlan(m.files, &plan.Options{NewDims: []plan.NewDim{{Name: "run", Variable: "when"}}})
		if f := refusals(t, err)[0]; f.Code != report.NewDimMissing || f.Dim != "run" || reporttest.Files(&f) != "1" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCounters: a coordinate that only numbers its elements does not prevent the use of times, also
// if each file has one time.
func TestCounters(t *testing.T) {
	for name, c := range map[string]struct {
		element codec.Type
		counts  []float64
	}{"two elements": {int32s, []float64{0, 1}}, "one element": {float64s, []float64{0}}} {
		m, n := newMaker(), int64(len(c.counts))
		for i := range 3 {
			from, whens := float64(2*i), []float64{}
			for k := range c.counts {
				whens = append(whens, from+float64(k))
			}
			when := coords("when", "profile", int32s, whens...).with("units", "seconds since 2024-01-01")
			m.file(fmt.Sprint(i), coords("profile", "profile", c.element, c.counts...), when, cube("v", "profile y x", []int64{n, 2, 2}, []int64{n, 2, 2}))
		}
		_, err := planAnswered(m.files, nil)
		if f := refusals(t, err)[0]; f.Remedies[0].Setting != (report.Setting{Option: report.Drop, Value: "profile"}) || f.Remedies[0].Consequence != report.OrderByTime {
			t.Errorf("%s: %v", name, err)
		}
		p := planned(t, m, &plan.Options{Drop: []string{"profile"}})
		if a := arrayOf(t, p, "/v"); a.Schema.Shape[0] != 3*n {
			t.Errorf("%s: /v has the shape %v, want %d first", name, a.Schema.Shape, 3*n)
		}
	}
}

// TestOwnSteps: a dimension of length 1 without values takes the values of an option, at any axis.
// Variables without it must be equal in all files.
func TestOwnSteps(t *testing.T) {
	m := newMaker()
	for _, day := range []int{3, 1, 2} {
		m.file(fmt.Sprintf("d%d", day), lat(), cube("a", "time lat", []int64{1, 3}, []int64{1, 3}), cube("b", "lat time", []int64{3, 1}, []int64{3, 1}),
			scalar("alike", 1), scalar("orbit", float64(day)))
	}
	p := planned(t, m, &plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: `d(\d)`}}})
	if got := coordinateOf(t, p, "/time"); got != "- 1 2 3" {
		t.Errorf("the values of time are %s, want 1 2 3", got)
	}
	for path, dims := range map[string]string{"/a": "/time /lat", "/b": "/lat /time", "/lat": "/lat", "/alike": "", "/orbit": "/time"} {
		a := arrayOf(t, p, path)
		if got := strings.Join(a.Dims, " "); got != dims || slices.ContainsFunc(a.Schema.Shape, func(n int64) bool { return n != 3 }) {
			t.Errorf("%s has the dimensions %s and shape %v, want the dimensions %s", path, got, a.Schema.Shape, dims)
		}
	}
	if got, want := tilesOf(t, m.files, p, "/a"), tilesOf(t, m.files, p, "/b"); got != want || !strings.HasPrefix(got, "d1") {
		t.Errorf("the tiles of /a are %s, and of /b %s; want equal tiles, d1 first", got, want)
	}
}

// TestOwnStepsRefused: dimensions with values, or with several elements, take no values from an
// option.
func TestOwnStepsRefused(t *testing.T) {
	for _, c := range []struct {
		name     string
		vars     []wanted
		opts     plan.Options
		remedies string
	}{
		{"length 2", []wanted{cube("a", "time", []int64{2}, []int64{2})}, plan.Options{}, "rename=time=NAME"},
		{"with values", []wanted{days(0, 1), cube("a", "time", []int64{1}, []int64{1})}, plan.Options{}, "rename=time=NAME"},
		{"named in concat", []wanted{cube("a", "time", []int64{1}, []int64{1})}, plan.Options{Concat: []string{"time"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			m.file("d1", c.vars...)
			m.file("d2", c.vars...)
			c.opts.NewDims = []plan.NewDim{{Name: "time", Pattern: `d(\d)`}}
			var wrong *plan.OptionError
			if _, _, err := newPlan(m.files, &c.opts); !errors.As(err, &wrong) || wrong.Setting != (report.Setting{Option: report.NewDim, Value: "time"}) {
				t.Fatalf("got %v, want an OptionError", err)
			}
			if got := reporttest.Remedies(&report.Finding{Remedies: wrong.Remedies}); got != c.remedies {
				t.Errorf("remedies %q, want %q", got, c.remedies)
			}
		})
	}
}

// TestNewDimensionOfTakenName: an array that has a dimension with the new name in its group is
// refused, and the remedies lead to a plan.
func TestNewDimensionOfTakenName(t *testing.T) {
	m := newMaker()
	for _, name := range []string{"1990", "1991"} {
		m.file(name, coords("g/lat", "g/lat", float32s, 1, 2, 3), cube("g/t", "g/year g/lat", []int64{1, 3}, []int64{1, 3}),
			cube("g/u", "g/year", []int64{1}, []int64{1}))
	}
	years := func(name string) []plan.NewDim { return []plan.NewDim{{Name: name, Pattern: `(\d+)`}} }
	_, _, err := newPlan(m.files, &plan.Options{NewDims: years("year")})
	var refused *plan.Error
	if !errors.As(err, &refused) {
		t.Fatalf("not refused: %v", err)
	}
	f := findingOf(t, &report.Report{Findings: refused.Findings}, report.NewDimTaken)
	if got := fmt.Sprint(f.Arrays, " ", reporttest.Remedies(&f)); got != "[/g/t /g/u] new-dim=g/year=PATTERN | rename=g/year=NAME" {
		t.Error(got)
	}
	for _, c := range []struct {
		opts plan.Options
		dims string
	}{
		{plan.Options{NewDims: years("g/year")}, "/g/year /g/lat"},
		{plan.Options{NewDims: years("year"), Rename: []plan.Rename{{Old: "g/year", New: "one"}}}, "/year /g/one /g/lat"},
	} {
		if got := strings.Join(arrayOf(t, planned(t, m, &c.opts), "/g/t").Dims, " "); got != c.dims {
			t.Errorf("%+v: got %s, want %s", c.opts, got, c.dims)
		}
	}
}

// TestStepBesideCoordinate: files with one time each, as a coordinate or as a scalar, have their
// times with and without the option to stack by time.
func TestStepBesideCoordinate(t *testing.T) {
	m := newMaker()
	for i := range 4 {
		at := coords("time", "time", float64s, float64(3-i)).with("units", "days since 1990-01-01", "standard_name", "time")
		if i%2 == 1 {
			at.v.Dims, at.v.Shape = nil, nil
			at.v.Storage.Chunks = nil
		}
		m.file(fmt.Sprint(i), cube("t", "time x", []int64{1, 2}, []int64{1, 2}), at)
	}
	for _, opts := range []plan.Options{{}, {NewDims: []plan.NewDim{{Name: "time", Variable: "time"}}}} {
		p, err := planning(m, &opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := coordinateOf(t, p, "/time"); got != "days since 1990-01-01 0 1 2 3" {
			t.Errorf("the values of time are %s, want 0 1 2 3", got)
		}
		if a := arrayOf(t, p, "/t"); fmt.Sprint(a.Dims, a.Schema.Shape) != "[/time /x] [4 2]" {
			t.Errorf("/t has the dimensions %v and shape %v", a.Dims, a.Schema.Shape)
		}
	}
	if _, err := planning(m, &plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: "(.*)"}}}); err == nil {
		t.Error("times were read from file names although files have a time coordinate")
	}
}
