package ingest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// track is a file with soundings: their times and depths.
type track struct {
	units  string
	from   float64
	cells  any  // values along another dimension, equal in all files that can be combined
	record bool // the soundings are records
	falls  bool // the times decrease
}

const soundings = 1000

func (k track) write(t *testing.T, at string) string {
	t.Helper()
	times, depths := make([]float64, soundings), make([]float32, soundings)
	for i := range times {
		times[i], depths[i] = k.from+float64(i), float32(k.from)+float32(i)
		if k.falls {
			times[i] = k.from - float64(i)
		}
	}
	f := &classic.File{
		Dims: []classic.Dim{{Name: "time", Length: soundings, Records: k.record}, {Name: "cell", Length: soundings}},
		Vars: []classic.Var{
			{Name: "time", Dims: []string{"time"}, Data: times, Attributes: []classic.Attribute{{Name: "units", Value: k.units}}},
			{Name: "depth", Dims: []string{"time"}, Data: depths},
			{Name: "cell", Dims: []string{"cell"}, Data: k.cells},
			{Name: "area", Dims: []string{"cell"}, Data: k.cells},
		},
	}
	if err := f.Write(at); err != nil {
		t.Fatal(err)
	}
	return at
}

// cellsOf returns numbers of a type; odd ones differ in the middle.
func cellsOf[T int32 | float32 | float64](odd bool) []T {
	cells := make([]T, soundings)
	for i := range cells {
		cells[i] = T(i * 7 % soundings)
	}
	if odd {
		cells[soundings/2]++
	}
	return cells
}

// TestLargeCoordinates: coordinates that are too large to store place files, and are read from the
// files. An append reads only the coordinates of new files.
func TestLargeCoordinates(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	const unit = "seconds since 2000-01-01"
	var all []string
	for i, k := range []track{
		{unit, 0, cellsOf[float32](false), false, false},
		{unit, 1000, cellsOf[float32](false), false, false},
		{unit, 2000, cellsOf[float32](false), false, false},
		{"seconds since 1999-12-31 23:59:00", 3060, cellsOf[float64](false), true, false},
		{unit, 4000, cellsOf[int32](true), false, false},
		{unit, 3500, cellsOf[float32](false), false, false},
		{unit, 9000, cellsOf[float32](false), false, true},
	} {
		all = append(all, k.write(t, filepath.Join(dir, fmt.Sprintf("%d.nc", i))))
	}
	out := filepath.Join(dir, "out.varve")
	compared := int64(0)
	how := func(names ...string) *Options {
		compared = 0
		o := optionsFor(names...)
		o.ValueBytes, o.Plan.Inline, o.Comparing = 512, new(int64(0)), func(_, total int64) { compared = max(compared, total) }
		return o
	}
	mustOf := func(made *Result, err error) *manifest.Snapshot {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return made.Snapshot
	}
	mustOf(Build(t.Context(), out, how(all[1], all[0])))
	mustOf(Append(t.Context(), out, how(all[2])))
	if compared != 2 { // the coordinates of the new file, and only then its area
		t.Errorf("%d variables of a new file were read at once", compared)
	}
	checkTrack(t, out, 3)
	checkSummarized(t, out)
	snap := mustOf(Append(t.Context(), out, how(all[3])))
	checkTrack(t, out, 4)
	if compared != 4 { // one variable of all four files, because the new file stores it with another type
		t.Errorf("%d variables were read", compared)
	}
	for name, want := range map[string]report.Code{all[4]: report.CoordinateDiffers, all[5]: report.OverlapUnknown, all[6]: report.DirectionDiffers} {
		var refused *plan.Error
		if _, err := Append(t.Context(), out, how(name)); !errors.As(err, &refused) || refused.Findings[0].Code != want {
			t.Errorf("%s: error %v, want a finding %q", name, err, want)
		}
	}
	for _, table := range snap.Tables {
		if table.Kind == manifest.ValueOf && table.Bytes > 4<<10 {
			t.Errorf("%d bytes of values", table.Bytes)
		}
	}
	checkSummarized(t, out)
}

// checkTrack reads the values of all files of a track.
func checkTrack(t *testing.T, out string, files int) {
	t.Helper()
	got, a := decoded(t, out, "/time", false)
	units, _ := a.Schema().Attributes.Get("units")
	step, since := timeUnit(strings.Trim(string(units), `"`))
	depths, _ := decoded(t, out, "/depth", false)
	if len(got) != files*soundings || len(depths) != len(got) {
		t.Fatalf("%d times, %d depths", len(got), len(depths))
	}
	for i := range got {
		if second := float64(got[i]*step.Seconds()) + since.Sub(epoch).Seconds(); second != float64(i) {
			t.Fatalf("time %d is %v %s: %v", i, got[i], units, second)
		}
	}
	cells, _ := decoded(t, out, "/cell", false)
	if !slices.Equal(cells, cellsOf[float64](false)) {
		t.Errorf("cells %v", cells[:10])
	}
}

// checkSummarized checks that only summaries of the coordinates are stored for each file.
func checkSummarized(t *testing.T, out string) {
	t.Helper()
	for _, f := range filesIn(t, out) {
		for _, path := range []string{"/time", "/cell"} {
			v := f.Values[f.Header.Find(path)]
			if v == nil || !v.Summed || v.Summary == nil || v.Summary.Count != soundings || len(v.Data) > 0 {
				t.Errorf("%s %s: %+v", f.URL, path, v)
			}
		}
	}
}
