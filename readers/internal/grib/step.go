package grib

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"varve/readers/internal/grib/internal/concepts"
)

// Step is the time of a field after its reference time: a moment, or a range.
type Step struct {
	Start, End time.Duration
	Unit       string        // the name of the unit in which ecCodes writes the step
	units      time.Duration // the length of that unit
}

// StartText returns the start as ecCodes writes it.
func (s Step) StartText() string { return s.text(s.Start) }

// EndText returns the end as ecCodes writes it.
func (s Step) EndText() string { return s.text(s.End) }

// Range returns the key stepRange of ecCodes.
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

// The lengths that ecCodes gives to days, months and years.
const (
	day   = 24 * time.Hour
	month = 30 * day
	year  = 365 * day
)

// units2 has the time units of edition 2 by their numbers in code table 4.4.
var units2 = map[int64]time.Duration{
	0: time.Minute, 1: time.Hour, 2: day, 3: month, 4: year, 5: 10 * year, 6: 30 * year, 7: 100 * year, 10: 3 * time.Hour, 11: 6 * time.Hour,
	12: 12 * time.Hour, 13: time.Second, 14: 15 * time.Minute, 15: 30 * time.Minute,
}

// units1 has the time units of edition 1 by their numbers in code table 4.
var units1 = map[int64]time.Duration{
	0: time.Minute, 1: time.Hour, 2: day, 3: month, 10: 3 * time.Hour, 11: 6 * time.Hour, 12: 12 * time.Hour, 13: 15 * time.Minute,
	14: 30 * time.Minute, 15: time.Second, 254: time.Second,
}

// unitNames has the names that ecCodes writes after steps.
var unitNames = map[time.Duration]string{time.Hour: "h", time.Minute: "m", time.Second: "s", day: "D", month: "M", 3 * time.Hour: "3h", 6 * time.Hour: "6h", 12 * time.Hour: "12h", 15 * time.Minute: "15m", 30 * time.Minute: "30m"}

// StepType returns the statistic over time by the name that ecCodes gives it: instant, accum, avg, max and so on. A statistic without a
// name is its number.
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

// statistics has the names of ecCodes for the numbers of code table 4.10.
var statistics = map[int64]string{
	255: "instant", 0: "avg", 1: "accum", 2: "max", 3: "min", 4: "diff", 5: "rms", 6: "sd", 7: "cov", 8: "sdiff", 9: "ratio", 10: "stdanom", 11: "sum",
	100: "severity", 101: "mode", 102: "index",
}

// duration returns n units, or false if n or the unit is unknown or the duration is longer than 2^62 ns (146 years).
func duration(n int64, unit time.Duration, ok bool) (time.Duration, bool) {
	const most = 1 << 62
	if !ok || unit == 0 || n > most/int64(unit) || n < -most/int64(unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// Step returns the step of a field. It returns false if the field has no step, its unit is unknown, or it has more than two time ranges.
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

// firstRange returns the unit and the length of the first time range.
func (f *Field) firstRange() (unit, length time.Duration) {
	length, unit, _ = f.stepPart("lengthOfTimeRange", "indicatorOfUnitForTimeRange", 0)
	return unit, length
}

// timeRange returns the length of the only time range or, of several, of the first over successive lead times (time increment 2).
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

// stepPart returns a duration of the product, and its unit, from the nth values of two keys.
func (f *Field) stepPart(value, unit string, nth int) (d, of time.Duration, ok bool) {
	n, ok := f.param.IntAt(value, nth)
	code, _ := f.param.IntAt(unit, nth)
	of = units2[code]
	d, ok = duration(n, of, ok)
	return d, of, ok
}

// best returns the unit in which ecCodes writes a duration: the longest of hour, minute and second that divides it.
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

// common returns the unit in which ecCodes writes two durations a and b, which have the units aUnit and bUnit.
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

// points1 has the step types of edition 1 for which ecCodes writes only the start of the step.
var points1 = map[string]bool{"instant": true, "avgfc": true, "avgua": true, "avgia": true, "varins": true}

// ranges1 has the step types of edition 1 for which ecCodes writes a range.
var ranges1 = map[string]bool{
	"accum": true, "avg": true, "min": true, "max": true, "rms": true, "diff": true, "avgas": true, "avgad": true, "avgid": true, "varas": true, "varad": true,
}

// longP1 is the time range indicator of a P1 that takes the octets of P1 and P2.
const longP1 = 10

// step1 is Step for edition 1.
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

// unknownUnit returns an error if the message has a lead time in a unit that is not known. Such a field must not be placed at step 0.
func (f *Field) unknownUnit() error {
	value, unit, units := "forecastTime", "indicatorOfUnitForForecastTime", units2
	if f.Edition == 1 {
		value, unit, units = "P1", "unitOfTimeRange", units1
	}
	n, _ := f.Int(value)
	code, ok := f.Int(unit)
	if _, known := duration(n, units[code], ok); known || n == 0 {
		return nil
	}
	return fmt.Errorf("a lead time of %d in units of code %d: %w", n, code, errors.ErrUnsupported)
}

// noYear is the year of century of a climatology in edition 1.
const noYear = 255

// Reference returns the reference time, or an error if the header has no valid time.
func (f *Field) Reference() (time.Time, error) {
	if !f.reference.IsZero() {
		return f.reference, nil
	}
	var t [6]int
	for i, key := range []string{"year", "month", "day", "hour", "minute", "second"} {
		n, _ := f.ident.Int(key)
		t[i] = int(n)
	}
	if f.Edition == 1 {
		century, _ := f.ident.Int("centuryOfReferenceTimeOfData")
		year, _ := f.ident.Int("yearOfCentury")
		if year == noYear {
			return time.Time{}, fmt.Errorf("the reference time of a climatology, which has no year: %w", errors.ErrUnsupported)
		}
		t[0] = int((century-1)*100 + year)
	}
	when := time.Date(t[0], time.Month(t[1]), t[2], t[3], t[4], t[5], 0, time.UTC)
	if t[1] < 1 || t[1] > 12 || t[2] < 1 || when.Day() != t[2] && t[3] < 24 || t[3] > 24 || t[4] > 59 || t[5] > 60 {
		return when, fmt.Errorf("the reference time %04d-%02d-%02d %02d:%02d:%02d, which no calendar has: %w", t[0], t[1], t[2], t[3], t[4], t[5], errors.ErrUnsupported)
	}
	return when, nil
}

// Valid returns the time at which a field is valid: the end of the overall time interval if the header has it, else the end of the step.
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
