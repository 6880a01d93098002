package present

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
)

// TestSlice: indices, slices and lists follow Python's rules.
func TestSlice(t *testing.T) {
	for _, c := range []struct {
		text           string
		from, to, step int64
		list           []int64
		single, bad    bool
	}{
		{text: "3", from: 3, to: 4, step: 1, single: true},
		{text: "-1", from: 9, to: 10, step: 1, single: true},
		{text: "0:10", from: 0, to: 10, step: 1},
		{text: ":", from: 0, to: 10, step: 1},
		{text: "2:", from: 2, to: 10, step: 1},
		{text: ":-3", from: 0, to: 7, step: 1},
		{text: "-3:", from: 7, to: 10, step: 1},
		{text: "-99:2", from: 0, to: 2, step: 1},
		{text: "1:99", from: 1, to: 10, step: 1},
		{text: "8:2", from: 8, to: 8, step: 1},
		{text: "20:30", from: 10, to: 10, step: 1},
		{text: "::3", from: 0, to: 10, step: 3},
		{text: "::9223372036854775807", from: 0, to: 10, step: 1<<63 - 1},
		{text: "::-1", from: 9, to: -1, step: -1},
		{text: "::-3", from: 9, to: -1, step: -3},
		{text: "7:2:-2", from: 7, to: 2, step: -2},
		{text: "-3:1:-1", from: 7, to: 1, step: -1},
		{text: ":4:-1", from: 9, to: 4, step: -1},
		{text: "4::-1", from: 4, to: -1, step: -1},
		{text: "99:-99:-1", from: 9, to: -1, step: -1},
		{text: "2:8:-1", from: 2, to: 2, step: 1},
		{text: "::-9223372036854775808", from: 9, to: -1, step: -1 << 63},
		{text: "[1,5,3]", list: []int64{1, 5, 3}},
		{text: "[-1, 0,0]", list: []int64{9, 0, 0}},
		{text: "[3]", list: []int64{3}},
		{text: "[]", list: []int64{}},
		{text: "[1,", bad: true},
		{text: "[1,,2]", bad: true},
		{text: "[10]", bad: true},
		{text: "[1:3]", bad: true},
		{text: "10", bad: true},
		{text: "-11", bad: true},
		{text: "x", bad: true},
		{text: "1:2:3:4", bad: true},
		{text: "::0", bad: true},
	} {
		x := Axis{To: 10, Step: 1}
		err := x.slice(c.text)
		if (err != nil) != c.bad {
			t.Errorf("%s: error %v", c.text, err)
			continue
		}
		want := Axis{From: c.from, To: c.to, Step: c.step, Single: c.single}
		if c.list != nil {
			want = Axis{To: 10, Step: 1, List: c.list}
		}
		if err == nil && !reflect.DeepEqual(x, want) {
			t.Errorf("%s: got %+v, want %+v", c.text, x, want)
		}
	}
}

// TestTimeQuery: ranges of times are split at the correct colon, and shortened times select several values.
func TestTimeQuery(t *testing.T) {
	l := &timeLabels{precision: hours}
	for text, want := range map[string][2]string{
		"2010-01:2010-02":                      {"2010-01", "2010-02"},
		"2010:2011":                            {"2010", "2011"},
		"2010-01-01T12:00:2010-01-01T18:00":    {"2010-01-01T12:00", "2010-01-01T18:00"},
		"2010-01-01 06:00:00:2010-01-02 06:00": {"2010-01-01 06:00:00", "2010-01-02 06:00"},
		":2010-02":                             {"", "2010-02"},
		"2010-02:":                             {"2010-02", ""},
		":":                                    {"", ""},
	} {
		if q := l.query(text); !q.isRange || q.from != want[0] || q.to != want[1] {
			t.Errorf("%s: %+v", text, q)
		}
	}
	for text, several := range map[string]bool{"2010": true, "2010-02": true, "2010-02-03": true, "2010-02-03T06": false, "2010-01-01T12:00": false, "2010-01-01T12:00:30": false} {
		if q := l.query(text); q.isRange || q.several != several {
			t.Errorf("%s: %+v", text, q)
		}
	}
}

// TestSpan: a shortened date covers its whole year, month, day, hour, minute or second.
func TestSpan(t *testing.T) {
	for text, want := range map[string][2]string{
		"2010":                  {"2010-01-01", "2011-01-01"},
		"2010-02":               {"2010-02-01", "2010-03-01"},
		"2010-12":               {"2010-12-01", "2011-01-01"},
		"2012-02-29":            {"2012-02-29", "2012-03-01"},
		"2010-02-03T06":         {"2010-02-03 06:00:00", "2010-02-03 07:00:00"},
		"2010-02-03 06:30":      {"2010-02-03 06:30:00", "2010-02-03 06:31:00"},
		"2010-02-03 06:30:59":   {"2010-02-03 06:30:59", "2010-02-03 06:31:00"},
		"2010-02-03 06:30:59.5": {"2010-02-03 06:30:59.5", "2010-02-03 06:30:59.500000001"},
	} {
		first, after, err := span(text, cf.Standard)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := [2]string{first.Format(cf.Standard), after.Format(cf.Standard)}; got != want {
			t.Errorf("%s: %v, not %v", text, got, want)
		}
	}
	if first, after, err := span("2010-02", cf.Days360); err != nil || after.Seconds-first.Seconds != 30*86400 {
		t.Errorf("February of 360 days: %v, %v, %v", first, after, err)
	}
	for _, text := range []string{"yesterday", "2010-13", "2011-02-29"} {
		if _, _, err := span(text, cf.Standard); err == nil {
			t.Errorf("%s was accepted as a date", text)
		}
	}
}

// axesOf formats axes as from:to, or as an index if one index is selected.
func axesOf(s *Selection) string {
	var out []string
	for _, x := range s.Axes {
		text := fmt.Sprintf("%d:%d", x.From, x.To)
		if x.Single {
			text = fmt.Sprint(x.From)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestSelect: selections by index and by coordinate, and the errors of invalid ones.
func TestSelect(t *testing.T) {
	st := built(t, threeMonths(t, "standard"))
	for _, c := range []struct{ isel, sel, want, bad string }{
		{want: "0:12 0:3 0:4"},
		{isel: "time=-1,lon=::2", want: "11 0:3 0:4"},
		{sel: "lat=10.1", want: "0:12 0 0:4"},
		{sel: "lat=0:10.1", want: "0:12 0:2 0:4"},
		{sel: "lat=10.1:0", want: "0:12 0:2 0:4"},
		{sel: "lat=0:", want: "0:12 1:3 0:4"},
		{sel: "lat=:0", want: "0:12 0:2 0:4"},
		{sel: "lat=50:60", want: "0:12 0:0 0:4"},
		{sel: "lon=90:180,time=2010-02", want: "4:12 0:3 1:3"},
		{sel: "time=2010-01:2010-01", want: "0:4 0:3 0:4"},
		{sel: "time=2010-02-01T12:00", want: "4 0:3 0:4"},
		{sel: "time=2010-02-01T12", want: "4 0:3 0:4"},
		{sel: "time=2010-02-01", want: "4:5 0:3 0:4"},
		{sel: "time=2010-02-01:", want: "4:12 0:3 0:4"},
		{sel: "time=2010-02-03:2010-01-31", want: "3:7 0:3 0:4"},
		{sel: "time=2011:2012", want: "0:0 0:3 0:4"},
		{isel: "time=0", sel: "time=2010", bad: "time=2010"},
		{sel: "lat=10", bad: "label 10 of /lat, near true: [0 10.1]"},
		{sel: "lon=300", bad: "label 300 of /lon, near true: [270]"},
		{sel: "lat=north", bad: "lat=north"},
		{sel: "time=2011", bad: "label 2011 of /time, near true: [2010-02-08 12:00:00]"},
		{sel: "time=2010-02-01T13:00", bad: "label 2010-02-01T13:00 of /time, near true: [2010-02-01 12:00:00 2010-02-02 12:00:00]"},
		{sel: "time=soon", bad: "time=soon"},
		{sel: "area=3", bad: "use [{isel lat=INDEX,lon=INDEX}]"},
		{sel: "flags=3", bad: "use [{isel lat=INDEX}]"},
		{sel: "depth=3", bad: "dimension depth of /sst: [time lat lon]"},
		{isel: "depth=3", bad: "dimension depth of /sst: [time lat lon]"},
		{isel: "time", bad: "time"},
		{isel: "time=12", bad: "time=12"},
	} {
		s := Whole(arrayOf(t, st, "sst"))
		err := s.ByIndex(split(c.isel))
		if err == nil {
			err = s.ByCoordinate(t.Context(), st, split(c.sel))
		}
		var wrong *SelectionError
		switch {
		case c.bad != "" && (!errors.As(err, &wrong) || factsOf(wrong) != c.bad):
			t.Errorf("%s %s: %v, not %s", c.isel, c.sel, err, c.bad)
		case c.bad == "" && err != nil:
			t.Errorf("%s %s: %v", c.isel, c.sel, err)
		case c.bad == "" && axesOf(s) != c.want:
			t.Errorf("%s %s: %s, not %s", c.isel, c.sel, axesOf(s), c.want)
		}
	}
	s := Whole(arrayOf(t, st, "flags"))
	if err := s.ByCoordinate(t.Context(), st, []string{"time=2010"}); factsOf(err) != "dimension time of /flags: [lat]" {
		t.Errorf("a coordinate of a dimension that the array lacks: %v", err)
	}
}

// factsOf returns the data of an error of a selection: the labels or dimensions that exist, the option to use
// instead, or only the wrong term.
func factsOf(err error) string {
	var label *LabelError
	var dim *DimensionError
	var remedy *manifest.RemedyError
	var term *SelectionError
	switch {
	case errors.As(err, &label):
		return fmt.Sprintf("label %s of %s, near %v: %v", label.Label, label.Coordinate, label.AreNear, label.Labels)
	case errors.As(err, &dim):
		return fmt.Sprintf("dimension %s of %s: %v", dim.Dim, dim.Array, dim.Has)
	case errors.As(err, &remedy):
		return fmt.Sprintf("use %v", remedy.Remedies)
	case errors.As(err, &term):
		return term.Term
	}
	return ""
}

// split splits terms at commas. A bar stands for a comma in a list of indices.
func split(terms string) []string {
	if terms == "" {
		return nil
	}
	parts := strings.Split(terms, ",")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "|", ",")
	}
	return parts
}

// TestSelectInCalendars: a month is selected in the calendar of the times.
func TestSelectInCalendars(t *testing.T) {
	for calendar, want := range map[string]string{"noleap": "4:12", "360_day": "3:12", "all_leap": "4:12"} {
		st := built(t, threeMonths(t, calendar))
		if got, _, _ := strings.Cut(axesOf(selected(t, st, "sst", nil, []string{"time=2010-02"})), " "); got != want {
			t.Errorf("February in the calendar %s is %s, want %s", calendar, got, want)
		}
	}
}

// TestWordLabels: 64-bit integers that a float64 rounds are selected exactly, also with fractions as the ends
// of a range.
func TestWordLabels(t *testing.T) {
	for _, c := range []struct {
		kind  codec.Kind
		texts string // the labels
		query string
		want  string // the selected indices, or the nearest labels
	}{
		{codec.Int, "-5 3 1152921504606846976 1152921504606846977", "1152921504606846977", "3"},
		{codec.Int, "-5 3 1152921504606846976 1152921504606846977", "1152921504606846977:", "3"},
		{codec.Int, "-5 3 1152921504606846976 1152921504606846977", ":3.5", "0 1"},
		{codec.Int, "-5 3 1152921504606846976 1152921504606846977", "1152921504606846978", "[1152921504606846977]"},
		{codec.Int, "-5 3 1152921504606846976 1152921504606846977", "-1e3:-4.5", "0"},
		{codec.Uint, "3 9223372036854775807 9223372036854775808 18446744073709551615", "9223372036854775808", "2"},
		{codec.Uint, "3 9223372036854775807 9223372036854775808 18446744073709551615", "18446744073709551615:9223372036854775808", "2 3"},
		{codec.Uint, "3 9223372036854775807 9223372036854775808 18446744073709551615", "-1:1e30", "0 1 2 3"},
		{codec.Uint, "3 9223372036854775807 9223372036854775808 18446744073709551615", "9223372036854775809", "[9223372036854775808 18446744073709551615]"},
		{codec.Uint, "18446744073709551615 18446744073709551614 7", ":18446744073709551614", "0 1"},
	} {
		l := &numberLabels{typ: codec.Type{Kind: c.kind, Size: 8}, words: []int64{}}
		for _, text := range strings.Fields(c.texts) {
			b, err := l.parse(text)
			if err != nil || !b.whole {
				t.Fatal(text, b, err)
			}
			l.words, l.numbers = append(l.words, b.word), append(l.numbers, b.number)
		}
		q := l.query(c.query)
		matches, err := l.matcher(q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range int64(len(l.words)) {
			if matches(i) {
				got = append(got, fmt.Sprint(i))
			}
		}
		text := strings.Join(got, " ")
		if text == "" && !q.isRange {
			near, _ := l.nearest(c.query)
			text = fmt.Sprint(near)
		}
		if text != c.want {
			t.Errorf("%s of %s: got %s, want %s", c.query, c.texts, text, c.want)
		}
	}
}

// TestTextLabels: texts are selected exactly, or by range if they are sorted.
func TestTextLabels(t *testing.T) {
	sorted := &labelSet{&textLabels{[]string{"Bergen", "Oslo", "a:b"}, true}, "/station"}
	for text, want := range map[string]string{"Oslo": "1", "a:b": "2", "Oslo:": "1:3", ":Oslo": "0:2", "Bergen:Oslo": "0:2", "Oslo:Bergen": "0:0"} {
		s := &Selection{Axes: []Axis{{To: 3, Step: 1}}}
		if err := sorted.narrow(&s.Axes[0], text); err != nil || axesOf(s) != want {
			t.Errorf("%s: %s (%v), not %s", text, axesOf(s), err, want)
		}
	}
	for text, want := range map[string]string{"oslo": "label oslo of /station, near true: [Oslo]", "Rome": "label Rome of /station, near false: [Bergen Oslo a:b]",
		"Osl": "label Osl of /station, near true: [Oslo]", "Bregen:Oslo": "label Bregen of /station, near true: [Bergen]",
		"Bergen:Rome": "label Rome of /station, near false: [Bergen Oslo a:b]", "x:z": "label x of /station, near false: [Bergen Oslo a:b]"} {
		if err := sorted.narrow(&Axis{To: 3, Step: 1}, text); factsOf(err) != want {
			t.Errorf("%s: %v, not %s", text, err, want)
		}
	}
	mixed := &labelSet{&textLabels{[]string{"b", "a"}, false}, "/station"}
	if err := mixed.narrow(&Axis{To: 2, Step: 1}, "a:b"); err == nil {
		t.Error("a range of unsorted texts was accepted")
	}
}

// TestBlocks: blocks are consecutive, together hold the whole selection, and are not too large.
func TestBlocks(t *testing.T) {
	st := built(t, threeMonths(t, "standard"))
	for _, most := range []int64{1, 3, 4, 7, 12, 24, 60, 1000} {
		for _, isel := range []string{"", "time=1:10:3", "time=2,lon=1:", "lat=2:1", "time=0,lat=0,lon=0",
			"time=::-1", "time=10:1:-3,lat=::-1", "time=[3|11|0|3],lon=::-2", "time=[],lat=0", "lat=[2|1]"} {
			s := selected(t, st, "sst", split(isel), nil)
			d := decoderOf(t, s, false)
			want, err := s.read(t.Context(), codec.Elems{})
			if err != nil {
				t.Fatal(err)
			}
			var got []byte
			for b := range s.Blocks(most) {
				if b.Count() > max(most*deepest, 1) {
					t.Errorf("%s in blocks of %d: a block has %d elements", isel, most, b.Count())
				}
				e, err := b.read(t.Context(), codec.Elems{})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Fixed...)
			}
			if !slices.Equal(got, want.Fixed) {
				t.Errorf("%s in blocks of %d: %d elements of %d, or in another order", isel, most, len(got)/d.typ.Size, len(want.Fixed)/d.typ.Size)
			}
		}
	}
}
