package planner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestBroadcast: a broadcast variable has the new dimension first, and a file's value at each
// position of that file. Small variables are stored in the manifest; others have a placement.
func TestBroadcast(t *testing.T) {
	m := newMaker()
	mask := func(id int64) wanted { return cube("mask", "lat lon", []int64{64, 64}, []int64{32, 64}) }
	m.day("a", 0, 3, scalar("orbit", 7), words("version", "", "v1"), mask(1))
	m.day("b", 3, 2, scalar("orbit", 8), words("version", "", "v2"), mask(2))
	m.day("c", 5, 1, words("version", "", "v1"), mask(3))
	for i := range m.files {
		for _, v := range m.files[i].Header.Expand().Variables {
			if v.Path == "/version" {
				v.Dims, v.Shape = nil, nil
			}
			if v.Path == "/mask" {
				v.Dims = []string{"/row", "/column"}
			}
		}
	}
	p := planned(t, m, &plan.Options{Broadcast: []plan.Broadcast{{Array: "orbit", Dim: "time"}, {Array: "vers*", Dim: "/time"}, {Array: "mask", Dim: "time"}}})
	known := valuesByID(p.Values)
	orbit, version := arrayOf(t, p, "/orbit"), arrayOf(t, p, "/version")
	data, _ := elementsOfPieces(t, orbit, known)
	want := coords("x", "x", float64s, 7, 7, 7, 8, 8, math.NaN()).values.Data
	if !slices.Equal(data[:5*8], want[:5*8]) || !math.IsNaN(math.Float64frombits(binary.LittleEndian.Uint64(data[5*8:]))) || orbit.Dims[0] != "/time" {
		t.Errorf("orbit along %v is %v, not %v", orbit.Dims, data, want)
	}
	if _, texts := elementsOfPieces(t, version, known); fmt.Sprintf("%s", texts) != "[v1 v1 v1 v2 v2 v1]" {
		t.Errorf("version is %s", texts)
	}
	if got := gridText(arrayOf(t, p, "/mask")); got != "1 32 64" {
		t.Errorf("mask has the chunks %s", got)
	}
	if got := tilesOf(t, m.files, p, "/mask"); got != "a@0+3 b@3+2 c@5+1" {
		t.Errorf("the tiles of mask are %s", got)
	}
}

// TestBroadcastOptions: a broadcast option without effect is an error.
func TestBroadcastOptions(t *testing.T) {
	for _, c := range []struct {
		broadcast plan.Broadcast
		named     string // names that the error lists
	}{
		{plan.Broadcast{Array: "orbit", Dim: "tme"}, "/lat, /lon, /time"},
		{plan.Broadcast{Array: "orbit", Dim: "lat"}, " lat"},
		{plan.Broadcast{Array: "orbt", Dim: "time"}, "/lat, /lon, /orbit, /t, /time"},
		{plan.Broadcast{Array: "t", Dim: "time"}, " time "},
		{plan.Broadcast{Array: "lat", Dim: "time"}, " time "},
		{plan.Broadcast{Array: "[", Dim: "time"}, "*.nc"},
	} {
		m := newMaker()
		m.day("1", 0, 2, scalar("orbit", 1))
		m.day("2", 2, 2, scalar("orbit", 2))
		_, _, err := newPlan(m.files, &plan.Options{Broadcast: []plan.Broadcast{c.broadcast}})
		var option *plan.OptionError
		if !errors.As(err, &option) || option.Option != report.Broadcast || !strings.HasPrefix(c.broadcast.Array+"="+c.broadcast.Dim, option.Value) || !mentions(err, c.named) {
			t.Errorf("%v: got %v, want an error of this option that names %q", c.broadcast, err, c.named)
		}
	}
}

// TestBroadcastAdvice: the remedies of refusals lead to a plan.
func TestBroadcastAdvice(t *testing.T) {
	at := func(day, x int) []wanted {
		return []wanted{days(2*day, 2), coords("x", "x", float64s, float64(3*x), float64(3*x+1)), cube("t", "time x", []int64{2, 2}, []int64{2, 2})}
	}
	in := func(group string, w wanted) wanted {
		w.v.Path = "/" + group + w.v.Path
		for k := range w.v.Dims {
			w.v.Dims[k] = "/" + group + w.v.Dims[k]
		}
		return w
	}
	for _, c := range []struct {
		name, option string
		more         func(day, x int) wanted
	}{
		{"depends on the day", "broadcast=id=time", func(day, x int) wanted { return scalar("id", float64(day)) }},
		{"depends on the tile", "broadcast=id=x", func(day, x int) wanted { return scalar("id", float64(x)) }},
		{"depends on the file", "broadcast=id=time broadcast=id=x", func(day, x int) wanted { return scalar("id", float64(2*day+x)) }},
		{"depends on the day and lies along x", "broadcast=id=time", func(day, x int) wanted { return coords("id", "x", float64s, float64(day), float64(x)) }},
		{"a coordinate of another dimension", "", func(day, x int) wanted { return coords("y", "y", float64s, float64(day), float64(day)+0.5) }},
		{"in a group", "broadcast=g/id=time", func(day, x int) wanted { return in("g", scalar("id", float64(day))) }},
		{"a name with a glob character", `broadcast=a\*=time`, func(day, x int) wanted { return scalar("a*", float64(day)) }},
	} {
		m := newMaker()
		for day := range 2 {
			for x := range 2 {
				m.file(fmt.Sprint(day, x), append(at(day, x), c.more(day, x))...)
			}
		}
		_, _, err := newPlan(m.files, &plan.Options{Concat: []string{"time", "x"}})
		var refused *plan.Error
		if !errors.As(err, &refused) {
			if c.option != "" {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		f := &refused.Findings[0]
		if got := reporttest.Remedies(f); !strings.HasPrefix(got, c.option+" | coords=first") || c.option == "" {
			t.Errorf("%s: the remedies are %s, want %s first", c.name, got, c.option)
			continue
		}
		opts := &plan.Options{Concat: []string{"time", "x"}}
		for _, setting := range append([]report.Setting{f.Remedies[0].Setting}, f.Remedies[0].With...) {
			s, err := plan.ParseBroadcast(setting.Value)
			if err != nil {
				t.Fatal(err)
			}
			opts.Broadcast = append(opts.Broadcast, s)
		}
		planned(t, m, opts)
	}
}

// TestBroadcastRefuses: files whose position along a broadcast dimension is unknown are refused.
func TestBroadcastRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		code report.Code
		make func(m *maker)
	}{
		{"a file without the dimension", report.BroadcastUnplaced,
			func(m *maker) { m.file("c", lat(), scalar("id", 3)) }},
		{"two files at one position with different values", report.StaticDiffers,
			func(m *maker) { m.file("c", days(2, 2), cube("u", "time", []int64{2}, []int64{2}), scalar("id", 3)) }},
		{"more text than a manifest may store", report.BroadcastTooLarge,
			func(m *maker) {
				w := words("id", "", strings.Repeat("x", 1<<20))
				w.v.Dims, w.v.Shape = nil, nil
				m.files = nil
				m.file("a", days(0, 80), w)
				m.file("b", days(80, 80), w)
			}},
	} {
		m := newMaker()
		m.day("a", 0, 2, scalar("id", 1))
		m.day("b", 2, 2, scalar("id", 2))
		c.make(m)
		_, needs, err := newPlan(m.files, &plan.Options{Broadcast: []plan.Broadcast{{Array: "id", Dim: "time"}}})
		var refused *plan.Error
		if !errors.As(err, &refused) || refused.Findings[0].Code != c.code {
			t.Errorf("%s: %v %v, want %s", c.name, needs, err, c.code)
		}
	}
	m := newMaker()
	m.day("a", 0, 2, scalar("id", 1))
	m.day("b", 2, 2, scalar("id", 2))
	m.file("c", days(2, 2), cube("u", "time", []int64{2}, []int64{2}), scalar("id", 2)) // at the position of b, with the same value
	m.file("d", days(0, 0), lat(), scalar("id", 4))                                     // has no elements
	if got := tilesOf(t, m.files, planned(t, m, &plan.Options{Broadcast: []plan.Broadcast{{Array: "id", Dim: "time"}}, Inline: new(int64(0))}), "/t"); got != "a@0+2 b@2+2" {
		t.Errorf("the tiles of t are %s", got)
	}
}

// TestBroadcastBesideNewDimensions: new dimensions come before broadcast ones, and a variable can
// be broadcast along them.
func TestBroadcastBesideNewDimensions(t *testing.T) {
	for _, c := range []struct {
		broadcast []plan.Broadcast
		dims      string
	}{
		{[]plan.Broadcast{{Array: "id", Dim: "time"}}, "[/member /time]"},
		{[]plan.Broadcast{{Array: "id", Dim: "time"}, {Array: "same", Dim: "member"}}, "[/member /time]"},
	} {
		m := newMaker()
		for member := range 2 {
			m.day(fmt.Sprint("a", member), 0, 3, scalar("id", float64(member)), scalar("same", 5))
			m.day(fmt.Sprint("b", member), 3, 3, scalar("id", float64(member+2)), scalar("same", 5))
		}
		p := planned(t, m, &plan.Options{NewDims: []plan.NewDim{{Name: "member", Pattern: `(\d)$`}}, Broadcast: c.broadcast})
		if got := fmt.Sprint(arrayOf(t, p, "/id").Dims); got != c.dims {
			t.Errorf("%v: dimensions %s", c.broadcast, got)
		}
		if got := len(arrayOf(t, p, "/same").Dims); got != len(c.broadcast)-1 {
			t.Errorf("%v: same has %d dimensions", c.broadcast, got)
		}
		data, _ := elementsOfPieces(t, arrayOf(t, p, "/id"), valuesByID(p.Values))
		if want := coords("x", "x", float64s, 0, 0, 0, 2, 2, 2, 1, 1, 1, 3, 3, 3).values.Data; !slices.Equal(data, want) {
			t.Errorf("%v: %v", c.broadcast, data)
		}
	}
}

// TestBroadcastExtends: appending broadcast values gives the same arrays as planning all files at
// once.
func TestBroadcastExtends(t *testing.T) {
	m := newMaker()
	add := func(name string, from int, id float64) {
		m.day(name, from, 4, scalar("id", id), coords("few", "c", int16s, id, id+1), bare("mask", "row", []int64{2000}, 0))
	}
	for i := range 5 {
		add(fmt.Sprint(i), 4*i, float64(i*i))
	}
	opts := &plan.Options{Rectilinear: true, Broadcast: []plan.Broadcast{{Array: "id", Dim: "time"}, {Array: "few", Dim: "time"}, {Array: "mask", Dim: "time"}}}
	base, _, err := newPlan(m.files[:3], opts)
	if err != nil || base.State == nil {
		t.Fatalf("state %v, error %v", base, err)
	}
	asked := slices.Clone(m.files[3:])
	first := *asked[0]
	first.Values = append([]*manifest.Values(nil), first.Values...)
	first.Values[len(first.Values)-3] = nil // id
	asked[0] = &first
	if _, needs, err := askedExtend(snapshotOf(base, 3), append(slices.Clip(m.files[:3]), asked...), opts); err != nil || len(needs) != 1 || needs[0].Extent != All {
		t.Errorf("the plan requests %v, want the values of id: %v", needs, err)
	}
	x, needs, err := askedExtend(snapshotOf(base, 3), m.files, opts)
	if err != nil || x == nil {
		t.Fatal(needs, err)
	}
	sameExtended(t, m, planned(t, m, opts), base, x)
}
