package grib

import (
	"fmt"
	"strconv"
	"time"

	"varve/readers/grib/internal/concepts"
)

// Step is the time of a field after its reference time: a moment, or a range.
type Step struct {
	Start, End time.Duration
	Unit       string // in which ecCodes gives it: h, m or s
	units      time.Duration
}

// StartText and EndText are the ends as ecCodes writes them.
func (s Step) StartText() string { return s.text(s.Start) }

// EndText is StartText of the end.
func (s Step) EndText() string { return s.text(s.End) }

// Range is what ecCodes calls stepRange.
func (s Step) Range() string {
	if s.Start == s.End {
		return s.EndText()
	}
	return s.StartText() + "-" + s.EndText()
}

func (s Step) text(d time.Duration) string {
	n := strconv.FormatInt(int64(d/s.units), 10)
	if s.Unit == "h" {
		return n
	}
	return n + s.Unit
}

// day and month are units of time as ecCodes counts them.
const (
	day   = 24 * time.Hour
	month = 30 * day
	year  = 365 * day
)

// units2 are the units of code table 4.4 of edition 2.
var units2 = map[int64]time.Duration{
	0: time.Minute, 1: time.Hour, 2: day, 3: month, 4: year, 5: 10 * year, 6: 30 * year, 7: 100 * year, 10: 3 * time.Hour, 11: 6 * time.Hour,
	12: 12 * time.Hour, 13: time.Second, 14: 15 * time.Minute, 15: 30 * time.Minute,
}

// units1 are those of code table 4 of edition 1.
var units1 = map[int64]time.Duration{
	0: time.Minute, 1: time.Hour, 2: day, 3: month, 10: 3 * time.Hour, 11: 6 * time.Hour, 12: 12 * time.Hour, 13: 15 * time.Minute,
	14: 30 * time.Minute, 15: time.Second, 254: time.Second,
}

// unitNames are the units in which steps are given.
var unitNames = map[time.Duration]string{time.Hour: "h", time.Minute: "m", time.Second: "s", day: "D", month: "M", 3 * time.Hour: "3h", 6 * time.Hour: "6h", 12 * time.Hour: "12h", 15 * time.Minute: "15m", 30 * time.Minute: "30m"}

// StepType is what ecCodes calls the kind of statistic over time: instant, accum, avg, max and so on.
func (f *Field) StepType() string {
	if f.Edition == 1 {
		if name, ok := concepts.Find("stepType", f, concepts.List{Folder: "grib1/localConcepts/" + f.Centre()}, concepts.List{Folder: "grib1"}); ok {
			return name
		}
		return strconv.Itoa(int(f.identification[20]))
	}
	n, ok := f.param.Int("typeOfStatisticalProcessing")
	if !ok || f.Grid == nil || f.Grid.Type == unknown { // ecCodes reads no further than a grid that it does not know
		return "instant"
	}
	if increment, _ := f.param.Int("typeOfTimeIncrement"); n == 0 && increment == 1 && f.variant() == ".lte33" {
		return "avgd"
	}
	if name := statistics[n]; name != "" {
		return name
	}
	return strconv.FormatInt(n, 10)
}

var statistics = map[int64]string{
	255: "instant", 0: "avg", 1: "accum", 2: "max", 3: "min", 4: "diff", 5: "rms", 6: "sd", 7: "cov", 8: "sdiff", 9: "ratio", 10: "stdanom", 11: "sum",
	100: "severity", 101: "mode", 102: "index",
}

// duration returns n units, or false if that is no duration.
func duration(n int64, unit time.Duration, ok bool) (time.Duration, bool) {
	const most = 1 << 62
	if !ok || unit == 0 || n > most/int64(unit) || n < -most/int64(unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// Step returns the step of a field, or false if it has none or none that makes sense.
func (f *Field) Step() (Step, bool) {
	if f.Edition == 1 {
		return f.step1()
	}
	start, unit, ok := f.stepPart("forecastTime", "indicatorOfUnitForForecastTime", 0)
	if !ok {
		return Step{}, false
	}
	s := Step{Start: start, End: start, units: best(start, unit)}
	ranges, has := f.param.Int("numberOfTimeRanges")
	if has && ranges > 2 {
		return Step{}, false
	}
	if has {
		length, ok := f.timeRange(int(ranges))
		if !ok {
			return Step{}, false
		}
		s.End = start + length
		first, firstLength := f.firstRange()
		s.units = common(start, s.units, start+firstLength, best(start+firstLength, first))
	}
	s.Unit = unitNames[s.units]
	return s, true
}

func (f *Field) firstRange() (unit, length time.Duration) {
	length, unit, _ = f.stepPart("lengthOfTimeRange", "indicatorOfUnitForTimeRange", 0)
	return unit, length
}

// timeRange is the length of the statistic: that of the only range, or of the first that goes with the lead time.
func (f *Field) timeRange(ranges int) (length time.Duration, ok bool) {
	for i := range ranges {
		increment, _ := f.param.IntAt("typeOfTimeIncrement", i)
		if ranges > 1 && increment != 2 {
			continue
		}
		length, _, ok = f.stepPart("lengthOfTimeRange", "indicatorOfUnitForTimeRange", i)
		if ranges == 1 && increment == 1 && f.variant() == ".lte33" {
			length = 0 // the same hours of several days: not a range of steps
		}
		return length, ok
	}
	return 0, false
}

func (f *Field) stepPart(value, unit string, nth int) (d, of time.Duration, ok bool) {
	n, ok := f.param.IntAt(value, nth)
	code, _ := f.param.IntAt(unit, nth)
	of = units2[code]
	d, ok = duration(n, of, ok)
	return d, of, ok
}

// best is the unit in which a duration is given: the longest up to an hour that has no remainder.
func best(d, unit time.Duration) time.Duration {
	if d == 0 {
		return min(unit, time.Hour)
	}
	for _, u := range []time.Duration{time.Hour, time.Minute, time.Second} {
		if d%u == 0 {
			return u
		}
	}
	return time.Second
}

// common is the unit in which two durations are given together, of which each has a unit of its own.
func common(a, aUnit, b, bUnit time.Duration) time.Duration {
	switch {
	case a == 0 && b == 0:
		return max(aUnit, bUnit)
	case b == 0:
		return aUnit
	case a == 0:
		return bUnit
	}
	return min(aUnit, bUnit)
}

// points1 are the kinds of statistics of edition 1 of which ecCodes gives the first step alone.
var points1 = map[string]bool{"instant": true, "avgfc": true, "avgua": true, "avgia": true, "varins": true}

// ranges1 are those that have a range.
var ranges1 = map[string]bool{
	"accum": true, "avg": true, "min": true, "max": true, "rms": true, "diff": true, "avgas": true, "avgad": true, "avgid": true, "varas": true, "varad": true,
}

// longP1 is the time range indicator that says that P1 has both octets.
const longP1 = 10

func (f *Field) step1() (Step, bool) {
	p1, _ := f.ident.Int("P1")
	p2, _ := f.ident.Int("P2")
	indicator, _ := f.ident.Int("timeRangeIndicator")
	code, _ := f.ident.Int("unitOfTimeRange")
	kind := f.StepType()
	unit := units1[code]
	switch {
	case unit == 0 || !points1[kind] && !ranges1[kind]:
		return Step{}, false
	case indicator == longP1:
		p1 = p1<<8 | p2
		p2 = p1
	case kind == "instant":
		p2 = p1
	case kind == "accum" && indicator == 0:
		p1, p2 = 0, p1
	case points1[kind]:
		p2 = p1
	}
	s := Step{Start: time.Duration(p1) * unit, End: time.Duration(p2) * unit, units: time.Hour}
	if s.Start%time.Hour != 0 || s.End%time.Hour != 0 {
		s.units = unit
	}
	s.Unit = unitNames[s.units]
	return s, true
}

// Reference returns the reference time, or an error if it is none.
func (f *Field) Reference() (time.Time, error) {
	var t [6]int
	for i, key := range []string{"year", "month", "day", "hour", "minute", "second"} {
		n, _ := f.ident.Int(key)
		t[i] = int(n)
	}
	if f.Edition == 1 {
		century, _ := f.ident.Int("centuryOfReferenceTimeOfData")
		of, _ := f.ident.Int("yearOfCentury")
		t[0] = int((century-1)*100 + of)
	}
	when := time.Date(t[0], time.Month(t[1]), t[2], t[3], t[4], t[5], 0, time.UTC)
	if t[1] < 1 || t[1] > 12 || t[2] < 1 || when.Day() != t[2] && t[3] < 24 || t[3] > 24 || t[4] > 59 || t[5] > 60 {
		return when, fmt.Errorf("%04d-%02d-%02d %02d:%02d:%02d is no time", t[0], t[1], t[2], t[3], t[4], t[5])
	}
	return when, nil
}

// Valid returns when a field is valid: at the end of its step, or of the range of time that it is a statistic of.
func (f *Field) Valid() (time.Time, bool) {
	if y, ok := f.param.Int("yearOfEndOfOverallTimeInterval"); ok {
		var t [5]int
		for i, key := range []string{"month", "day", "hour", "minute", "second"} {
			n, _ := f.param.Int(key + "OfEndOfOverallTimeInterval")
			t[i] = int(n)
		}
		return time.Date(int(y), time.Month(t[0]), t[1], t[2], t[3], t[4], 0, time.UTC), true
	}
	s, ok := f.Step()
	when, err := f.Reference()
	return when.Add(s.End), ok && err == nil
}
