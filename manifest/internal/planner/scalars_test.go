package planner

import (
	"fmt"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// moment makes a scalar time.
func moment(day float64) wanted {
	return scalar("time", day).with("units", "days since 1990-01-01", "standard_name", "time")
}

// field makes a variable along lat and lon only.
func field(name string) wanted { return cube(name, "lat lon", []int64{3, 4}, []int64{3, 4}) }

// timeLast makes a variable with n steps along its last axis.
func timeLast(name string, n int64) wanted {
	return cube(name, "lat lon time", []int64{3, 4, n}, []int64{3, 4, n})
}

// edges makes the bounds of times.
func edges(dims string, from float64, n int) wanted {
	var numbers []float64
	for i := range n {
		numbers = append(numbers, from+float64(i), from+float64(i)+1)
	}
	w := coords("time_bnds", dims, float64s, numbers...)
	w.v.Shape, w.v.Storage.Chunks = []int64{int64(n), 2}, []int64{int64(n), 2}
	if dims == "nv" {
		w.v.Shape, w.v.Storage.Chunks = []int64{2}, []int64{2}
	}
	return w
}

// TestSinglePositions: a variable without a dimension is placed at a single position along it if its file or
// an option gives that position.
func TestSinglePositions(t *testing.T) {
	names := []plan.NewDim{{Name: "time", Pattern: `(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)`}}
	for _, c := range []struct {
		name  string
		opts  plan.Options
		make  func(m *maker)
		array string
		dims  string
		shape string
		tiles string
		times string
	}{
		{"scalar time", plan.Options{}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", moment(5), lat(), lon(), field("t"))
			m.day("c", 7, 2)
		}, "/t", "/time /lat /lon", "6 3 4", "a@0+3 b@3+1 c@4+2", "0 1 2 5 7 8"},
		{"scalar time that is not selected", plan.Options{Vars: []string{"t"}}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", moment(5), lat(), lon(), field("t"))
		}, "/t", "/time /lat /lon", "4 3 4", "a@0+3 b@3+1", "0 1 2 5"},
		{"time with one step", plan.Options{}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", days(5, 1), lat(), lon(), field("t"))
		}, "/t", "/time /lat /lon", "4 3 4", "a@0+3 b@3+1", "0 1 2 5"},
		{"most files without the dimension", plan.Options{}, func(m *maker) {
			for i := range 3 {
				m.file(fmt.Sprint(i), moment(float64(i)), lat(), lon(), field("t"))
			}
			m.day("3", 7, 2)
		}, "/t", "/time /lat /lon", "5 3 4", "0@0+1 1@1+1 2@2+1 3@3+2", "0 1 2 7 8"},
		{"time as the last axis", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), lat(), lon(), timeLast("t", 2))
			m.file("b", moment(5), lat(), lon(), field("t"))
		}, "/t", "/lat /lon /time", "3 4 3", "a@0+2 b@2+1", "0 1 5"},
		{"another order of axes", plan.Options{}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", moment(5), lat(), lon(), cube("t", "lon lat", []int64{4, 3}, []int64{4, 3}))
		}, "/t", "/time /lat /lon", "3 3 4", "a@0+2 b@2+1", "0 1 5"},
		{"two missing axes", plan.Options{}, func(m *maker) {
			level := func() wanted { return coords("lev", "lev", float64s, 850) }
			m.file("a", days(0, 2), level(), lat(), cube("t", "time lev lat", []int64{2, 1, 3}, []int64{1, 1, 3}))
			m.file("b", moment(5), scalar("lev", 850), lat(), cube("t", "lat", []int64{3}, []int64{3}))
		}, "/t", "/time /lev /lat", "3 1 3", "a@0+2 b@2+1", "0 1 5"},
		{"a scalar variable", plan.Options{Inline: new(int64(1))}, func(m *maker) {
			m.file("a", days(0, 2), cube("n", "time", []int64{2}, []int64{2}))
			one := cube("n", "", []int64{}, []int64{})
			m.file("b", moment(5), one)
		}, "/n", "/time", "3", "a@0+2 b@2+1", "0 1 5"},
		{"steps from file names", plan.Options{NewDims: names}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("1990-01-06", lat(), lon(), field("t"))
			m.file("grid", lat(), lon())
		}, "/t", "/time /lat /lon", "4 3 4", "a@0+3 1990-01-06@3+1", "7305 7306 7307 7310"},
		{"steps from a variable", plan.Options{NewDims: []plan.NewDim{{Name: "time", Variable: "time"}}}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", moment(5), lat(), lon(), field("t"), field("u"))
			m.file("c", moment(6), lat(), lon(), field("t"), field("u"))
		}, "/u", "/time /lat /lon", "5 3 4", "b@3+1 c@4+1", "0 1 2 5 6"},
		{"a variable that only files without the dimension have", plan.Options{NewDims: []plan.NewDim{{Name: "time", Variable: "time"}}}, func(m *maker) {
			m.day("a", 0, 2)
			m.file("b", moment(0), lat(), lon(), field("u"))
			m.file("c", moment(1), lat(), lon(), field("u"))
		}, "/u", "/time /lat /lon", "2 3 4", "b@0+1 c@1+1", "0 1"},
		{"files with one step, with and without the dimension", plan.Options{NewDims: []plan.NewDim{{Name: "time", Variable: "time"}}}, func(m *maker) {
			m.day("a", 0, 1)
			m.file("b", moment(1), lat(), lon(), field("t"))
			m.file("c", days(0, 1), coords("x", "x", int16s, 1))
			m.file("d", moment(1), coords("x", "x", int16s, 1))
		}, "/t", "/time /lat /lon", "2 3 4", "a@0+1 b@1+1", "0 1"},
		{"no file has coordinate values", plan.Options{NewDims: []plan.NewDim{{Name: "step", Pattern: `(\d)`}}}, func(m *maker) {
			m.file("1", cube("t", "step lat", []int64{1, 3}, []int64{1, 3}))
			m.file("2", cube("t", "lat", []int64{3}, []int64{3}))
		}, "/t", "/step /lat", "2 3", "1@0+1 2@1+1", ""},
		{"broadcast along several steps", plan.Options{Broadcast: []plan.Broadcast{{Array: "t", Dim: "time"}}}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", days(5, 2), lat(), lon(), field("t"))
		}, "/t", "/time /lat /lon", "5 3 4", "a@0+3 b@3+2", "0 1 2 5 6"},
		{"broadcast of a variable that does not list the scalar time", plan.Options{Broadcast: []plan.Broadcast{{Array: "t", Dim: "time"}}}, func(m *maker) {
			m.day("a", 0, 3, cube("u", "time lat lon", []int64{3, 3, 4}, []int64{3, 3, 4}))
			m.file("b", moment(5), lat(), lon(), field("t").with("coordinates", "height"), field("u").with("coordinates", "time"))
		}, "/t", "/time /lat /lon", "4 3 4", "a@0+3 b@3+1", "0 1 2 5"},
		{"padding along a longer dimension", plan.Options{Pad: plan.PadFill}, func(m *maker) {
			m.file("a", days(0, 1), coords("lev", "lev", float64s, 850, 500), cube("t", "time lev", []int64{1, 2}, []int64{1, 2}))
			m.file("b", days(1, 1), scalar("lev", 850), cube("t", "time", []int64{1}, []int64{1}))
		}, "/t", "/time /lev", "2 2", "a@0+1 b@1+1", "0 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			p, err := planning(m, &c.opts)
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, m.files, p)
			a := arrayOf(t, p, c.array)
			if got := strings.Join(a.Dims, " "); got != c.dims || strings.ReplaceAll(ints(a.Schema.Shape), ",", " ") != c.shape {
				t.Errorf("the dimensions are %s and the shape %v, want %s and %s", got, a.Schema.Shape, c.dims, c.shape)
			}
			if got := tilesOf(t, m.files, p, c.array); got != c.tiles {
				t.Errorf("the tiles are %s, want %s", got, c.tiles)
			}
			if c.times != "" {
				if got := timesOf(t, p); got != c.times {
					t.Errorf("the times are %s, want %s", got, c.times)
				}
			}
		})
	}
}

// timesOf returns the values of the coordinate time.
func timesOf(t *testing.T, p *Plan) string {
	t.Helper()
	a := arrayOf(t, p, "/time")
	var out []string
	for _, piece := range a.Pieces {
		for _, v := range p.Values {
			if v.ID == piece.Values {
				x, err := coord.ReadNumbers(&manifest.Variable{Type: a.Schema.DataType.Type()}, v.Data)
				if err != nil {
					t.Fatal(err)
				}
				for i := range x.Len {
					out = append(out, fmt.Sprint(x.Real(i)))
				}
			}
		}
	}
	return strings.Join(out, " ")
}

// TestSinglePositionBounds: the bounds of a file's single time become one element of the combined bounds,
// in the units of the times.
func TestSinglePositionBounds(t *testing.T) {
	m := newMaker()
	at := days(0, 2).with("bounds", "time_bnds")
	m.file("a", at, lat(), lon(), cube("t", "time lat lon", []int64{2, 3, 4}, []int64{1, 3, 4}), edges("time nv", 0, 2))
	one := scalar("time", 3).with("units", "days since 1990-01-03", "bounds", "time_bnds")
	m.file("b", one, lat(), lon(), field("t"), edges("nv", 3, 1))
	p := planned(t, m, nil)
	if got, want := coordinateOf(t, p, "/time"), "days since 1990-01-01 0 1 5"; got != want {
		t.Errorf("times are %s", got)
	}
	a := arrayOf(t, p, "/time_bnds")
	if got := strings.Join(a.Dims, " "); got != "/time /nv" || ints(a.Schema.Shape) != "3,2" {
		t.Errorf("dimensions of the bounds are %s, shape %v", got, a.Schema.Shape)
	}
	if got := coordinateOf(t, p, "/time_bnds"); !strings.HasSuffix(got, "0 1 1 2 5 6") && !strings.HasSuffix(got, "0 24 24 48 120 144") {
		t.Errorf("bounds are %s", got)
	}
}

// TestSinglePositionRefused: variables whose position is unknown are refused, with the remedy that provides
// it.
func TestSinglePositionRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		opts   plan.Options
		make   func(m *maker)
		facts  string
		option string
	}{
		{"a file with several steps", plan.Options{}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", days(5, 2), lat(), lon(), field("t"))
		}, "declared=[time lat lon] dims=[lat lon]", "broadcast=t=time | "},
		{"a file without a time", plan.Options{}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", lat(), lon(), field("t"))
		}, "declared=[time lat lon] dims=[lat lon]", "new-dim=time=PATTERN | "},
		{"a file whose name has no time", plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: `(\d+)`}}}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", lat(), lon(), field("t"))
		}, "", ""},
		{"a missing scalar", plan.Options{}, func(m *maker) {
			m.file("a", coords("lev", "lev", float64s, 850, 500), cube("t", "lev lat", []int64{2, 3}, []int64{2, 3}))
			m.file("b", coords("lev", "lev", float64s, 300), cube("t", "lev lat", []int64{1, 3}, []int64{1, 3}))
			m.file("c", missingOne("lev"), cube("t", "lat", []int64{3}, []int64{3}))
		}, "declared=[lev lat] dims=[lat]", "broadcast=t=lev | "},
		{"a variable that does not list the scalar time, unlike others", plan.Options{}, func(m *maker) {
			m.day("a", 0, 3, cube("u", "time lat lon", []int64{3, 3, 4}, []int64{3, 3, 4}))
			m.file("b", moment(5), lat(), lon(), field("t").with("coordinates", "height"), field("u").with("coordinates", "time"))
		}, "declared=[time lat lon] dims=[lat lon]", "broadcast=t=time | "},
		{"only other variables in the file", plan.Options{}, func(m *maker) {
			m.day("a", 0, 3)
			m.file("b", moment(5), lat(), lon(), field("u"))
		}, "declared=[time] dims=[]", "new-dim=time=var:time"},
		{"unnamed dimensions", plan.Options{}, func(m *maker) {
			for _, more := range []bool{true, false} {
				v := cube("t", "phony_dim_0 phony_dim_1", []int64{3, 4}, []int64{3, 4})
				if more {
					v = cube("t", "time phony_dim_0 phony_dim_1", []int64{3, 3, 4}, []int64{3, 3, 4})
				}
				at := moment(5)
				if more {
					at = days(0, 3)
				}
				f := m.file(fmt.Sprint(more), at, v)
				m.change(f, func(h *manifest.Header) {
					for i := range h.Dimensions {
						d := &h.Dimensions[i]
						d.Anonymous = strings.HasPrefix(d.Path, "/phony")
					}
				})
			}
		}, "declared=[phony", "separate-manifests | drop=t"},
		{"a dimension along which files are not placed", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 1), lat(), lon(), cube("t", "time lat lon", []int64{1, 3, 4}, []int64{1, 3, 4}))
			m.file("b", days(1, 1), lat(), lon(), cube("t", "time lat", []int64{1, 3}, []int64{1, 3}))
		}, "declared=[time lat lon] dims=[time lat]", "separate-manifests | drop=t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			f := firstRefusal(t, m, &c.opts)
			facts, remedies := reporttest.Facts(&f), reporttest.Remedies(&f)
			if !strings.HasPrefix(facts, c.facts) || !strings.HasPrefix(remedies, c.option) || c.option == "" && remedies != "" || f.Count != 1 {
				t.Errorf("%s: facts %q, remedies %q; want %q, %q", f.Array, facts, remedies, c.facts, c.option)
			}
		})
	}
}

// missingOne makes a scalar with a missing value.
func missingOne(name string) wanted {
	w := scalar(name, 0)
	w.values.Data = []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f}
	return w
}

// TestSinglePositionFinding: the finding lists the files that lack the dimension.
func TestSinglePositionFinding(t *testing.T) {
	m := newMaker()
	m.day("a", 0, 3, cube("u", "time lat lon", []int64{3, 3, 4}, []int64{3, 3, 4}))
	m.file("b", moment(5), lat(), lon(), field("t"), field("u"))
	m.file("c", moment(6), lat(), lon(), field("t"), field("u"))
	f := findingOf(t, planned(t, m, &plan.Options{Strict: true}).Report, report.StepWithoutDim)
	if f.Effect != report.Noted || fmt.Sprint(f.Arrays) != "[/t /u]" || reporttest.Facts(&f) != "dims=[time lat lon] own=[lat lon]" || reporttest.Files(&f) != "b c" {
		t.Errorf("%+v", f)
	}
}

// TestSinglePositionExtend: files with one position are appended without reading old files, as if all
// were planned at once.
func TestSinglePositionExtend(t *testing.T) {
	m := newMaker()
	long := func(name string, from int) {
		m.day(name, from, 3, cube("u", "lat time", []int64{3, 3}, []int64{3, 3}))
	}
	one := func(name string, at float64) {
		m.file(name, moment(at), lat(), lon(), field("t"), cube("u", "lat", []int64{3}, []int64{3}))
	}
	long("a", 0)
	one("b", 5)
	long("c", 7)
	one("d", 10)
	one("e", 11)
	long("f", 13)
	opts := &plan.Options{Rectilinear: true}
	base, _, err := newPlan(m.files[:2], opts)
	if err != nil || base.State == nil {
		t.Fatalf("plan %v, error %v; want a plan with a state", base, err)
	}
	var exts []*Extension
	snap := snapshotOf(base, 2)
	for _, k := range [][2]int{{2, 3}, {3, 5}, {5, 6}} {
		x, needs, err := askedExtend(snap, m.files[:k[1]], opts)
		if err != nil || x == nil {
			t.Fatalf("files %v: error %v, needs %v", k, err, needs)
		}
		exts, snap = append(exts, x), extended(snap, x, k[1]-k[0])
	}
	sameExtended(t, m, planned(t, m, opts), base, exts...)
}
