package planner

import (
	"encoding/binary"
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
	"varve/manifest/internal/planner/internal/equal"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// summarized plans files whose coordinates are provided only on request, and as summaries if they
// are large.
func summarized(t *testing.T, files []*manifest.File, opts plan.Options, valueBytes int64) (*Plan, []*manifest.File, error) {
	t.Helper()
	opts.ValueBytes = valueBytes
	left := make([]*manifest.File, len(files))
	for i, f := range files {
		c := *f
		c.Values = slices.Clone(f.Values)
		for k, v := range c.Values {
			if v != nil && int64(len(v.Data)) > valueBytes {
				c.Values[k] = nil
			}
		}
		left[i] = &c
	}
	for range 10 {
		p, needs, err := newPlan(left, &opts)
		if len(needs) == 0 {
			return p, left, err
		}
		for _, n := range needs {
			values := files[n.File].Values[n.Variable]
			if values == nil {
				return nil, left, nil // the test has no values of this variable
			}
			switch n.Extent {
			case All:
				if int64(len(values.Data)) > valueBytes {
					t.Fatalf("%s: the plan requests %d bytes of %s", files[n.File].URL, len(values.Data), files[n.File].Header.Variable(n.Variable).Path)
				}
			case Sum:
				values = values.Sum()
			case ForComparison:
			default:
				values = gauged(t, files[n.File].Header.Expand(), n.Variable, values)
			}
			left[n.File].Values[n.Variable] = values
		}
	}
	t.Fatal("the plan still requests values after 10 rounds")
	return nil, nil, nil
}

// gauged summarizes values that are added one element at a time.
func gauged(t *testing.T, h *manifest.Header, variable int, values *manifest.Values) *manifest.Values {
	t.Helper()
	g, err := NewGauge(h, variable)
	if err != nil {
		t.Fatal(err)
	}
	for one := range slices.Chunk(values.Data, h.Variables[variable].Type.Size) {
		if err := g.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	got := g.Values()
	if got.ID != equal.IDOf(values) {
		t.Errorf("%s: the ID is %s, want %s", h.Variables[variable].Path, got.ID, equal.IDOf(values))
	}
	if again := manifest.ParseSummary(got.Summary.String()); again.String() != got.Summary.String() {
		t.Errorf("the summary %s is parsed as %s", got.Summary, again)
	}
	return got
}

// places describes the placements and schemas of all arrays except coordinates.
func places(files []*manifest.File, p *Plan) string {
	var b strings.Builder
	for _, a := range p.Arrays {
		if slices.Equal(a.Dims, []string{a.Path}) {
			fmt.Fprintln(&b, a.Path, a.Schema.Shape)
			continue
		}
		doc, err := a.Schema.Encode(0)
		fmt.Fprintln(&b, a.Path, string(doc), err, a.Dims)
		for _, w := range p.Placements {
			if w.ID != a.Placement {
				continue
			}
			for _, tile := range w.Tiles {
				fmt.Fprintln(&b, " ", files[tile.File].URL, tile.Origin, tile.Start, tile.Shape)
			}
		}
	}
	return b.String()
}

// TestSummaries: a plan from summaries equals the plan from values, or is refused with a remedy that
// reads the values. If the plan from values is refused, the plan from summaries is refused, too.
func TestSummaries(t *testing.T) {
	same, refused, offered, tried := 0, 0, 0, 0
	for seed := range soak.Seeds(t, 150) {
		tried++
		r := rand.New(rand.NewPCG(seed, 3))
		m, opts := newMaker(), plan.Options{Coords: []plan.Coords{plan.CoordsEqual, plan.CoordsFirst}[r.IntN(2)],
			Overlap: []plan.Overlap{plan.OverlapRefuse, plan.OverlapFirst, plan.OverlapLast}[r.IntN(3)], Pad: []plan.Pad{plan.PadRefuse, plan.PadFill}[r.IntN(2)]}
		if r.IntN(3) == 0 {
			m, opts = newCuts(r).m, plan.Options{}
		} else {
			messy(r, m)
		}
		valueBytes := 1 + r.Int64N(16)
		want, needs, wantErr := newPlan(m.files, &opts)
		if len(needs) > 0 || len(m.files) == 0 {
			continue
		}
		got, _, err := summarized(t, m.files, opts, valueBytes)
		var no *plan.Error
		switch {
		case err == nil && got == nil:
		case err == nil && wantErr != nil:
			t.Fatalf("seed %d: planned from summaries, but refused with values: %v", seed, wantErr)
		case err == nil:
			same++
			if a, b := places(m.files, got), places(m.files, want); a != b {
				t.Fatalf("seed %d, %d bytes:\n%s", seed, valueBytes, firstDifference(a, b))
			}
		case !errors.As(err, &no):
			t.Fatalf("seed %d: %v", seed, err)
		case wantErr != nil:
			refused++
		default:
			offered++
			if !strings.Contains(reporttest.Remedies(&no.Findings[0]), "value-bytes=") {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
	}
	t.Logf("%d equal plans, %d refused either way, %d refused only from summaries", same, refused, offered)
	if (same < tried/6 || refused < tried/30 || offered < tried/120) && !soak.Selected() {
		t.Error("one of these cases is too rare to test it")
	}
}

// numbersOf encodes numbers of a type.
func numbersOf(t codec.Type, list ...float64) *manifest.Values {
	return coords("x", "x", t, list...).values
}

// TestMeant: equal numbers have equal digests, whatever their types, and different numbers have
// different digests.
func TestMeant(t *testing.T) {
	uint64s := codec.Type{Kind: codec.Uint, Size: 8}
	words := func(list ...uint64) *manifest.Values {
		v := &manifest.Values{}
		for _, u := range list {
			v.Data = binary.LittleEndian.AppendUint64(v.Data, u)
		}
		return v
	}
	packed := func(scale float64) []manifest.Attribute {
		return []manifest.Attribute{{Name: "scale_factor", Type: float64s, Data: binary.LittleEndian.AppendUint64(nil, math.Float64bits(scale)), Scalar: true}}
	}
	fill := func(t codec.Type, x float64) []manifest.Attribute {
		return []manifest.Attribute{{Name: "_FillValue", Type: t, Data: numbersOf(t, x).Data, Scalar: true}}
	}
	const far = 1 << 53
	type one struct {
		t          codec.Type
		attributes []manifest.Attribute
		values     *manifest.Values
	}
	for _, c := range []struct {
		name string
		a, b one
		want bool
	}{
		{"whole numbers in floats", one{int16s, nil, numbersOf(int16s, 1, -2)}, one{float32s, nil, numbersOf(float32s, 1, -2)}, true},
		{"zeros of both signs", one{float32s, nil, numbersOf(float32s, 0)}, one{float64s, nil, numbersOf(float64s, math.Copysign(0, -1))}, true},
		{"a tenth in both floats", one{float32s, nil, numbersOf(float32s, 0.1)}, one{float64s, nil, numbersOf(float64s, 0.1)}, false},
		{"a quarter in both floats", one{float32s, nil, numbersOf(float32s, 0.25)}, one{float64s, nil, numbersOf(float64s, 0.25)}, true},
		{"packed", one{int16s, packed(0.5), numbersOf(int16s, 3, 4)}, one{float64s, nil, numbersOf(float64s, 1.5, 2)}, true},
		{"another order", one{int16s, nil, numbersOf(int16s, 1, 2)}, one{int32s, nil, numbersOf(int32s, 2, 1)}, false},
		{"a whole number that no float64 equals", one{int64s, nil, words(far + 1)}, one{float64s, nil, numbersOf(float64s, far)}, false},
		{"beyond int64", one{uint64s, nil, words(1 << 63)}, one{float64s, nil, numbersOf(float64s, 1<<63)}, true},
		{"beyond int64, and a different number", one{uint64s, nil, words(1<<63 + 1)}, one{float64s, nil, numbersOf(float64s, 1<<63)}, false},
		{"missing, with different fill values", one{int16s, fill(int16s, -9), numbersOf(int16s, 1, -9)}, one{float32s, fill(float32s, 1e20), numbersOf(float32s, 1, 1e20)}, true},
		{"missing and NaN", one{int16s, fill(int16s, -9), numbersOf(int16s, 1, -9)}, one{float64s, nil, numbersOf(float64s, 1, math.NaN())}, true},
		{"NaN with different bits", one{float32s, nil, numbersOf(float32s, math.NaN())}, one{float64s, nil, numbersOf(float64s, -math.NaN())}, true},
		{"missing and a number", one{int16s, fill(int16s, -9), numbersOf(int16s, 1, -9)}, one{float32s, nil, numbersOf(float32s, 1, -9)}, false},
	} {
		var sums [2]*manifest.Summary
		for i, x := range []one{c.a, c.b} {
			h := &manifest.Header{Variables: []*manifest.Variable{{Path: "/x", Type: x.t, Attributes: x.attributes, Dims: []string{"/x"},
				Shape: []int64{int64(len(x.values.Data) / x.t.Size)}}}}
			sums[i] = gauged(t, h, 0, x.values).Summary
		}
		if got := sums[0].Meant == sums[1].Meant; got != c.want {
			t.Errorf("%s: the digests are equal: %v, want %v", c.name, got, c.want)
		}
	}
}

// track adds a file with a long track of soundings.
func track(m *maker, name string, at wanted) {
	m.file(name, at, cube("h", strings.TrimPrefix(at.v.Dims[0], "/"), at.v.Shape, at.v.Shape))
}

// TestLargeCoordinates: summaries of large coordinates place the files, or the files are refused.
func TestLargeCoordinates(t *testing.T) {
	m64 := func(n ...int64) []int64 { return n }
	seconds := func(units string, list ...float64) wanted {
		return coords("time", "time", float64s, list...).with("units", "seconds since "+units)
	}
	for _, c := range []struct {
		name   string
		opts   plan.Options
		make   func(*maker)
		want   string // tiles of h
		refuse []string
	}{
		{"one after another, with different units", plan.Options{}, func(m *maker) {
			track(m, "b", seconds("2000-01-02", 0, 1, 2))
			track(m, "a", seconds("2000-01-01", 0, 1, 2, 3))
		}, "a@0+4 b@4+3", nil},
		{"decreasing", plan.Options{}, func(m *maker) {
			track(m, "a", seconds("2000-01-01", 3, 2, 1))
			track(m, "b", seconds("2000-01-01", 9, 8, 7))
		}, "b@0+3 a@3+3", nil},
		{"unsorted, without overlap", plan.Options{}, func(m *maker) {
			track(m, "a", seconds("2000-01-01", 3, 1, 2))
			track(m, "b", seconds("2000-01-01", 9, 7, 7.5))
		}, "a@0+3 b@3+3", nil},
		{"missing times are ignored", plan.Options{}, func(m *maker) {
			track(m, "b", seconds("2000-01-01", 7, math.NaN(), 9))
			track(m, "a", seconds("2000-01-01", math.NaN(), 2, 3))
		}, "a@0+3 b@3+3", nil},
		{"overlapping", plan.Options{Overlap: plan.OverlapFirst}, func(m *maker) {
			track(m, "a", seconds("2000-01-01", 1, 2, 3))
			track(m, "b", seconds("2000-01-01", 3, 4, 5))
		}, "", []string{"overlap-unknown", "range=a from 2000-01-01 00:00:01 to 2000-01-01 00:00:03", "value-bytes=24"}},
		{"equal cells of different types", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), coords("cell", "cell", int32s, 5, 7, 6), cube("h", "time cell", m64(2, 3), m64(2, 3)))
			m.file("b", days(2, 2), coords("cell", "cell", float64s, 5, 7, 6), cube("h", "time cell", m64(2, 3), m64(2, 3)))
		}, "a@0+2 b@2+2", nil},
		{"different cells", plan.Options{}, func(m *maker) {
			m.file("a", days(0, 2), coords("cell", "cell", float64s, 5, 7, 6), cube("h", "time cell", m64(2, 3), m64(2, 3)))
			m.file("b", days(2, 2), coords("cell", "cell", float64s, 5, 8, 6), cube("h", "time cell", m64(2, 3), m64(2, 3)))
		}, "", []string{"coordinate-differs", "other=a from 5 to 6 range=b from 5 to 6", "value-bytes=24"}},
		{"different cells, coords=first", plan.Options{Coords: plan.CoordsFirst}, func(m *maker) {
			m.file("a", days(0, 2), coords("cell", "cell", float64s, 5, 7, 6), cube("h", "time cell", m64(2, 3), m64(2, 3)))
			m.file("b", days(2, 2), coords("cell", "cell", float64s, 5, 8, 6), cube("h", "time cell", m64(2, 3), m64(2, 3)))
		}, "a@0+2 b@2+2", nil},
		{"the same cells in another order", plan.Options{Coords: plan.CoordsFirst}, func(m *maker) {
			m.file("a", days(0, 2), coords("cell", "cell", float64s, 5, 7, 6), cube("h", "time cell", m64(2, 3), m64(2, 3)))
			m.file("b", days(2, 2), coords("cell", "cell", float64s, 5, 6, 7), cube("h", "time cell", m64(2, 3), m64(2, 3)))
		}, "", []string{"coordinate-permuted"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			c.make(m)
			p, files, err := summarized(t, m.files, c.opts, 9)
			if c.refuse != nil {
				f := refusals(t, err)[0]
				got := fmt.Sprint(f.Code, " ", reporttest.Facts(&f), " ", reporttest.Remedies(&f))
				for _, want := range c.refuse {
					if !strings.Contains(got, want) {
						t.Errorf("the finding is %s, without %q", got, want)
					}
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, files, p)
			if got := tilesOf(t, files, p, "/h"); got != c.want {
				t.Errorf("tiles %s\n not %s", got, c.want)
			}
			for _, a := range p.Arrays {
				if a.Path == "/cell" && (len(a.Pieces) > 0 || a.Placement == "") {
					t.Errorf("the values of %s are stored in the manifest", a.Path)
				}
			}
			for _, f := range p.Report.Findings {
				if f.Effect == report.Refused {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}
