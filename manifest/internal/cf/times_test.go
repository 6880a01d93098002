package cf

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest"
)

// vector is a case of testdata/times.json, which testdata/generate.py explains.
type vector struct {
	units, calendar, kind string
	value                 json.Number
	at                    Instant
}

func (v *vector) UnmarshalJSON(raw []byte) error {
	return json.Unmarshal(raw, &[]any{&v.units, &v.calendar, &v.kind, &v.value, &v.at.Seconds, &v.at.Nanoseconds})
}

func vectors(t *testing.T) (list []vector) {
	t.Helper()
	raw, err := os.ReadFile("testdata/times.json")
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || len(list) == 0 {
		t.Fatalf("%d cases: %v", len(list), err)
	}
	return list
}

var (
	int32Type  = codec.Type{Kind: codec.Int, Size: 4}
	float32s   = codec.Type{Kind: codec.Float, Size: 4}
	vectorType = map[string]codec.Type{"i4": int32Type, "i8": int64Type, "f4": float32s, "f8": float64Type}
)

func (v vector) times(t *testing.T) Times {
	t.Helper()
	u, err := ParseUnits(v.units, v.calendar)
	if err != nil {
		t.Fatal(err)
	}
	typ := vectorType[v.kind]
	return Times{Units: u, Packing: Packing{Type: typ}, Type: typ, Elements: v.element(t)}
}

func (v vector) element(t *testing.T) []byte {
	t.Helper()
	typ := vectorType[v.kind]
	if n, err := v.value.Int64(); err == nil && typ.Kind == codec.Int {
		return AppendWord(nil, uint64(n), typ.Size)
	}
	f, err := v.value.Float64()
	if err != nil {
		t.Fatal(err)
	}
	element, _ := floatOf(typ, f)
	return element
}

// TestInstants compares instants with the results of xarray and cftime.
func TestInstants(t *testing.T) {
	for _, v := range vectors(t) {
		at, ok, err := v.times(t).Instants()
		if err != nil || !ok[0] || at[0] != v.at {
			t.Errorf("%s of %v %s (%s): %v %v %v, want %v", v.kind, v.value, v.units, v.calendar, at, ok, err, v.at)
		}
	}
}

// TestCommonReferenceKeepsInstants converts times of many units to one reference, and checks that the instants
// are the same.
func TestCommonReferenceKeepsInstants(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, 0))
	byLine := map[Calendar][]Times{}
	for _, v := range vectors(t) {
		times := v.times(t)
		line := times.Units.Calendar
		if line == Proleptic {
			line = Standard
		}
		byLine[line] = append(byLine[line], times)
	}
	tried := 0
	for line, all := range byLine {
		for range 100 {
			files := make([]Times, 2+random.IntN(3))
			for i := range files {
				files[i] = all[random.IntN(len(all))]
			}
			r, err := CommonReference(files)
			if err != nil {
				continue // no unit fits both nanoseconds and millennia
			}
			tried++
			for _, f := range files {
				if got, want := instant(t, r, f), instantOf(t, f); got != want {
					t.Fatalf("seed %d, %s: %v became %v in %q", seed, line, want, got, r.Text)
				}
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d references found", tried)
	}
}

func instantOf(t *testing.T, f Times) Instant {
	t.Helper()
	at, ok, err := f.Instants()
	if err != nil || !ok[0] {
		t.Fatal(ok, err)
	}
	return at[0]
}

// instant returns the instant to which a client decodes f after conversion to r.
func instant(t *testing.T, r Reference, f Times) Instant {
	t.Helper()
	elements, err := r.Elements(f)
	if err != nil {
		t.Fatalf("%v in %q: %v", instantOf(t, f), r.Text, err)
	}
	u, err := ParseUnits(r.Text, r.Calendar)
	if err != nil {
		t.Fatal(err)
	}
	return instantOf(t, Times{Units: u, Packing: Packing{Type: r.Type}, Type: r.Type, Elements: elements})
}

// doubles are times in float64.
func doubles(t *testing.T, units, calendar string, values ...float64) Times {
	t.Helper()
	u, err := ParseUnits(units, calendar)
	if err != nil {
		t.Fatal(err)
	}
	var elements []byte
	for _, v := range values {
		elements = AppendWord(elements, math.Float64bits(v), 8)
	}
	return Times{Units: u, Packing: Packing{Type: float64Type}, Type: float64Type, Elements: elements}
}

// integers are times in int32.
func integers(t *testing.T, units, calendar string, values ...int32) Times {
	t.Helper()
	times := doubles(t, units, calendar)
	times.Type, times.Packing.Type = int32Type, int32Type
	for _, v := range values {
		times.Elements = AppendWord(times.Elements, uint64(v), 4)
	}
	return times
}

// TestCommonReference checks the units and the elements of times of files with different units.
func TestCommonReference(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name           string
		files          []Times
		text, calendar string
		typ            codec.Type
		values         [][]int64
	}{
		{"equal units", []Times{integers(t, "hours since 1900-1-1", "", 1, 2), integers(t, "hours since 1900-01-01 00:00", "gregorian", 3)},
			"hours since 1900-1-1", "standard", int32Type, [][]int64{{1, 2}, {3}}},
		{"calendars that agree after 1582", []Times{integers(t, "hours since 1900-1-1", "proleptic_gregorian", 1), integers(t, "hours since 1900-1-1", "standard", 3)},
			"hours since 1900-1-1", "", int32Type, [][]int64{{1}, {3}}},
		{"epochs differ", []Times{integers(t, "hours since 2001-05-04", "", 0, 3), integers(t, "hours since 2001-05-03", "", 3, 6)},
			"hours since 2001-05-03", "standard", int64Type, [][]int64{{24, 27}, {3, 6}}},
		{"units differ", []Times{integers(t, "hours since 2001-05-03", "", 0, 24), doubles(t, "days since 2001-05-03", "", 0.125, 2)},
			"hours since 2001-05-03", "standard", int64Type, [][]int64{{0, 24}, {3, 48}}},
		{"whole days", []Times{integers(t, "hours since 2001-05-03", "noleap", 0, 24), doubles(t, "days since 2001-05-04", "365_day", 7)},
			"days since 2001-05-03", "noleap", int64Type, [][]int64{{0, 1}, {8}}},
		{"epochs with a time of day", []Times{integers(t, "days since 2001-05-03 06:00", "", 0), integers(t, "days since 2001-05-04 18:30", "", 0)},
			"minutes since 2001-05-03", "standard", int64Type, [][]int64{{360}, {2550}}},
		{"epoch out of the range of datetime64", []Times{doubles(t, "days since 0001-01-01", "", 730000.25), doubles(t, "hours since 2000-01-01", "", 1)},
			"hours since 1999-09-02", "standard", int64Type, [][]int64{{6}, {2905}}},
		{"a missing time", []Times{doubles(t, "days since 2001-05-03", "", nan, 1), integers(t, "hours since 2001-05-03", "", 24)},
			"days since 2001-05-03", "standard", int64Type, [][]int64{{math.MinInt64, 1}, {1}}},
		{"months of 30 days", []Times{integers(t, "months since 2001-01-01", "360_day", 1), integers(t, "days since 2001-01-01", "360_day", 31)},
			"days since 2001-01-01", "360_day", int64Type, [][]int64{{30}, {31}}},
		{"no times", []Times{integers(t, "hours since 2001-05-04", ""), doubles(t, "days since 2001-05-03", "")},
			"days since 2001-05-03", "standard", int64Type, [][]int64{nil, nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := CommonReference(c.files)
			if err != nil {
				t.Fatal(err)
			}
			if r.Text != c.text || c.calendar != "" && r.Calendar != c.calendar || !r.Type.Equal(c.typ) {
				t.Errorf("%q, %s, %s; want %q, %s, %s", r.Text, r.Calendar, r.Type, c.text, c.calendar, c.typ)
			}
			for i, f := range c.files {
				elements, err := r.Elements(f)
				if err != nil {
					t.Fatal(err)
				}
				var got []int64
				for b := range slices.Chunk(elements, r.Type.Size) {
					got = append(got, int64(Extend(r.Type, b)))
				}
				if !slices.Equal(got, c.values[i]) {
					t.Errorf("file %d: %v, want %v", i, got, c.values[i])
				}
			}
		})
	}
}

// TestCalendarError checks that times of two calendars are not converted to one reference.
func TestCalendarError(t *testing.T) {
	_, err := CommonReference([]Times{integers(t, "days since 2000-01-01", "", 1), integers(t, "days since 2000-01-01", "gregorian", 1),
		integers(t, "days since 2000-01-01", "noleap", 1)})
	var conflict *CalendarError
	if !errors.As(err, &conflict) || conflict.File != 2 || conflict.B != NoLeap {
		t.Errorf("%v", err)
	}
}

// TestReferenceErrors checks that a time that the reference cannot represent exactly is an error.
func TestReferenceErrors(t *testing.T) {
	hours, err := NewReference("hours since 2000-01-01", "", int64Type, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, times := range map[string]Times{
		"half an hour": integers(t, "minutes since 2000-01-01", "", 30),
		"no time":      doubles(t, "hours since 2000-01-02", "", math.NaN()),
		"out of range": doubles(t, "days since 2000-01-02", "", 1e300),
	} {
		if _, err := hours.Elements(times); err == nil {
			t.Errorf("%s: conversion succeeds, want an error", name)
		}
	}
}

// TestFloatReference checks that times keep their instants in a reference of floats.
func TestFloatReference(t *testing.T) {
	days, err := NewReference("days since 2000-01-01", "", float64Type, nil)
	if err != nil {
		t.Fatal(err)
	}
	// No float64 is a third of a day exactly, so each needs the one that is truncated to it.
	for n := range int32(2000) {
		f := integers(t, "hours since 2000-01-02", "", n)
		if got, want := instant(t, days, f), instantOf(t, f); got != want {
			t.Fatalf("hour %d: %v, want %v", n, got, want)
		}
	}
}

// TestCommonReferenceOfUnits checks the units of a reference that is made without looking at times.
func TestCommonReferenceOfUnits(t *testing.T) {
	parse := func(units string) Units {
		u, err := ParseUnits(units, "")
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, c := range []struct {
		name           string
		units          []Units
		whole, missing bool
		want           string
		typ            codec.Type
	}{
		{"days", []Units{parse("days since 2000-01-01"), parse("days since 1999-01-01")}, true, false, "days since 1999-01-01", int64Type},
		{"hours", []Units{parse("days since 2000-01-01 06:00"), parse("days since 1999-01-01")}, true, true, "hours since 1999-01-01", int64Type},
		{"a quarter", []Units{parse("days since 2000-01-01 06:15"), parse("hours since 1999-01-01")}, true, false, "minutes since 1999-01-01", int64Type},
		{"floats", []Units{parse("days since 2000-01-01"), parse("hours since 1999-01-01")}, false, true, "nanoseconds since 1970-01-01", int64Type},
	} {
		r, err := CommonReferenceOfUnits(c.units, c.whole, c.missing)
		if err != nil || r.Text != c.want || !r.Type.Equal(c.typ) || (r.Fill != nil) != c.missing {
			t.Errorf("%s: %v, %v; want %q", c.name, r, err, c.want)
		}
	}
}

// TestBoundsInheritUnits checks that bounds of times without units get the units of the times.
func TestBoundsInheritUnits(t *testing.T) {
	text := func(name, value string) manifest.Attribute {
		return manifest.Attribute{Name: name, Type: codec.Type{Kind: codec.String}, Texts: []string{value}}
	}
	h := &manifest.Header{Variables: []*manifest.Variable{
		{Path: "/g/time", Type: float64Type, Attributes: []manifest.Attribute{text("units", "days since 2000-01-01"), text("calendar", "noleap"), text("bounds", "time_bnds")}},
		{Path: "/g/time_bnds", Type: float64Type, Attributes: []manifest.Attribute{text("long_name", "edges")}},
		{Path: "/time_bnds", Type: float64Type},
		{Path: "/g/h/time_bnds", Type: float64Type},
	}}
	parents := ParentsOf(h)
	for i, want := range []bool{true, true, false, false} {
		u, ok, err := UnitsOf(parents.Bounds(h.Variables[i]))
		if err != nil || ok != want || ok && u.Calendar != NoLeap {
			t.Errorf("variable %d: %v %v %v, want %v", i, u, ok, err, want)
		}
	}
	if len(h.Variables[1].Attributes) != 1 {
		t.Error("Bounds changed the header")
	}
}

func BenchmarkCommonReference(b *testing.B) {
	const n = 100_000
	var elements []byte
	for i := range n {
		elements = AppendWord(elements, math.Float64bits(float64(i)/8), 8)
	}
	u, err := ParseUnits("days since 2000-01-01", "")
	if err != nil {
		b.Fatal(err)
	}
	from := Times{Units: u, Packing: Packing{Type: float64Type}, Type: float64Type, Elements: elements}
	u.Epoch.Seconds += 86400
	other := from
	other.Units = u
	b.SetBytes(2 * 8 * n)
	b.ReportAllocs()
	for b.Loop() {
		r, err := CommonReference([]Times{from, other})
		if err == nil {
			_, err = r.Elements(from)
		}
		if err == nil {
			_, err = r.Elements(other)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
