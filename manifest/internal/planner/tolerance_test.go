package planner

import (
	"errors"
	"math"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestNear: multi-dimensional coordinates within the tolerance count as equal, and the coordinates of
// the first file are used. Coordinates beyond the tolerance are refused.
func TestNear(t *testing.T) {
	grid := func(of codec.Type, dims string, shape []int64, numbers ...float64) wanted {
		w := coords("lat", dims, of, numbers...)
		w.v.Shape, w.v.Storage.Chunks = shape, shape
		return w
	}
	wide := []int64{2, 3}
	data := cube("t", "time y x", []int64{2, 2, 3}, []int64{2, 2, 3})
	data.v.Attributes = append(data.v.Attributes, textAttribute("coordinates", "lat"))
	first := grid(float64s, "y x", wide, 1, 2, 3, 4, math.NaN(), 6).with("units", "km")
	for _, c := range []struct {
		name  string
		other wanted
		near  bool
	}{
		{"within the tolerance", grid(float64s, "y x", wide, 1, 2, 3, 4.25, math.NaN(), 6), true},
		{"at the tolerance", grid(float64s, "y x", wide, 1.5, 2, 3, 4, math.NaN(), 5.5), true},
		{"another type", grid(float32s, "y x", wide, 1, 2.25, 3, 4, math.NaN(), 6), true},
		{"transposed", grid(float64s, "x y", []int64{3, 2}, 1, 4, 2, math.NaN(), 3.25, 6), true},
		{"beyond the tolerance", grid(float64s, "y x", wide, 1, 2, 3, 4.75, math.NaN(), 6), false},
		{"a number instead of NaN", grid(float64s, "y x", wide, 1, 2, 3, 4, 5, 6), false},
		{"NaN instead of a number", grid(float64s, "y x", wide, 1, 2, 3, math.NaN(), math.NaN(), 6), false},
		{"missing in both, with a fill value", grid(float64s, "y x", wide, 1, 2, 3, 4.25, -9, 6).masked(-9), true},
		{"a fill value instead of a number", grid(float64s, "y x", wide, 1, 2, 3, 4, math.NaN(), 6).masked(6), false},
		{"a fill value within the tolerance of a number", grid(float64s, "y x", wide, 1, 2, 3, 4, math.NaN(), 6.25).masked(6.25), false},
		{"other units", grid(float64s, "y x", wide, 1, 2, 3, 4.25, math.NaN(), 6).with("units", "m"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			m.file("a", days(0, 2), data, first)
			m.file("b", days(2, 2), data, c.other)
			m.file("c", days(4, 2), data, c.other)
			p, needs, err := newPlan(m.files, &plan.Options{Tolerance: .5, Inline: new(int64(1))})
			var refused *plan.Error
			switch {
			case len(needs) > 0:
				t.Errorf("the plan requests %v", needs)
			case !c.near && !errors.As(err, &refused):
				t.Errorf("not refused: %v", err)
			case c.near && err != nil:
				t.Error(err)
			case c.near:
				f := findingOf(t, p.Report, report.CoordinateNear)
				if f.Effect != report.Noted || f.Count != 2 || !strings.HasPrefix(reporttest.Files(&f), "b") || !countsAlone(p, "/lat", 0) {
					t.Errorf("%+v", f)
				}
				if len(p.Compared) != 2 {
					t.Errorf("the values that were read only for a comparison are %v, want two", p.Compared)
				}
			}
		})
	}
}

// masked sets a variable's missing value.
func (w wanted) masked(number float64) wanted {
	w.v.Attributes = append(w.v.Attributes[:len(w.v.Attributes):len(w.v.Attributes)], numberAttribute("_FillValue", number))
	return w
}

// TestNearPadded: with padding, narrower files must equal the first values of the widest within the
// tolerance.
func TestNearPadded(t *testing.T) {
	for _, c := range []struct {
		last float64
		near bool
	}{{5.25, true}, {6, false}} {
		m := newMaker()
		at := func(name string, day int, shape []int64, numbers ...float64) {
			w := coords("lat", "y x", float64s, numbers...)
			w.v.Shape, w.v.Storage.Chunks = shape, shape
			whole := append([]int64{2}, shape...)
			data := cube("t", "time y x", whole, whole).with("coordinates", "lat")
			m.file(name, days(day, 2), data, w)
		}
		at("a", 0, []int64{2, 2}, 1, 2, 4, c.last)
		at("b", 2, []int64{3, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9)
		at("c", 4, []int64{3, 3}, 1, 2, 3, 4, 5, 6, 7, 8, 9.25)
		p, needs, err := newPlan(m.files, &plan.Options{Tolerance: .5, Pad: plan.PadFill, Inline: new(int64(1))})
		var refused *plan.Error
		switch {
		case len(needs) > 0:
			t.Errorf("asks for %v", needs)
		case c.near && (err != nil || !countsAlone(p, "/lat", 1)):
			t.Errorf("%v: %v", c.last, err)
		case !c.near && (!errors.As(err, &refused) || !strings.HasPrefix(reporttest.Files(&refused.Findings[0]), "a")):
			t.Errorf("%v: not refused: %v", c.last, err)
		}
	}
}
