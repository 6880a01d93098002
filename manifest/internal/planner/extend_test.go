package planner

import (
	"fmt"
	"slices"
	"testing"

	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/edge"
	"varve/manifest/plan"
)

// elementsOfPieces concatenates the pieces of an array along its first axis.
func elementsOfPieces(t testing.TB, a *manifest.Array, values map[string]*manifest.Values) (data []byte, texts [][]byte) {
	t.Helper()
	at := int64(0)
	for _, p := range a.Pieces {
		v := values[p.Values]
		if v == nil || len(p.Origin) > 0 && p.Origin[0] != at {
			t.Fatalf("%s: piece %+v at %d, values %v", a.Path, p, at, v)
		}
		if len(p.Shape) > 0 {
			at += p.Shape[0]
		}
		data, texts = append(data, v.Data...), append(texts, v.Texts...)
	}
	return data, texts
}

func valuesByID(lists ...[]*manifest.Values) map[string]*manifest.Values {
	all := map[string]*manifest.Values{}
	for _, list := range lists {
		for _, v := range list {
			all[v.ID] = v
		}
	}
	return all
}

// TestExtendRefuses: Extend returns nothing for new files that must be compared with old files.
func TestExtendRefuses(t *testing.T) {
	m64 := func(n ...int64) []int64 { return n }
	start := func() *maker {
		m := newMaker()
		m.day("a", 0, 4)
		m.day("b", 4, 4)
		return m
	}
	for _, c := range []struct {
		name string
		ok   bool
		make func(m *maker)
	}{
		{"the next days", true, func(m *maker) { m.day("c", 8, 4) }},
		{"a gap", true, func(m *maker) { m.day("c", 20, 4) }},
		{"two files in another order", true, func(m *maker) { m.day("c", 12, 4); m.day("d", 8, 4) }},
		{"before the old files", false, func(m *maker) { m.day("c", -8, 4) }},
		{"overlaps an old file", false, func(m *maker) { m.day("c", 7, 4) }},
		{"new files overlap", false, func(m *maker) { m.day("c", 8, 4); m.day("d", 11, 4) }},
		{"the same steps twice", false, func(m *maker) { m.day("c", 8, 4); m.day("d", 8, 4) }},
		{"another header", false, func(m *maker) { m.day("c", 8, 5) }},
		{"other values of lat", false, func(m *maker) {
			m.file("c", days(8, 4), coords("lat", "lat", float32s, -10, 1, 10).with("units", "degrees_north"), lon(), cube("t", "time lat lon", m64(4, 3, 4), m64(4, 3, 4)))
		}},
		{"decreasing times", false, func(m *maker) {
			w := coords("time", "time", int32s, 12, 11, 10, 9).with("units", "days since 1990-01-01", "standard_name", "time")
			m.file("c", w, lat(), lon(), cube("t", "time lat lon", m64(4, 3, 4), m64(4, 3, 4)))
		}},
		{"an attribute with another value", false, func(m *maker) {
			m.day("c", 8, 4).Groups = manifest.NewFileGroups(&manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/", Attributes: []manifest.Attribute{textAttribute("title", "u")}}}})
		}},
		{"other values of an attribute that differed before", true, func(m *maker) {
			f := m.day("c", 8, 4)
			f.Groups = manifest.NewFileGroups(&manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/", Attributes: append(f.Groups.Expand().Groups[0].Attributes, textAttribute("history", "c"))}}})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := start()
			c.make(m)
			for i, f := range m.files {
				attributes := []manifest.Attribute{textAttribute("title", "t"), textAttribute("history", fmt.Sprint(i))}
				if i < 2 || f.Groups.Expand().Groups[0].Attributes == nil {
					f.Groups = manifest.NewFileGroups(&manifest.GroupAttributes{Groups: []manifest.Group{{Path: "/", Attributes: attributes}}})
				}
			}
			if c.name == "other values of an attribute that differed before" {
				m.files[2].Groups.Expand().Groups[0].Attributes = []manifest.Attribute{textAttribute("title", "t"), textAttribute("history", "other")}
			}
			base, _, err := newPlan(m.files[:2], nil)
			if err != nil {
				t.Fatal(err)
			}
			x, needs, err := askedExtend(snapshotOf(base, 2), m.files, nil)
			if err != nil || len(needs) > 0 || (x != nil) != c.ok {
				t.Fatalf("extended: %v, want %v; needs %v, error %v", x != nil, c.ok, needs, err)
			}
			if x != nil {
				sameExtended(t, m, planned(t, m, nil), base, x)
			}
		})
	}
}

// TestExtendStatics: digests of values that all files share are requested for new files only.
func TestExtendStatics(t *testing.T) {
	m := newMaker()
	for i := range 3 {
		f := m.day(fmt.Sprint(i), 2*i, 2, cube("grid", "y x", []int64{64, 128}, []int64{64, 128}))
		if i < 2 {
			f.Values[f.Header.Find("/grid")] = &manifest.Values{ID: "same", Summed: true}
		}
	}
	base, needs, err := newPlan(m.files[:2], nil)
	if err != nil || len(needs) > 0 {
		t.Fatal(needs, err)
	}
	added := m.files[2:]
	at := added[0].Header.Find("/grid")
	if x, needs, err := askedExtend(snapshotOf(base, 2), m.files, nil); x != nil || err != nil || !slices.Equal(needs, []Request{{0, at, Sum}}) {
		t.Fatalf("%v, needs %v, %v", x, needs, err)
	}
	for _, id := range []string{"same", "other"} {
		added[0].Values[at] = &manifest.Values{ID: id, Summed: true}
		x, needs, err := askedExtend(snapshotOf(base, 2), m.files, nil)
		if err != nil || len(needs) > 0 || (x != nil) != (id == "same") {
			t.Errorf("%s: %v, needs %v, %v", id, x, needs, err)
		}
	}
}

// TestExtendWithoutState: an unknown header or a missing state cannot be extended, and an invalid
// state is an error.
func TestExtendWithoutState(t *testing.T) {
	m := newMaker()
	m.day("a", 0, 4)
	m.day("b", 4, 4)
	m.day("c", 8, 3)
	base, _, err := newPlan(m.files[:2], nil)
	if err != nil {
		t.Fatal(err)
	}
	if x, _, _ := askedExtend(snapshotOf(base, 2), m.files, nil); x != nil {
		t.Error("extended by a file with an unknown header")
	}
	if x, needs, err := askedExtend(snapshotOf(&Plan{Arrays: base.Arrays}, 2), m.files, nil); x != nil || needs != nil || err != nil {
		t.Errorf("without a state: %v, needs %v, error %v", x, needs, err)
	}
	if _, _, err := askedExtend(snapshotOf(&Plan{State: []byte(`{"Dim":1}`)}, 2), m.files, nil); err == nil {
		t.Error("an invalid state was accepted")
	}
}

// TestExtendManyTimes: appending one step at a time does not make one piece per step, and the state
// stays small.
func TestExtendManyTimes(t *testing.T) {
	m := newMaker()
	for i := range 400 {
		m.day(fmt.Sprintf("f%04d", i), i, 1)
	}
	base, _, err := newPlan(m.files[:2], nil)
	if err != nil {
		t.Fatal(err)
	}
	snap := snapshotOf(base, 2)
	for k := 2; k < len(m.files); k++ {
		x, needs, err := askedExtend(snap, m.files[:k+1], nil)
		if err != nil || x == nil {
			t.Fatal(k, needs, err)
		}
		snap = extended(snap, x, 1)
	}
	for _, a := range snap.Arrays {
		if len(a.Pieces) > 16 {
			t.Errorf("%s: %d pieces", a.Path, len(a.Pieces))
		}
	}
	if len(snap.State) > 2<<10 {
		t.Errorf("the state has %d bytes", len(snap.State))
	}
}

func BenchmarkExtend(b *testing.B) {
	files := manyFiles(1001, 40)
	base, _, err := newPlan(files[:1000], nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if x, needs, err := askedExtend(snapshotOf(base, 1000), files, nil); err != nil || x == nil {
			b.Fatal(needs, err)
		}
	}
	b.ReportMetric(float64(len(base.State)), "B-state")
}

// TestExtendKeepsRecords: an append keeps the chunks of one record that an array has, and joins only the new records.
func TestExtendKeepsRecords(t *testing.T) {
	m := newMaker()
	at := 0
	for i, n := range []int{31, 28, 31} {
		m.file(fmt.Sprint(i), days(at, n), lat(), bare("t", "time lat", []int64{int64(n), 3}, 64))
		at += n
	}
	opts := &plan.Options{Rectilinear: true}
	none := func(*manifest.File, string) bool { return false }
	for _, c := range []struct {
		ends  []int
		edges []grid.Run
	}{
		{[]int{2}, []grid.Run{grid.Times(1, 59)}},
		{[]int{2, 3}, []grid.Run{grid.Times(1, 59), grid.Times(31, 1)}},
		{[]int{3}, []grid.Run{grid.Times(31, 1), grid.Times(28, 1), grid.Times(31, 1)}},
	} {
		g, extensions, err := grow(m.files, c.ends, opts, none)
		if err != nil || extensions != len(c.ends)-1 {
			t.Fatalf("%v: %d extensions, %v", c.ends, extensions, err)
		}
		i := slices.IndexFunc(g.snapshot.Arrays, func(a manifest.Array) bool { return a.Path == "/t" })
		schema := g.snapshot.Arrays[i].Schema
		if got := edge.RunsOf(schema.ChunkGrid.Sizes[0], schema.Shape[0]); !slices.Equal(got, c.edges) {
			t.Errorf("appended at %v: edges %v, want %v", c.ends, got, c.edges)
		}
	}
}
