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

// land is a mask along x with a given first value.
func land(name string, first byte) wanted {
	w := cube(name, "x y", []int64{2, 2}, []int64{2, 2})
	w.values = &manifest.Values{Data: make([]byte, 16)}
	w.values.Data[0] = first
	return w
}

// masked is a series with a missing value.
func masked(first, missing float64) wanted {
	w := coords("s", "x", float64s, first, 2)
	mask := coords("", "", float64s, missing).values.Data
	w.v.Attributes = append(w.v.Attributes, manifest.Attribute{Name: "missing_value", Type: float64s, Data: mask, Scalar: true})
	return w
}

// mosaic makes files for two days and two parts of x. more adds variables to each file.
func mosaic(m *maker, more func(day, tile int) []wanted) {
	for day := range 2 {
		for tile := range 2 {
			m.file(fmt.Sprintf("%d%d", day, tile), append(more(day, tile),
				coords("x", "x", float64s, float64(2*tile), float64(2*tile+1)), cube("t", "time x", []int64{2, 2}, []int64{2, 2}))...)
		}
	}
}

// TestOverlapAndOtherCoordinates: files with overlapping steps must agree on other coordinates.
func TestOverlapAndOtherCoordinates(t *testing.T) {
	for name, opts := range map[string]plan.Options{
		"tolerance": {Overlap: plan.OverlapLast, Tolerance: 0.01}, "first": {Overlap: plan.OverlapLast, Coords: plan.CoordsFirst}, "refused": {Overlap: plan.OverlapLast},
	} {
		m := newMaker()
		m.day("a", 0, 3)
		m.file("b", days(2, 3), coords("lat", "lat", float32s, -10.004, 0.001, 10).with("units", "degrees_north"), lon(), cube("t", "time lat lon", []int64{3, 3, 4}, []int64{3, 3, 4}))
		m.day("c", 5, 2)
		if name == "refused" {
			_, _, err := newPlan(m.files, &opts)
			var refused *plan.Error
			if !errors.As(err, &refused) || reporttest.Remedies(&refused.Findings[0]) != "tolerance=0.004 | coords=first" || reporttest.Files(&refused.Findings[0]) != "b" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if got := tilesOf(t, m.files, planned(t, m, &opts), "/t"); got != "a@0+2 b@2+3 c@5+2" {
			t.Errorf("%s: tiles %s", name, got)
		}
	}
}

// TestRepeated: files of a mosaic repeat variables that lack one of its dimensions, and must agree
// on them.
func TestRepeated(t *testing.T) {
	plain := func(day, _ int) []wanted { return []wanted{days(2*day, 2)} }
	series := func(first float64) wanted { return coords("s", "time", float64s, first, 2) }
	bounded := func(day, tile int) []wanted { // the same times and bounds in both tiles, with different reference days
		from := float64(2*day - 10*tile)
		edges := coords("edges", "time nv", float64s, from, from+1, from+1, from+2)
		edges.v.Shape, edges.v.Storage.Chunks = []int64{2, 2}, []int64{2, 2}
		return []wanted{coords("time", "time", int32s, from, from+1).with("units", fmt.Sprintf("days since 1990-01-%02d", 1+10*tile), "bounds", "edges"), edges}
	}
	for _, c := range []struct {
		name         string
		opts         plan.Options
		more         func(day, tile int) []wanted
		array, tiles string
		refused      string // the files that differ; empty if the plan is not refused
	}{
		{"a land mask", plan.Options{}, func(day, tile int) []wanted { return append(plain(day, tile), land("land", byte(tile))) },
			"/land", "00@0+2 01@2+2", ""},
		{"a land mask that differs", plan.Options{}, func(day, tile int) []wanted { return append(plain(day, tile), land("land", byte(day*tile))) },
			"/land", "", "11"},
		{"a land mask that differs, coords=first", plan.Options{Coords: plan.CoordsFirst}, func(day, tile int) []wanted { return append(plain(day, tile), land("land", byte(day*tile))) },
			"/land", "00@0+2 01@2+2", ""},
		{"masks with different missing values", plan.Options{}, func(day, tile int) []wanted {
			return append(plain(day, tile), masked(float64(-1-day), float64(-1-day)))
		}, "/s", "00@0+2 01@2+2", ""},
		{"missing in one file and a number in others", plan.Options{}, func(day, tile int) []wanted {
			return append(plain(day, tile), masked(-1, float64(-1-day*tile)))
		}, "/s", "", "11"},
		{"two series, the second of which differs", plan.Options{}, func(day, tile int) []wanted {
			other := series(float64(day * tile))
			other.v.Path = "/u"
			return append(plain(day, tile), series(1), other)
		}, "/u", "", "11"},
		{"bounds with different reference days", plan.Options{}, bounded, "/edges", "", ""},
		{"bounds with different reference days that differ", plan.Options{}, func(day, tile int) []wanted {
			at := bounded(day, tile)
			if tile == 1 { // the same numbers are other times
				at[1].values = bounded(day, 0)[1].values
			}
			return at
		}, "/edges", "", "01"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			mosaic(m, c.more)
			c.opts.Inline = new(int64(1))
			if c.refused != "" {
				_, _, err := newPlan(m.files, &c.opts)
				var refused *plan.Error
				if !errors.As(err, &refused) {
					t.Fatal(err)
				}
				if f := refused.Findings[0]; f.Array != c.array || !strings.HasPrefix(reporttest.Files(&f), c.refused) {
					t.Errorf("refused %v of %s: %v", f.Files, f.Array, err)
				}
				return
			}
			if got := tilesOf(t, m.files, planned(t, m, &c.opts), c.array); got != c.tiles {
				t.Errorf("tiles %s, not %s", got, c.tiles)
			}
		})
	}
}

// TestPaddedTwins: with padding, the widest of the files at one position is used, and narrower files
// must equal its first values.
func TestPaddedTwins(t *testing.T) {
	type widths [2][2]int64 // by day and tile
	grows := widths{{2, 3}, {3, 3}}
	along := func(w widths, first, last float64) func(day, tile int) []wanted { // s is along x and y; files are not concatenated along y
		return func(day, tile int) []wanted {
			n := w[day][tile]
			numbers := []float64{first, 2, 3, 11, 12, 13}
			if n == 2 {
				numbers = []float64{1, 2, 11, last}
			}
			return []wanted{static("x y", []int64{2, n}, numbers...), coords("x", "x", float64s, float64(2*tile), float64(2*tile+1)),
				cube("t", "time x y", []int64{2, 2, n}, []int64{2, 2, n})}
		}
	}
	both := func(w widths) func(day, tile int) []wanted { // adds a variable u that is wide where s is narrow
		return func(day, tile int) []wanted {
			n := 5 - w[day][tile]
			other := static("x z", []int64{2, n}, []float64{1, 2, 3, 11, 12, 13}[:2*n]...)
			if n == 2 {
				other = static("x z", []int64{2, n}, 1, 2, 11, 12)
			}
			other.v.Path = "/u"
			return append(along(w, 1, 12)(day, tile), other)
		}
	}
	alongTiles := func(w widths, first float64) func(day, tile int) []wanted { // s is along x, along which tiles are concatenated
		return func(day, tile int) []wanted {
			n := w[day][tile]
			at := 10 * float64(tile)
			numbers := []float64{1, 2, 3}
			if n == 2 {
				numbers = []float64{first, 2}
			}
			return []wanted{static("x", []int64{n}, numbers...), coords("x", "x", float64s, []float64{at, at + 1, at + 2}[:n]...),
				cube("t", "time x", []int64{2, n}, []int64{2, n})}
		}
	}
	concat := []string{"x"}
	for _, c := range []struct {
		name         string
		opts         plan.Options
		more         func(day, tile int) []wanted
		array, tiles string
		refused      string // "FILE by REMEDY"; empty if the plan is not refused
	}{
		{"the second day is wider", plan.Options{Pad: plan.PadFill}, along(grows, 1, 12), "/s", "10@0+2 01@2+2", ""},
		{"the second day is wider, coords=first", plan.Options{Pad: plan.PadFill, Coords: plan.CoordsFirst}, along(grows, 1, 12), "/s", "10@0+2 01@2+2", ""},
		{"the second day is narrower", plan.Options{Pad: plan.PadFill}, along(widths{{3, 2}, {2, 2}}, 1, 12), "/s", "00@0+2 01@2+2", ""},
		{"another first value", plan.Options{Pad: plan.PadFill}, along(grows, 7, 12), "/s", "", "00 by broadcast=s=time | coords=first"},
		{"another value inside", plan.Options{Pad: plan.PadFill}, along(grows, 1, 7), "/s", "", "00 by broadcast=s=time | coords=first"},
		{"another first value, coords=first", plan.Options{Pad: plan.PadFill, Coords: plan.CoordsFirst}, along(grows, 7, 12), "/s", "10@0+2 01@2+2", ""},
		{"u is narrower on the second day", plan.Options{Pad: plan.PadFill}, both(widths{{2, 2}, {3, 3}}), "/u", "00@0+2 01@2+2", ""},
		{"the second day is wider along x", plan.Options{Pad: plan.PadFill, Concat: concat}, alongTiles(grows, 1), "/s", "10@0+3 01@3+3", ""},
		{"the second day is wider along x, another first value", plan.Options{Pad: plan.PadFill, Concat: concat}, alongTiles(grows, 7), "/s", "", "00 by broadcast=s=time | coords=first"},
		{"the second day is wider along x, without padding", plan.Options{Concat: concat}, alongTiles(grows, 1), "/s", "00@0+2 10@2+1~2 01@3+3", ""},
		{"the second day is wider along x, without padding, another first value", plan.Options{Concat: concat}, alongTiles(grows, 7), "/s", "", "00 by pad=fill"},
		{"the second day is wider along x, without concat=x", plan.Options{Pad: plan.PadFill}, alongTiles(grows, 1), "", "", "00 by concat=x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			for day := range 2 {
				for tile := range 2 {
					m.file(fmt.Sprintf("%d%d", day, tile), append(c.more(day, tile), days(2*day, 2))...)
				}
			}
			c.opts.Inline = new(int64(1))
			if c.refused != "" {
				_, _, err := newPlan(m.files, &c.opts)
				var refused *plan.Error
				if !errors.As(err, &refused) {
					t.Fatal(err)
				}
				file, option, _ := strings.Cut(c.refused, " by ")
				if f := refused.Findings[0]; f.Array != c.array || !strings.HasPrefix(reporttest.Files(&f), file) || !strings.HasPrefix(reporttest.Remedies(&f), option) {
					t.Errorf("refused %v of %s: %v", f.Files, f.Array, err)
				}
				return
			}
			if got := tilesOf(t, m.files, planned(t, m, &c.opts), c.array); got != c.tiles {
				t.Errorf("tiles %s, not %s", got, c.tiles)
			}
		})
	}
}

// TestNewDimensionAndEqualNumbers: coordinates of another type with equal numbers are equal and get
// no new dimension; coordinates with other numbers do.
func TestNewDimensionAndEqualNumbers(t *testing.T) {
	opts := &plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: `A(\d+)`}}}
	for last, want := range map[float64]string{3: "[/x]", 4: "[/time /x]"} {
		m := newMaker()
		for i, typ := range []codec.Type{float32s, float64s, float32s} {
			along := coords("along", "x", typ, 1, 2, last)
			if i == 0 {
				along = coords("along", "x", typ, 1, 2, 3)
			}
			height := coords("height", "", typ, 2)
			height.v.Shape, height.v.Storage.Chunks = []int64{}, []int64{}
			m.file(fmt.Sprint("A", i), along, height, cube("t", "x", []int64{3}, []int64{3}).with("coordinates", "along height"))
		}
		made := planned(t, m, opts)
		if got := fmt.Sprint(arrayOf(t, made, "/along").Dims); got != want {
			t.Errorf("last number %v: along has the dimensions %s, want %s", last, got, want)
		}
		if got := arrayOf(t, made, "/height").Dims; len(got) > 0 {
			t.Errorf("height has the dimensions %v, want none", got)
		}
	}
}

// TestEmptyFiles: files of length 0 along a dimension do not affect the type of an array.
func TestEmptyFiles(t *testing.T) {
	empty := func(m *maker, name string, typ codec.Type) {
		v := cube("v", "time", []int64{0}, []int64{2})
		v.v.Type, v.v.Fill.Value = typ, make([]byte, typ.Size)
		m.file(name, days(0, 0), v)
	}
	m := newMaker()
	empty(m, "a", float64s)
	empty(m, "c", stringsT)
	for i := range 2 {
		m.file(fmt.Sprint("b", i), days(2*i, 2), cube("v", "time", []int64{2}, []int64{2}))
	}
	made := planned(t, m, &plan.Options{})
	if got, want := arrayOf(t, made, "/v").Schema.DataType.Type().String(), cube("v", "time", nil, nil).v.Type.String(); got != want {
		t.Errorf("v has the type %s, not %s", got, want)
	}
	if got := tilesOf(t, m.files, made, "/v"); got != "b0@0+2 b1@2+2" {
		t.Errorf("tiles %s", got)
	}
}

// TestPaddedTwinsAbsent: a narrower file may lack a variable that the widest file at its position
// has.
func TestPaddedTwinsAbsent(t *testing.T) {
	m := newMaker()
	for day := range 2 {
		for tile := range 2 {
			n := int64(2 + day)
			at := 10 * float64(tile)
			vars := []wanted{days(2*day, 2), cube("t", "time x y", []int64{2, n, n}, []int64{2, n, n}),
				coords("x", "x", float64s, []float64{at, at + 1, at + 2}[:n]...), coords("y", "y", float64s, []float64{0, 1, 2}[:n]...)}
			if day+tile > 0 {
				vars = append(vars, static("x y", []int64{n, n}, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}[:n*n]...))
			}
			m.file(fmt.Sprintf("%d%d", day, tile), vars...)
		}
	}
	made, needs, err := newPlan(m.files, &plan.Options{Pad: plan.PadFill, Concat: []string{"x", "y"}, Coords: plan.CoordsFirst, Inline: new(int64(1))})
	if err != nil || len(needs) > 0 {
		t.Fatal(needs, err)
	}
	for _, f := range made.Report.Findings {
		if f.Code == report.VariableAbsent {
			t.Errorf("%+v", f)
		}
	}
	if got := tilesOf(t, m.files, made, "/s"); got != "10@0,0+3,3 11@3,0+3,3" {
		t.Errorf("tiles %s", got)
	}
}

// TestPaddedTwinsOfManyBytes: values that exceed the memory limit are refused, or not compared with
// coords=first.
func TestPaddedTwinsOfManyBytes(t *testing.T) {
	m := newMaker()
	for day := range 2 {
		for tile := range 2 {
			n := int64(150<<20 + day) // two int16 columns of this length are 600 MiB
			s := static("x y", []int64{2, n})
			s.values = nil
			m.file(fmt.Sprintf("%d%d", day, tile), days(2*day, 2), coords("x", "x", float64s, float64(2*tile), float64(2*tile+1)),
				s, cube("t", "time x y", []int64{2, 2, n}, []int64{1, 1, 1 << 20}))
		}
	}
	_, _, err := newPlan(m.files, &plan.Options{Pad: plan.PadFill})
	var refused *plan.Error
	if !errors.As(err, &refused) || refused.Findings[0].Code != report.TooLargeToCompare || refused.Findings[0].Array != "/s" ||
		reporttest.Files(&refused.Findings[0]) != "01 11" || reporttest.Facts(&refused.Findings[0]) != "limit=1073741824 longest=11" {
		t.Error(err)
	}
	if made, needs, err := newPlan(m.files, &plan.Options{Pad: plan.PadFill, Coords: plan.CoordsFirst}); err != nil || len(needs) > 0 || tilesOf(t, m.files, made, "/s") != "10@0+2 11@2+2" {
		t.Error(needs, err)
	}
}

// TestFirstAtEachPosition: with coords=first, the finding lists the files whose values differ and are
// not used, but no narrower files that agree.
func TestFirstAtEachPosition(t *testing.T) {
	m := newMaker()
	for day := range 3 {
		for tile := range 2 {
			s := static("x y", []int64{2, 3}, 1, 2, 3, 11, 12, 13)
			switch {
			case day == 0:
				s = static("x y", []int64{2, 2}, 1, 2, 11, 12)
			case day == 2 && tile == 1:
				s = static("x y", []int64{2, 3}, 1, 2, 4, 11, 12, 13)
			}
			m.file(fmt.Sprintf("%d%d", day, tile), days(2*day, 2), coords("x", "x", float64s, float64(2*tile), float64(2*tile+1)), s)
		}
	}
	f := findingOf(t, planned(t, m, &plan.Options{Pad: plan.PadFill, Coords: plan.CoordsFirst}).Report, report.StaticDiffers)
	if f.Effect != report.Noted || f.Array != "/s" || reporttest.Facts(&f) != "standard=[11]" || f.Of != 6 || reporttest.Files(&f) != "21" {
		t.Errorf("%+v", f)
	}
}
