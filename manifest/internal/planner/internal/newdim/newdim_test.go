package newdim

import (
	"encoding/binary"
	"math"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/namepattern"
)

// TestElements: the type is the first that represents all texts: times, whole numbers, floats, texts.
func TestElements(t *testing.T) {
	for _, c := range []struct {
		texts []string
		least Kind
		kind  codec.Kind
		units string
		want  []uint64 // nil for texts
	}{
		{[]string{"3", "-1"}, "", codec.Int, "", []uint64{3, math.MaxUint64}},
		{[]string{"3", "0.5"}, "", codec.Float, "", []uint64{math.Float64bits(3), math.Float64bits(0.5)}},
		{[]string{"3", "18446744073709551616"}, "", codec.String, "", nil}, // a float64 would round it
		{[]string{"a", "3"}, "", codec.String, "", nil},
		{[]string{"1970-01-02", "1970-01-03"}, "", codec.Int, "days since 1970-01-01", []uint64{1, 2}},
		{[]string{"1970-01-02", "1970-01-01T00:01"}, "", codec.Int, "seconds since 1970-01-01", []uint64{86400, 60}},
		// The kind of earlier files counts if it represents these values, too.
		{[]string{"1970-01-02"}, "seconds", codec.Int, "seconds since 1970-01-01", []uint64{86400}},
		{[]string{"1970-01-01T00:01"}, "days", codec.Int, "seconds since 1970-01-01", []uint64{60}},
		{[]string{"3"}, Numbers, codec.Float, "", []uint64{math.Float64bits(3)}},
		{[]string{"3"}, Texts, codec.String, "", nil},
	} {
		steps := map[int32]Text{}
		for i, text := range c.texts {
			steps[int32(i)] = OfText(text)
		}
		e, _, err := ElementsOf("/n", steps, c.least)
		if err != nil || e.Variable.Type.Kind != c.kind {
			t.Errorf("%q: %+v, %v", c.texts, e, err)
			continue
		}
		v, values := e.Variable, e.Values
		if a := manifest.Lookup(v.Attributes, "units"); (a == nil) != (c.units == "") || a != nil && a.Texts[0] != c.units {
			t.Errorf("%q: the units are %v, want %q", c.texts, a, c.units)
		}
		for i, text := range c.texts {
			if got := values[int32(i)]; c.want == nil && string(got.Texts[0]) != text || c.want != nil && binary.LittleEndian.Uint64(got.Data) != c.want[i] {
				t.Errorf("%q: %v", text, got)
			}
		}
	}
}

// TestMatch: the name of a file has a time, also with a year of two digits or the day of the year; invalid times are errors.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          int64 // days since 1970; -1 for an error
		short         bool
	}{
		{"%Y%m%d", "/a/x19700105.nc", 4, false},
		{`(?P<y>\d\d)(?P<m>\d\d)`, "x6902.nc", -334, true},
		{`(?P<y>\d{4})(?P<j>\d{3})`, "x1970032.nc", 31, false},
		{"%Y%m%d", "x19700230.nc", -1, false},
		{`(?P<y>\d{3})_`, "x197_.nc", -1, false},
	} {
		pattern, err := namepattern.Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		s, ok := Match(pattern, c.name)
		if !ok {
			t.Errorf("%s does not match %s", c.name, c.pattern)
			continue
		}
		e, _, err := ElementsOf("/time", map[int32]Text{0: s}, "")
		if (err != nil) != (c.want == -1) || err == nil && int64(binary.LittleEndian.Uint64(e.Values[0].Data)) != c.want {
			t.Errorf("%s: %+v, %v, want %d", c.name, e, err, c.want)
		}
		if _, _, short := s.ShortYear(); short != c.short {
			t.Errorf("%s: a short year: %v, want %v", c.name, short, c.short)
		}
	}
	pattern, _ := namepattern.Compile(`run(\d+)`)
	if _, ok := Match(pattern, "x.nc"); ok {
		t.Error("a name without the pattern matches")
	}
	if s, ok := Match(pattern, "/run7/x.nc"); !ok || s != OfText("7") {
		t.Errorf("the path of a file gives %v, %v, want 7", s, ok)
	}
}
