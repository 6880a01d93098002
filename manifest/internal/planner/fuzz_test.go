package planner

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// wild makes an arbitrary archive from the bytes of a fuzzer.
type wild struct {
	bytes []byte
	m     *maker
}

func (w *wild) n(most int) int {
	if len(w.bytes) == 0 {
		return 0
	}
	b := int(w.bytes[0])
	w.bytes = w.bytes[1:]
	return b % most
}

var wildTypes = []codec.Type{float32s, float64s, int16s, int32s, int64s, stringsT, {Kind: codec.FixedBytes, Size: 3}, {Kind: codec.Bool, Size: 1},
	{Kind: codec.Struct, Size: 4, Fields: []codec.Field{{Name: "a", Type: int32s}}}, {Kind: codec.Float, Size: 2}, {Kind: codec.DateTime, Size: 8, Unit: "ns", Ticks: 1}}

func (w *wild) variable() wanted {
	names := []string{"time", "lat", "x", "t", "u", "g/t", "g/time"}
	name := names[w.n(len(names))]
	rank := w.n(4)
	var dims []string
	var shape, chunks []int64
	for range rank {
		d := []string{"time", "lat", "x", "g/time"}[w.n(4)]
		dims, shape = append(dims, d), append(shape, int64(w.n(5)))
		chunks = append(chunks, int64(1+w.n(5)))
	}
	v := cube(name, strings.Join(dims, " "), shape, chunks)
	v.v.Type = wildTypes[w.n(len(wildTypes))]
	switch w.n(6) {
	case 0:
		v.v.Storage = manifest.Storage{Layout: manifest.Strided, Chunks: shape, Codecs: []codec.Spec{little()}, Stride: int64(w.n(2) * 64)}
	case 1:
		v.v.Storage = manifest.Storage{Layout: manifest.Nothing}
	}
	if v.v.Type.Varies() {
		v.v.Storage = manifest.Storage{Layout: manifest.Valued}
	}
	switch w.n(5) {
	case 0:
		v = v.with("units", "days since 1990-01-01")
	case 1:
		v = v.with("units", "hours since 1990-01-02", "calendar", []string{"noleap", "standard", "none"}[w.n(3)])
	case 2:
		v = v.with("bounds", "u", "coordinates", "x lat")
	}
	if w.n(3) > 0 || v.v.Type.Varies() {
		v.values = w.values(&v.v)
	}
	return v
}

func (w *wild) values(v *manifest.Variable) *manifest.Values {
	n := coord.ElementsOf(v)
	out := &manifest.Values{}
	from, step := w.n(10), w.n(4)-1
	for i := range int(n) {
		if v.Type.Varies() {
			out.Texts = append(out.Texts, fmt.Append(nil, from+i*step))
			continue
		}
		element := make([]byte, v.Type.Size)
		element[0] = byte(from + i*step)
		if v.Type.Kind == codec.Bool {
			element[0] &= 1
		}
		if v.Type.Kind == codec.Float {
			element[v.Type.Size-1], element[0] = 0x40, 0
			element[v.Type.Size-2] = byte(from + i*step)
		}
		out.Data = append(out.Data, element...)
	}
	return out
}

// withoutUnitAxis returns a variable without its axis of length 1.
func withoutUnitAxis(x wanted) wanted {
	k := slices.Index(x.v.Shape, 1)
	if k < 0 || x.v.Storage.Layout == manifest.Strided {
		return x
	}
	x.v.Dims, x.v.Shape = slices.Delete(slices.Clone(x.v.Dims), k, k+1), slices.Delete(slices.Clone(x.v.Shape), k, k+1)
	if x.v.Storage.Chunks != nil {
		x.v.Storage.Chunks = slices.Delete(slices.Clone(x.v.Storage.Chunks), k, k+1)
	}
	return x
}

func (w *wild) archive() *plan.Options {
	w.m = newMaker()
	shapes := make([]wanted, 1+w.n(5))
	for i := range shapes {
		shapes[i] = w.variable()
	}
	for f := range 1 + w.n(5) {
		var vars []wanted
		taken := map[string]bool{}
		for _, s := range shapes {
			if w.n(6) == 0 {
				s = w.variable()
			}
			if w.n(3) == 0 && s.values != nil {
				s.values = w.values(&s.v)
			}
			if w.n(4) == 3 {
				s = withoutUnitAxis(s)
			}
			if !taken[s.v.Path] {
				taken[s.v.Path] = true
				vars = append(vars, s)
			}
		}
		w.m.file(fmt.Sprintf("f%d", f), vars...)
	}
	o := &plan.Options{Coords: []plan.Coords{plan.CoordsEqual, plan.CoordsFirst}[w.n(2)], Overlap: []plan.Overlap{plan.OverlapRefuse, plan.OverlapFirst, plan.OverlapLast}[w.n(3)],
		Pad: []plan.Pad{plan.PadRefuse, plan.PadFill}[w.n(2)], Missing: []plan.Absent{plan.AbsentFill, plan.AbsentDrop, plan.AbsentRefuse}[w.n(3)], Rectilinear: w.n(2) == 1, Strict: w.n(9) == 1}
	if w.n(3) == 0 {
		o.Concat = []string{[]string{"time", "lat", "x"}[w.n(3)]}
	}
	if w.n(4) == 0 {
		o.NewDims = []plan.NewDim{{Name: "n", Pattern: `f(\d)`}}
	}
	switch w.n(8) {
	case 1:
		o.NewDims = []plan.NewDim{{Name: "time", Pattern: `f(\d)`}}
	case 2:
		o.NewDims = []plan.NewDim{{Name: "time", Variable: "time"}}
	case 3:
		o.Broadcast = []plan.Broadcast{{Array: "t", Dim: "time"}}
	}
	return o
}

// tryWild plans an archive, provides requested values, and checks the invariants of plans.
func tryWild(t *testing.T, data []byte) (planned bool) {
	w := &wild{bytes: data}
	opts := w.archive()
	for range 8 {
		p, needs, err := askedNew(w.m.files, opts)
		if err != nil {
			if err.Error() == "" || p != nil || needs != nil {
				t.Errorf("%v with %v, %v", err, p, needs)
			}
			return false
		}
		if len(needs) == 0 {
			checkPlan(t, w.m.files, p)
			return true
		}
		for _, n := range needs {
			f := w.m.files[n.File]
			if f.Values[n.Variable] != nil {
				t.Fatalf("the plan requests a value that it has: %+v", n)
			}
			f.Values[n.Variable] = w.m.intern(w.values(f.Header.Variable(n.Variable)))
		}
	}
	t.Fatal("the plan still requests values after 8 rounds")
	return false
}

// TestWild: random archives make valid plans or errors.
func TestWild(t *testing.T) {
	plans, tried := 0, 0
	for seed := range soak.Seeds(t, 800) {
		tried++
		r := rand.New(rand.NewPCG(seed, 3))
		data := make([]byte, 300)
		for i := range data {
			data[i] = byte(r.IntN(256))
		}
		if tryWild(t, data) {
			plans++
		}
	}
	if plans < tried/40 && !soak.Selected() {
		t.Errorf("only %d of %d archives were planned", plans, tried)
	}
}

func FuzzNew(f *testing.F) {
	f.Add([]byte{1, 0, 1, 0, 3, 2, 1, 2, 0, 2, 1, 1, 1, 3, 0, 0, 2, 1})
	f.Add([]byte(strings.Repeat("varve", 40)))
	f.Fuzz(func(t *testing.T, data []byte) { tryWild(t, data) })
}

// TestCorrupt: values that do not fit their shape are errors.
func TestCorrupt(t *testing.T) {
	for name, spoil := range map[string]func(m *maker, f *manifest.File){
		"values too short": func(_ *maker, f *manifest.File) { f.Values[0] = &manifest.Values{Data: make([]byte, 4)} },
		"another rank": func(m *maker, f *manifest.File) {
			m.change(f, func(h *manifest.Header) { h.Variables[3].Shape = []int64{1} })
		},
		"negative length": func(m *maker, f *manifest.File) {
			m.change(f, func(h *manifest.Header) { h.Variables[3].Shape = []int64{-1, 3, 4} })
		},
		"too many elements": func(m *maker, f *manifest.File) {
			m.change(f, func(h *manifest.Header) { h.Variables[3].Shape = slices.Repeat([]int64{1 << 40}, 3) })
		},
		"empty chunks": func(m *maker, f *manifest.File) {
			m.change(f, func(h *manifest.Header) { h.Variables[3].Storage.Chunks = []int64{0, 3, 4} })
		},
	} {
		m := newMaker()
		m.day("a", 0, 2)
		spoil(m, m.day("b", 2, 2))
		if _, _, err := newPlan(m.files, nil); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHugeUnreadable: an unreadable variable of any size is dropped. A negative length is an error.
func TestHugeUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		shape []int64
		ok    bool
	}{"more than can be counted": {slices.Repeat([]int64{1 << 40}, 3), true}, "negative": {[]int64{-1, 3, 4}, false}} {
		m := newMaker()
		for i := range 2 {
			w := cube("huge", "z y x", c.shape, nil)
			w.v.Unreadable = "is of more elements than can be counted"
			m.file(fmt.Sprint(i), coords("time", "time", float64s, float64(i)).with("units", "days since 1990-01-01"), cube("t", "time", []int64{1}, []int64{1}), w)
		}
		p, _, err := newPlan(m.files, nil)
		if (err == nil) != c.ok || err == nil && len(p.Arrays) != 2 {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// TestTimeOutOfRange: the error for an invalid time names the variable, and its remedy drops it.
func TestTimeOutOfRange(t *testing.T) {
	m := newMaker()
	m.file("a", coords("time", "time", float64s, 0, 1e300).with("units", "seconds since 1970-01-01"))
	_, _, err := newPlan(m.files, nil)
	var advice *manifest.RemedyError
	if !errors.As(err, &advice) || !slices.Equal(advice.Remedies, []manifest.Remedy{{Option: "drop", Value: "/time"}}) || !strings.Contains(err.Error(), "/time: time 1: ") {
		t.Errorf("got %v", err)
	}
}

// TestTimeNeverWritten: times that were never written read as netCDF's fill value, and count as
// missing.
func TestTimeNeverWritten(t *testing.T) {
	m := newMaker()
	m.file("a", coords("time", "time", float64s, 0, 9.969209968386869e36, math.Inf(1)).with("units", "seconds since 1970-01-01"))
	if _, _, err := newPlan(m.files, nil); err != nil {
		t.Error(err)
	}
}

// TestTimesAlongOtherDimension: files whose times have another dimension are refused.
func TestTimesAlongOtherDimension(t *testing.T) {
	for _, profiles := range [][]float64{{5, 6}, {5, 6, 7}} {
		m := newMaker()
		m.file("a", coords("time", "obs", float64s, 0, 1, 2).with("units", "days since 1990-01-01"), coords("x", "obs", float64s, 1, 2, 3))
		m.file("b", coords("time", "profile", float64s, profiles...).with("units", "days since 1990-01-01"), coords("x", "obs", float64s, 1, 2, 3))
		_, _, err := newPlan(m.files, nil)
		if errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("%d profiles: got %v", len(profiles), err)
		}
		f := findingOf(t, &report.Report{Findings: refusals(t, err)}, report.DimsDiffer)
		if got := fmt.Sprint(f.Array, f.Args["dims"]); got != "/time[profile]" {
			t.Errorf("%d profiles: got %s", len(profiles), got)
		}
	}
}
