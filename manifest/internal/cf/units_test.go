package cf

import (
	"cmp"
	"errors"
	"strconv"
	"strings"
	"testing"

	"varve/codec"
	"varve/manifest"
)

func TestParseUnits(t *testing.T) {
	const d1990 = 7305 * 86400 // 1990-01-01
	for _, c := range []struct {
		units, calendar string
		nanoseconds     int64
		epoch           Instant
	}{
		{"days since 1970-01-01", "", day, Instant{}},
		{"Days Since 1990-1-1", "Standard", day, Instant{d1990, 0}},
		{"hour since 1990-01-01T00:00:00Z", "gregorian", 3600 * second, Instant{d1990, 0}},
		{"hours since 1990-1-1 00:00:0.0 +02:00", "", 3600 * second, Instant{d1990 - 7200, 0}},
		{"hours since 1990-1-1 00:00 -0630", "", 3600 * second, Instant{d1990 + 23400, 0}},
		{"hours since 1990-1-1 00:00 -6", "", 3600 * second, Instant{d1990 + 21600, 0}},
		{"hours since 1990-1-1 -6:30", "", 3600 * second, Instant{d1990 + 23400, 0}},
		{"seconds since 1990-01-01 12 UTC", "", second, Instant{d1990 + 43200, 0}},
		{"seconds since 1990-01-01 00:00:00 0:00", "", second, Instant{d1990, 0}},
		{"seconds since 1990-1-1 0:0:0.000 00:00", "", second, Instant{d1990, 0}},
		{"seconds since 1990-01-01 06:30:00 0:00", "", second, Instant{d1990 + 23400, 0}},
		{"seconds since 1990-01-01 06:30:00 2:00", "", second, Instant{d1990 + 16200, 0}},
		{"seconds since 1990-01-01 06:30:00 6", "", second, Instant{d1990 + 1800, 0}},
		{"seconds since 1990-01-01 00:00:00 0200", "", second, Instant{d1990 - 7200, 0}},
		{"ms since 1990-01-01 00:00:00.25", "", 1e6, Instant{d1990, 250_000_000}},
		{"nanoseconds since 1990-01-01 00:00:00.1234567899", "", 1, Instant{d1990, 123_456_789}},
		{"days since 19900101", "", day, Instant{d1990, 0}},
		{"days since 1990", "", day, Instant{d1990, 0}},
		{"days since 1990-01", "", day, Instant{d1990, 0}},
		{"  days   since  1990-01-01  ", "", day, Instant{d1990, 0}},
		{"days since 1582-10-15", "", day, Instant{gregorianStart * 86400, 0}},
		{"days since 1582-10-04", "", day, Instant{(gregorianStart - 1) * 86400, 0}},
		{"days since 1582-10-04", "proleptic_gregorian", day, Instant{(gregorianStart - 11) * 86400, 0}},
		{"days since 1582-10-04", "julian", day, Instant{(gregorianStart - 1) * 86400, 0}},
		{"days since -4713-01-01 12:00", "julian", day, Instant{-2440588*86400 + 43200, 0}},
		{"days since -4713-11-24 12:00", "proleptic_gregorian", day, Instant{-2440588*86400 + 43200, 0}},
		{"days since -4714-01-01", "", day, Instant{(-2440588 - 365) * 86400, 0}},
		{"days since 0000-01-01", "noleap", day, Instant{-1970 * 365 * 86400, 0}},
		{"days since 1971-03-01", "all_leap", day, Instant{(366 + 60) * 86400, 0}},
		{"days since 1971-02-30", "360_day", day, Instant{(360 + 59) * 86400, 0}},
		{"months since 1971-01-01", "360_day", 30 * day, Instant{360 * 86400, 0}},
		{"common_years since 1971-01-01", "noleap", 365 * day, Instant{365 * 86400, 0}},
	} {
		u, err := ParseUnits(c.units, c.calendar)
		if err != nil || u.Nanoseconds != c.nanoseconds || u.Epoch != c.epoch {
			t.Errorf("%q %q: %d ns since %v (%v), want %d since %v", c.units, c.calendar, u.Nanoseconds, u.Epoch, err, c.nanoseconds, c.epoch)
		}
	}
}

// TestParseUnitsErrors checks that errors quote the text that is wrong.
func TestParseUnitsErrors(t *testing.T) {
	for _, c := range []struct {
		units, calendar string
		names           string // what the error quotes; empty for the units
		unsupported     bool
	}{
		{"days", "", "", false},
		{"kelvin", "", "", false},
		{"months since 2000-01-01", "", "", true},
		{"years since 2000-01-01", "", `"years"`, true},
		{"common_years since 2000-01-01", "360_day", "", true},
		{"fortnights since 2000-01-01", "", `"fortnights"`, true},
		{"days since 2000-01-01", "none", `"none"`, true},
		{"days since 2000-01-01", "tai", `"tai"`, true},
		{"days since then", "", "", false},
		{"days since 0000-01-01", "", "", false},
		{"days since 0-1-1", "julian", "", false},
		{"days since 1582-10-10", "gregorian", "", false},
		{"days since 2001-02-29", "", "", false},
		{"days since 2000-02-29", "noleap", "", false},
		{"days since 2000-01-31", "360_day", "", false},
		{"days since 2000-13-01", "", "", false},
		{"days since 01-02-1990", "", "", false},
		{"days since 2000-", "", "", false},
		{"days since 2000-1-", "", "", false},
		{"days since 2000-01-01 24:00", "", "", false},
		{"days since 2000-01-01 00:60", "", "", false},
		{"days since 2000-01-01 00:", "", "", false},
		{"days since 2000-01-01 EST", "", "", false},
		{"days since 2000-01-01 00.5", "", "", false},
		{"days since 2000-01-01 +02:00 x", "", "", false},
		{"days since 99999999999-01-01", "", "", false},
	} {
		_, err := ParseUnits(c.units, c.calendar)
		names := cmp.Or(c.names, strconv.Quote(c.units))
		if err == nil || !strings.Contains(err.Error(), names) || errors.Is(err, errors.ErrUnsupported) != c.unsupported {
			t.Errorf("%q %q: got %v, want an error that quotes %s, unsupported %v", c.units, c.calendar, err, names, c.unsupported)
		}
	}
}

// TestDatesRoundTrip converts days to dates and back, in every calendar: all days from the 16th century
// on, and the days around year 1.
func TestDatesRoundTrip(t *testing.T) {
	for c := Standard; c <= Days360; c++ {
		for n := c.number(Date{-8, 1, 1}); n < c.number(Date{8, 1, 1}); n++ {
			if back, err := c.days(c.Date(n)); err != nil || back != n {
				t.Fatalf("%s: day %d is %v, which is day %d (%v)", c, n, c.Date(n), back, err)
			}
		}
		before := c.Date(-160_001)
		for n := int64(-160_000); n < 60_000; n++ {
			d := c.Date(n)
			if back, err := c.days(d); err != nil || back != n {
				t.Fatalf("%s: day %d is %v, which is day %d (%v)", c, n, d, back, err)
			}
			if !follows(before, d, c) {
				t.Fatalf("%s: %v, then %v", c, before, d)
			}
			before = d
		}
	}
}

// follows reports whether b is the day after a. In 1582, 15 October follows 4 October.
func follows(a, b Date, c Calendar) bool {
	switch {
	case c == Standard && b == Date{1582, 10, 15}:
		return a == Date{1582, 10, 4}
	case a.Year == b.Year && a.Month == b.Month:
		return b.Day == a.Day+1
	case a.Year == b.Year:
		return b.Month == a.Month+1 && b.Day == 1 && a.Day >= 28
	case b.Month != 1 || b.Day != 1 || a.Month != 12 || a.Day < 30:
		return false
	}
	return b.Year == a.Year+1 || a.Year == -1 && b.Year == 1 && !c.hasYearZero()
}

func TestFormat(t *testing.T) {
	for want, at := range map[string]Instant{
		"1970-01-01":                    {},
		"1969-12-31 23:59:59.5":         {-1, 500_000_000},
		"1970-01-02 01:02:03.000000004": {86400 + 3723, 4},
		"1582-10-04":                    {(gregorianStart - 1) * 86400, 0},
	} {
		if got := at.Format(Standard); got != want {
			t.Errorf("%v: %s, want %s", at, got, want)
		}
	}
}

func TestUnitsOf(t *testing.T) {
	text := func(name, value string) []manifest.Attribute {
		return []manifest.Attribute{{Name: name, Type: codec.Type{Kind: codec.String}, Texts: []string{value}}}
	}
	for _, c := range []struct {
		name        string
		v           manifest.Variable
		ok, isError bool
	}{
		{"times", manifest.Variable{Type: float64Type, Attributes: text("units", "days since 2000-01-01")}, true, false},
		{"durations", manifest.Variable{Type: float64Type, Attributes: text("units", "days")}, false, false},
		{"texts", manifest.Variable{Type: codec.Type{Kind: codec.String}, Attributes: text("units", "days since 2000-01-01")}, false, false},
		{"not a date", manifest.Variable{Type: float64Type, Attributes: text("units", "days since launch")}, false, true},
		{"datetime64 of seconds", manifest.Variable{Type: codec.Type{Kind: codec.DateTime, Size: 8, Unit: "s"}}, true, false},
		{"datetime64 of months", manifest.Variable{Type: codec.Type{Kind: codec.DateTime, Size: 8, Unit: "M"}}, false, true},
	} {
		if _, ok, err := UnitsOf(&c.v); ok != c.ok || (err != nil) != c.isError {
			t.Errorf("%s: %v, %v", c.name, ok, err)
		}
	}
}

func FuzzParseUnits(f *testing.F) {
	for _, units := range []string{"days since 1990-1-1 00:00:0.0 +02:00", "months since 0000-12-31", "hours since -4713-11-24T12Z",
		"s since 19900101 23:59:59.999999999999", "days since 9999999-1-1", "common_year since 1-1-1 12 -6:30"} {
		for c := Standard; c <= Days360; c++ {
			f.Add(units, c.String())
		}
	}
	f.Fuzz(func(t *testing.T, units, calendar string) {
		u, err := ParseUnits(units, calendar)
		if err != nil {
			return
		}
		u.text = ""
		again, err := ParseUnits(u.String(), u.Calendar.String())
		if err != nil || again.Epoch != u.Epoch || again.Nanoseconds != u.Nanoseconds || again.Calendar != u.Calendar {
			t.Errorf("%q (%s) is written as %q, which is %v, %v", units, calendar, u.String(), again, err)
		}
	})
}

// TestUnclearUnits checks that units whose zone programs read in different ways are written without a zone.
func TestUnclearUnits(t *testing.T) {
	for units, want := range map[string]string{
		"seconds since 2006-01-19 11:20:00 0:00": "seconds since 2006-01-19 11:20:00",
		"secs since 2006-01-19 11:20:00.5 -6:30": "seconds since 2006-01-19 17:50:00.5",
		"seconds since 2006-01-19 11:20:00 6":    "seconds since 2006-01-19 05:20:00",
		"days since 2006-01-19 00:00:00 0:00":    "",
		"days since 2006-01-19 11:20:00 +00:00":  "",
		"days since 2006-01-19 11:20:00 -0630":   "",
		"days since 2006-01-19T11:20:00Z":        "",
		"hours since 2006-01-19 11:20:00 UTC":    "",
	} {
		u, err := ParseUnits(units, "")
		if err != nil || u.Unclear() != (want != "") || u.String() != cmp.Or(want, units) {
			t.Errorf("%q: got %q, %v, unclear %v", units, u, err, u.Unclear())
		}
	}
}
