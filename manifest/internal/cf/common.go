package cf

import (
	"fmt"
)

// CommonReferenceOfUnits returns a reference for several units without looking at times. Its unit is the coarsest in
// which all units and the distances of their epochs are whole numbers. If whole is false, times are
// not whole numbers, and the unit is nanoseconds (microseconds for cftime's calendars). missing says
// that some elements are not times.
func CommonReferenceOfUnits(units []Units, whole, missing bool) (*Reference, error) {
	var s survey
	s.units = units
	epoch := s.epochs()[0]
	length := units[0].Nanoseconds
	for _, u := range units {
		if !IsConvertible(u.Calendar, units[0].Calendar) {
			return nil, &CalendarError{A: units[0].Calendar, B: u.Calendar}
		}
		length = gcd(length, u.Nanoseconds)
		// Whole days between the epochs fit any unit up to a day, so only the rest limits the unit.
		apart := u.Epoch.add(epoch.negative())
		_, rest := floorDiv(apart.Seconds, 86400)
		length = gcd(gcd(length, rest*second), int64(apart.Nanoseconds))
		// But a unit such as 30 days has to become one day, if the epochs differ.
		if rest == 0 && apart.Nanoseconds == 0 && apart.Seconds != 0 {
			length = gcd(length, day)
		}
	}
	if !whole {
		length = 1
		if !units[0].Calendar.isReal() || units[0].Calendar == Julian {
			length = 1000 // cftime's resolution
		} else {
			epoch = Instant{}
		}
	}
	u := Units{Nanoseconds: longestWithName(length), Epoch: epoch, Calendar: s.calendar()}
	parsed, err := ParseUnits(u.String(), u.Calendar.String())
	if err != nil {
		return nil, fmt.Errorf("common units of times: %w", err)
	}
	var fill []byte
	t := int64Type
	switch {
	case missing && parsed.isCoarse:
		t, fill = float64Type, NaN(float64Type)
	case missing:
		fill = AppendWord(nil, 1<<63, 8)
	}
	r := reference(parsed, t, fill)
	return &r, nil
}

// longestWithName returns the greatest unit of time with a name that divides length.
func longestWithName(length int64) int64 {
	for _, n := range []int64{day, 3600 * second, 60 * second, second, 1e6, 1e3} {
		if length%n == 0 {
			return n
		}
	}
	return 1
}

func gcd(a, b int64) int64 {
	x, y := magnitude(a), magnitude(b)
	for y != 0 {
		x, y = y, x%y
	}
	return int64(x)
}
