package planner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// hourly makes a file of n steps with values that are equal in all files at the same step, plus delta.
func (m *maker) hourly(name string, from, n int, delta float32, x ...float64) {
	dims, shape := "time", []int64{int64(n)}
	parts := []wanted{days(from, n)}
	cells := 1
	if len(x) > 0 {
		dims, cells = "time x", len(x)
		shape = append(shape, int64(cells))
		parts = append(parts, coords("x", "x", float64s, x...))
	}
	w := cube("t", dims, shape, shape)
	w.values = &manifest.Values{}
	for i := range n {
		for k := range cells {
			at := float64(from + i)
			if len(x) > 0 {
				at += 100 * x[k]
			}
			w.values.Data = binary.LittleEndian.AppendUint32(w.values.Data, math.Float32bits(float32(at)+delta))
		}
	}
	w.values.SetID()
	m.file(name, append(parts, w)...)
}

// TestTakenOnce: values of several files at the same positions are taken once if they are equal, and
// refused otherwise.
func TestTakenOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		make   func(m *maker)
		tiles  string // of /t; empty if the plan is refused
		files  string // of the finding
		concat []string
	}{
		{"the last step is the first of the next file", func(m *maker) { m.hourly("a", 0, 4, 0); m.hourly("b", 3, 4, 0); m.hourly("c", 6, 2, 0) },
			"a@0+4 b@4+3~1 c@7+1~1", "a b c", nil},
		{"a step differs", func(m *maker) { m.hourly("a", 0, 4, 0); m.hourly("b", 3, 4, 1) }, "", "a b", nil},
		{"only the second overlap differs", func(m *maker) { m.hourly("a", 0, 4, 0); m.hourly("b", 3, 4, 0); m.hourly("c", 6, 2, 1) }, "", "a b c", nil},
		{"a file twice", func(m *maker) {
			m.hourly("a", 0, 4, 0, 1, 2)
			m.hourly("b", 0, 4, 0, 1, 2)
			m.hourly("c", 4, 2, 0, 1, 2)
		}, "a@0+4 c@4+2", "a b", nil},
		{"a file twice, with other values", func(m *maker) {
			m.hourly("a", 0, 4, 0, 1, 2)
			m.hourly("b", 0, 4, 1, 1, 2)
			m.hourly("c", 4, 2, 0, 1, 2)
		}, "", "a b", nil},
		{"a file within another", func(m *maker) { m.hourly("a", 0, 9, 0); m.hourly("b", 3, 2, 0) }, "a@0+9", "a b", nil},
		{"the same steps of three files", func(m *maker) { m.hourly("a", 0, 4, 0); m.hourly("b", 2, 4, 0); m.hourly("c", 3, 5, 0) }, "a@0+4 b@4+2~2 c@6+2~3", "a b c", nil},
		{"the third of three files differs", func(m *maker) { m.hourly("a", 0, 4, 0); m.hourly("b", 2, 4, 0); m.hourly("c", 3, 5, 1) }, "", "a b c", nil},
		{"tiles", func(m *maker) {
			for i := range 2 {
				m.hourly(fmt.Sprint(i, "w"), 3*i, 4, 0, 1, 2)
				m.hourly(fmt.Sprint(i, "e"), 3*i, 4, 0, 3, 4)
			}
		}, "0w@0,0+4,2 0e@0,2+4,2 1w@4,0+3,2~1,0 1e@4,2+3,2~1,0", "0e 0w 1e 1w", nil},
		{"tiles that overlap along both dimensions", func(m *maker) {
			m.hourly("a", 0, 4, 0, 1, 2, 3)
			m.hourly("b", 2, 4, 0, 2, 3, 4)
			m.hourly("c", 0, 6, 0, 1, 2, 3, 4)
		}, "a@0,0+4,3 c@0,3+2,1~0,3 c@2,3+2,1~2,3 c@4,0+2,1~4,0 c@4,1+2,2~4,1 c@4,3+2,1~4,3", "a b c", []string{"x"}},
		{"tiles that overlap along both dimensions, and differ", func(m *maker) {
			m.hourly("a", 0, 4, 0, 1, 2, 3)
			m.hourly("b", 2, 4, 1, 2, 3, 4)
			m.hourly("c", 0, 6, 0, 1, 2, 3, 4)
		}, "", "a b c", []string{"x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			opts := &plan.Options{Inline: new(int64(0)), Concat: c.concat}
			p, needs, err := newPlan(m.files, opts)
			if len(needs) > 0 {
				t.Fatalf("the plan requests %v", needs)
			}
			var refused *plan.Error
			if errors.As(err, &refused) != (c.tiles == "") {
				t.Fatal(err)
			}
			if refused != nil {
				f := findingOf(t, &report.Report{Findings: refused.Findings}, report.Overlapping)
				if got := reporttest.Files(&f); got != c.files || f.Args["why"] != "differ" {
					t.Errorf("refused %s: %+v", got, f)
				}
				return
			}
			checkPlan(t, m.files, p)
			f := findingOf(t, p.Report, report.Overlapping)
			if got := reporttest.Files(&f); got != c.files || f.Effect != report.Noted || f.Args["counts"] != "equal" {
				t.Errorf("noted %s: %+v", got, f)
			}
			if got := tilesOf(t, m.files, p, "/t"); strings.Join(strings.Fields(got), " ") != c.tiles {
				t.Errorf("tiles %s, want %s", got, c.tiles)
			}
		})
	}
}

// TestOverlapsAlongTwoDimensions: the options for overlaps also apply to tiles that overlap along several
// dimensions.
func TestOverlapsAlongTwoDimensions(t *testing.T) {
	for overlap, want := range map[plan.Overlap]string{
		plan.OverlapFirst: "a@0,0+3,2 b@2,2+1,1~0,1 b@3,1+1,1~1,0 b@3,2+1,1~1,1",
		plan.OverlapLast:  "a@0,0+2,1 a@0,1+2,1~0,1 a@2,0+1,1~2,0 b@2,1+2,2",
	} {
		m := newMaker()
		m.hourly("a", 0, 3, 0, 1, 2)
		m.hourly("b", 2, 2, 1, 2, 3)
		p := planned(t, m, &plan.Options{Inline: new(int64(0)), Concat: []string{"x"}, Overlap: overlap})
		if got := tilesOf(t, m.files, p, "/t"); got != want {
			t.Errorf("%s: %s, want %s", overlap, got, want)
		}
	}
}

// TestManyOverlaps: windows that move by one step are not compared if that would take too long.
func TestManyOverlaps(t *testing.T) {
	m := newMaker()
	for i := range 700 {
		m.hourly(fmt.Sprintf("%03d", i), i, 500, 0)
	}
	_, _, err := newPlan(m.files, &plan.Options{Inline: new(int64(0))})
	var refused *plan.Error
	if !errors.As(err, &refused) || refused.Findings[0].Code != report.Overlapping {
		t.Error(err)
	}
}
