package cf

import (
	"errors"

	"varve/manifest"
)

// Calendar is one of CF's calendars. Names that mean the same are one.
type Calendar uint8

// The calendars.
const (
	Standard  Calendar = iota // also "gregorian": Julian before 15 October 1582
	Proleptic                 // "proleptic_gregorian": today's rules for all times
	Julian                    // "julian"
	NoLeap                    // "noleap", "365_day"
	AllLeap                   // "all_leap", "366_day"
	Days360                   // "360_day"
)

// ParseCalendar reads the attribute calendar; empty stands for none, which is Standard.
func ParseCalendar(name string) (Calendar, error) { return 0, errors.ErrUnsupported }

// String returns the calendar's name.
func (c Calendar) String() string { return "" }

// Instant is a moment of a calendar, in nanoseconds that fit no int64: whole seconds since
// 1970-01-01, and the rest. Instants of Standard, Proleptic and Julian are on one line, those
// of any other calendar on their own.
type Instant struct {
	Seconds     int64
	Nanoseconds int32 // 0 to 999,999,999
}

// Compare is -1, 0 or 1.
func (t Instant) Compare(u Instant) int { return 0 }

// Units are those of times: a length since a moment.
type Units struct {
	Nanoseconds int64 // the length
	Epoch       Instant
	Calendar    Calendar
}

// ParseUnits reads the attributes units and calendar.
func ParseUnits(units, calendar string) (Units, error) { return Units{}, errors.ErrUnsupported }

// UnitsOf returns the units of a variable, and false if it does not hold times.
func UnitsOf(v *manifest.Variable) (Units, bool, error) { return Units{}, false, nil }

// String writes the units as the attribute does.
func (u Units) String() string { return "" }

// SameLine reports whether instants of two calendars can be compared.
func SameLine(a, b Calendar) bool { return false }

// Bounds returns the variable at a place of a header or, if it is the bounds of a variable of
// times and says no units of its own, a copy that has that variable's, as CF 7.1 has it.
func Bounds(h *manifest.Header, i int) *manifest.Variable { return &h.Variables[i] }
