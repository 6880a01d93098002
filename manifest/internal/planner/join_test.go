package planner

import (
	"fmt"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
)

// TestJoin: coordinates that differ in part are joined as the option says, for each dimension.
func TestJoin(t *testing.T) {
	depths := func(m *maker, lists ...[]float64) {
		for i, list := range lists {
			n := int64(len(list))
			m.file(fmt.Sprint(i), days(2*i, 2), coords("depth", "depth", float64s, list...).with("units", "m"),
				cube("t", "time depth", []int64{2, n}, []int64{1, n}))
		}
	}
	a, b := []float64{5, 10, 20, 50, 75, 100}, []float64{5, 10, 20, 50, 80}
	for name, c := range map[string]struct {
		join  map[string]plan.Join
		lists [][]float64
		depth string // the coordinate; empty if refused
		tiles string
	}{
		"outer": {map[string]plan.Join{"depth": plan.JoinOuter}, [][]float64{a, b}, "m 5 10 20 50 75 80 100",
			"0@0,0+2,5 0@0,6+2,1~0,5 1@2,0+2,4 1@2,5+2,1~0,4"},
		"inner":                        {map[string]plan.Join{"": plan.JoinInner}, [][]float64{a, b}, "m 5 10 20 50", "0@0,0+2,4 1@2,0+2,4"},
		"exact":                        {map[string]plan.Join{"depth": plan.JoinExact, "": plan.JoinOuter}, [][]float64{a, b}, "", ""},
		"no option":                    {nil, [][]float64{a, b}, "", ""},
		"equal coordinates":            {map[string]plan.Join{"": plan.JoinOuter}, [][]float64{b, b}, "m 5 10 20 50 80", "0@0+2 1@2+2"},
		"decreasing":                   {map[string]plan.Join{"": plan.JoinOuter}, [][]float64{{3, 1}, {3, 2, 1}}, "m 3 2 1", "0@0,0+2,1 0@0,2+2,1~0,1 1@2,0+2,3"},
		"another order":                {map[string]plan.Join{"": plan.JoinOuter}, [][]float64{{1, 2}, {2, 1}}, "m 1 2", "0@0,0+2,2 1@2,0+2,1~0,1 1@2,1+2,1"},
		"no common value":              {map[string]plan.Join{"": plan.JoinOuter}, [][]float64{{1, 2}, {3}}, "m 1 2 3", "0@0,0+2,2 1@2,2+2,1"},
		"inner without a common value": {map[string]plan.Join{"": plan.JoinInner}, [][]float64{{1, 2}, {3}}, "", ""},
		"a value twice":                {map[string]plan.Join{"": plan.JoinOuter}, [][]float64{{1, 1}, {3}}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMaker()
			depths(m, c.lists...)
			opts := &plan.Options{Join: c.join}
			if c.depth == "" {
				_, _, err := newPlan(m.files, opts)
				refusals(t, err)
				return
			}
			p := planned(t, m, opts)
			if got := coordinateOf(t, p, "/depth"); got != c.depth {
				t.Errorf("depth %s, want %s", got, c.depth)
			}
			if got := tilesOf(t, m.files, p, "/t"); got != c.tiles {
				t.Errorf("tiles %s, want %s", got, c.tiles)
			}
		})
	}
}

// TestJoinIsSuggested: if coordinates differ in part, the first remedy is the join. Padding would put
// values under wrong labels.
func TestJoinIsSuggested(t *testing.T) {
	for name, list := range map[string][]float64{"different lengths": {5, 10, 80}, "equal lengths": {5, 10, 20, 80}} {
		m := newMaker()
		for i, list := range [][]float64{{5, 10, 20, 50}, list} {
			n := int64(len(list))
			m.file(fmt.Sprint(i), days(2*i, 2), coords("depth", "depth", float64s, list...), cube("t", "time depth", []int64{2, n}, []int64{1, n}))
		}
		_, _, err := newPlan(m.files, nil)
		found := false
		for _, r := range refusals(t, err)[0].Remedies {
			found = found || r.Option == report.JoinLabels && r.Value == "depth=outer"
		}
		if !found {
			t.Errorf("%s: want the remedy join=depth=outer, got %v", name, err)
		}
	}
}

// TestJoinedAuxiliaries: values of an auxiliary variable along a joined dimension must be equal where
// files share a label.
func TestJoinedAuxiliaries(t *testing.T) {
	for name, c := range map[string]struct {
		second []float64
		same   bool
	}{
		"equal":     {[]float64{20, 25, 40}, true},
		"different": {[]float64{21, 25, 40}, false},
	} {
		m := newMaker()
		thick := func(list ...float64) wanted { return coords("thick", "depth", float32s, list...) }
		data := func(n int64) wanted {
			return cube("t", "time depth", []int64{2, n}, []int64{1, n}).with("coordinates", "thick")
		}
		m.file("a", days(0, 2), coords("depth", "depth", float64s, 1, 2, 3), thick(10, 20, 30), data(3))
		m.file("b", days(2, 2), coords("depth", "depth", float64s, 2, 2.5, 4), thick(c.second...), data(3))
		opts := &plan.Options{Join: map[string]plan.Join{"depth": plan.JoinOuter}}
		if !c.same {
			_, _, err := newPlan(m.files, opts)
			if f := refusals(t, err)[0]; f.Code != report.StaticDiffers || f.Array != "/thick" {
				t.Errorf("%s: want the remedy join=depth=outer, got %v", name, err)
			}
			continue
		}
		p := planned(t, m, opts)
		if a := arrayOf(t, p, "/thick"); a.Schema.Shape[0] != 5 {
			t.Errorf("%s: shape %v", name, a.Schema.Shape)
		}
		if got, want := tilesOf(t, m.files, p, "/t"), "a@0,0+2,2 a@0,3+2,1~0,2 b@2,1+2,2 b@2,4+2,1~0,2"; got != want {
			t.Errorf("%s: tiles %s, want %s", name, got, want)
		}
	}
}
