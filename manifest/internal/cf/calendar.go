package cf

import (
	"errors"
	"fmt"
	"strings"
)

// Calendar is one of CF's calendars. Names with the same meaning are one calendar.
type Calendar uint8

// The calendars of CF.
const (
	Standard  Calendar = iota // also "gregorian": Julian before 15 October 1582
	Proleptic                 // "proleptic_gregorian": the Gregorian rules for all times
	Julian                    // "julian"
	NoLeap                    // "noleap", "365_day"
	AllLeap                   // "all_leap", "366_day"
	Days360                   // "360_day"
)

var calendarNames = [...]string{"standard", "proleptic_gregorian", "julian", "noleap", "all_leap", "360_day"}

// ParseCalendar parses the attribute calendar. An empty text means that there is none, which is
// Standard.
func ParseCalendar(name string) (Calendar, error) {
	switch lower := strings.ToLower(strings.TrimSpace(name)); lower {
	case "", "gregorian":
		return Standard, nil
	case "365_day":
		return NoLeap, nil
	case "366_day":
		return AllLeap, nil
	default:
		for c, known := range calendarNames {
			if lower == known {
				return Calendar(c), nil
			}
		}
	}
	return 0, fmt.Errorf("calendar %q is %w; use one of %s", name, errors.ErrUnsupported, strings.Join(calendarNames[:], ", "))
}

// String returns the calendar's name.
func (c Calendar) String() string { return calendarNames[c] }

// IsConvertible reports whether times of one calendar can be converted to the other. Standard and
// Proleptic count the same days, and differ only in the dates of days before 15 October 1582.
func IsConvertible(a, b Calendar) bool { return a == b || a <= Proleptic && b <= Proleptic }

// isReal reports whether the calendar counts real days. The other calendars are for climate models.
func (c Calendar) isReal() bool { return c <= Julian }

// hasYearZero reports whether there is a year between -1 and 1.
func (c Calendar) hasYearZero() bool { return c != Standard && c != Julian }

// Date is the date of a day in some calendar.
type Date struct {
	Year       int64
	Month, Day int
}

// gregorianStart is 15 October 1582 in days since 1970. From this day on, Standard uses the Gregorian
// rules.
const gregorianStart = -141427

// maxYear limits years, so that sums of days and seconds cannot overflow.
const maxYear = 10_000_000

// days returns the number of a day, counted from 1 January 1970. Real calendars count real days, and
// model calendars their own.
func (c Calendar) days(d Date) (int64, error) {
	if d.Year > maxYear || d.Year < -maxYear || d.Year == 0 && !c.hasYearZero() {
		return 0, fmt.Errorf("the %[2]s calendar has no year %[1]d", d.Year, c)
	}
	if d.Month < 1 || d.Month > 12 || d.Day < 1 || d.Day > 31 {
		return 0, fmt.Errorf("%d-%02d-%02d is not a date", d.Year, d.Month, d.Day)
	}
	// Converting back finds days such as 30 February.
	n := c.number(d)
	if c.Date(n) != d {
		return 0, fmt.Errorf("%d-%02d-%02d is not a day of the %s calendar", d.Year, d.Month, d.Day, c)
	}
	return n, nil
}

// number is days for dates that exist.
func (c Calendar) number(d Date) int64 {
	year := d.Year
	if year < 0 && !c.hasYearZero() {
		year++
	}
	switch c {
	case Proleptic:
		return civil(year, d.Month, d.Day, true)
	case Julian:
		return civil(year, d.Month, d.Day, false)
	case NoLeap:
		return 365*(year-1970) + int64(cumulative[d.Month-1]+d.Day-1)
	case AllLeap:
		return 366*(year-1970) + int64(cumulative[d.Month-1]+leapDay(d.Month)+d.Day-1)
	case Days360:
		return 360*(year-1970) + int64(30*(d.Month-1)+d.Day-1)
	}
	// Standard: try the Gregorian rules first.
	if n := civil(year, d.Month, d.Day, true); n >= gregorianStart {
		return n
	}
	return civil(year, d.Month, d.Day, false)
}

// Date returns the date of a day, counted from 1 January 1970.
func (c Calendar) Date(n int64) (d Date) {
	switch c {
	case NoLeap, AllLeap:
		return c.modelDate(n)
	case Days360:
		year, day := floorDiv(n, 360)
		return Date{1970 + year, int(day/30) + 1, int(day%30) + 1}
	case Proleptic:
		return civilDate(n, true)
	}
	// Standard is Gregorian from gregorianStart on, and Julian before it.
	d = civilDate(n, c == Standard && n >= gregorianStart)
	if d.Year <= 0 {
		d.Year--
	}
	return d
}

// modelDate is Date for calendars whose years all have the same months.
func (c Calendar) modelDate(n int64) Date {
	length := int64(365)
	if c == AllLeap {
		length = 366
	}
	year, rest := floorDiv(n, length)
	day, month := int(rest), 12
	for start := 0; ; month-- {
		start = cumulative[month-1]
		if c == AllLeap {
			start += leapDay(month)
		}
		if day >= start {
			return Date{1970 + year, month, day - start + 1}
		}
	}
}

// cumulative has the number of days before each month of a year without a leap day.
var cumulative = [...]int{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334}

// leapDay returns 1 for months after February, else 0.
func leapDay(month int) int {
	if month > 2 {
		return 1
	}
	return 0
}

// civil returns the days since 1 January 1970. It counts years from March on, so that the leap day is the
// last day of a year and needs no special case. There is a year 0.
func civil(year int64, month, day int, gregorian bool) int64 {
	if month <= 2 {
		year--
	}
	days := 365*year + div(year, 4) + int64((153*((month+9)%12)+2)/5+day-1)
	if gregorian {
		return days - div(year, 100) + div(year, 400) - 719468
	}
	return days - 719470
}

// civilDate is the inverse of civil.
func civilDate(n int64, gregorian bool) Date {
	era, length := int64(1461), int64(4) // days and years after which the pattern repeats
	n += 719470
	if gregorian {
		era, length = 146097, 400
		n -= 2
	}
	eras, day := floorDiv(n, era)
	var year int64
	if gregorian {
		year = (day - day/1460 + day/36524 - day/146096) / 365
	} else {
		year = (day - day/1460) / 365
	}
	rest := day - (365*year + year/4)
	if gregorian {
		rest += year / 100
	}
	month := (5*rest + 2) / 153
	d := Date{eras*length + year, int((month+2)%12) + 1, int(rest-(153*month+2)/5) + 1}
	if d.Month <= 2 {
		d.Year++
	}
	return d
}

func floorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		return quotient - 1, rest + b
	}
	return quotient, rest
}

func div(a, b int64) int64 {
	quotient, _ := floorDiv(a, b)
	return quotient
}
