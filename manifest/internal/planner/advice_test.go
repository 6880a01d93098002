package planner

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestAdvice: refusals of overlaps and of different lengths list the most useful remedy first.
func TestAdvice(t *testing.T) {
	for _, c := range []struct {
		name   string
		opts   plan.Options
		make   func(m *maker)
		option string
	}{
		{"line numbers that start again in each file", plan.Options{}, func(m *maker) {
			for i, n := range []int{3, 4, 5} {
				m.file(fmt.Sprint(i+1), coords("line", "line", int32s, lines(0, float64(n), 1)...), cube("t", "line", []int64{int64(n)}, []int64{2}))
			}
		}, "pad=fill | drop=line concat=line"},
		{"line numbers that start again in each file, with concat=line", plan.Options{Concat: []string{"line"}}, func(m *maker) {
			for i, n := range []int{3, 4} {
				m.file(fmt.Sprint(i+1), coords("line", "line", int32s, lines(0, float64(n), 1)...), cube("t", "line", []int64{int64(n)}, []int64{2}))
			}
		}, "drop=line concat=line | pad=fill"},
		{"times of stations interleave", plan.Options{}, func(m *maker) {
			for i, hours := range [][]float64{{0, 1, 3, 4}, {1, 2, 3, 5}} {
				m.file(fmt.Sprint(i+1), coords("time", "time", float64s, hours...).with("units", "hours since 1990-01-01"), cube("t", "time", []int64{4}, []int64{4}))
			}
		}, "drop=time concat=time"},
		{"valid times of runs, of which one has a file for each step", plan.Options{Concat: []string{"step"}, NewDims: []plan.NewDim{{Name: "time", Variable: "time"}}}, func(m *maker) {
			file := func(name string, run float64, steps ...float64) {
				n := int64(len(steps))
				var valid []float64
				for _, s := range steps {
					valid = append(valid, 24*run+s)
				}
				at := scalar("time", run).with("units", "days since 1990-01-01")
				m.file(name, at, coords("step", "step", float64s, steps...), coords("valid_time", "step", float64s, valid...).with("units", "hours since 1990-01-01"),
					cube("t", "step lat", []int64{n, 3}, []int64{n, 3}).with("coordinates", "valid_time"))
			}
			file("1", 0, 0, 6, 12)
			file("2", 1, 0)
			file("3", 1, 6)
		}, "broadcast=valid_time=time | overlap=first"},
		{"times of runs overlap", plan.Options{Overlap: plan.OverlapRefuse}, func(m *maker) {
			for i := range 2 {
				m.day(fmt.Sprint(i+1), 2*i, 4, scalar("run", float64(2*i)).with("units", "days since 1990-01-01"))
			}
		}, "overlap=first | overlap=last | new-dim=run=var:run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			f := firstRefusal(t, m, &c.opts)
			if got := reporttest.Remedies(&f); !strings.HasPrefix(got, c.option) {
				t.Errorf("the remedies are %q, want %q first", got, c.option)
			}
		})
	}
}

// firstRefusal returns the first finding for which a plan is refused.
func firstRefusal(t *testing.T, m *maker, opts *plan.Options) report.Finding {
	t.Helper()
	_, err := planAnswered(m.files, opts)
	var refused *plan.Error
	if !errors.As(err, &refused) {
		t.Fatalf("not refused: %v", err)
	}
	return refused.Findings[0]
}
