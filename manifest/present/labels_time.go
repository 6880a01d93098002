package present

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"varve/manifest/internal/cf"
)

// timeLabels are times of a calendar. They are kept in their stored form to save memory, because there may be
// tens of millions.
type timeLabels struct {
	times     cf.Times
	calendar  cf.Calendar
	precision precision // the precision of the most precise label
}

func newTimeLabels(d *Decoder, data []byte) (*timeLabels, error) {
	l := &timeLabels{times: *d.times, calendar: d.times.Units.Calendar, precision: days}
	l.times.Elements = data
	size := l.times.Type.Size
	for i := range l.times.Len() {
		at, ok, err := l.times.Instant(data[i*size:][:size])
		if err != nil {
			return nil, fmt.Errorf("%s: time %d: %w", d.array.Path(), i, err)
		}
		if ok {
			l.precision = max(l.precision, precisionOf(at))
		}
	}
	return l, nil
}

// at returns the i-th time; ok is false if it is missing.
func (l *timeLabels) at(i int64) (cf.Instant, bool) {
	size := int64(l.times.Type.Size)
	at, ok, _ := l.times.Instant(l.times.Elements[i*size:][:size]) // newTimeLabels has checked all times
	return at, ok
}

// precision is the number of components of a date and time.
type precision int

const (
	years precision = iota
	months
	days
	hours
	minutes
	seconds
	fractions
)

// precisionOf returns how many components an instant needs, at least a day.
func precisionOf(t cf.Instant) precision {
	switch {
	case t.Nanoseconds != 0:
		return fractions
	case t.Seconds%60 != 0:
		return seconds
	case t.Seconds%3600 != 0:
		return minutes
	case t.Seconds%86400 != 0:
		return hours
	}
	return days
}

// query splits a range of times such as 2010-01:2010-02 or 2010-01-01T12:00:2010-01-01T18:00. Times of day
// contain colons, too, so the separator is a colon at the start, at the end or before a date. As in xarray, a
// time with fewer components than the labels selects several values.
func (l *timeLabels) query(text string) query {
	for i := range len(text) {
		if text[i] == ':' && (i == 0 || i == len(text)-1 || beginsWithYear(text[i+1:])) {
			return query{from: text[:i], to: text[i+1:], isRange: true}
		}
	}
	p, _ := precisionOfText(text)
	return query{from: text, to: text, several: p < l.precision}
}

// beginsWithYear reports whether a text begins with a year of four or more digits, and not with minutes.
func beginsWithYear(s string) bool {
	s = strings.TrimLeft(s, "-")
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n >= 4 && (n == len(s) || s[n] == '-')
}

func (l *timeLabels) matcher(q query) (func(i int64) bool, error) {
	var first, firstEnd, lastBegin, last cf.Instant
	var err error
	if q.from != "" {
		if first, firstEnd, err = span(q.from, l.calendar); err != nil {
			return nil, err
		}
	}
	if q.to != "" {
		if lastBegin, last, err = span(q.to, l.calendar); err != nil {
			return nil, err
		}
	}
	if q.from != "" && q.to != "" && first.Compare(lastBegin) > 0 {
		first, last = lastBegin, firstEnd
	}
	return func(i int64) bool {
		t, ok := l.at(i)
		return ok && (q.from == "" || t.Compare(first) >= 0) && (q.to == "" || t.Compare(last) < 0)
	}, nil
}

// closest implements distant. The distance is from the begin of a shortened date.
func (l *timeLabels) closest(text string) (int64, error) {
	want, _, err := span(text, l.calendar)
	if err != nil {
		return 0, err
	}
	best, least := int64(-1), math.Inf(1)
	for i := range int64(l.times.Len()) {
		t, ok := l.at(i)
		if !ok {
			continue
		}
		d := math.Abs(float64(t.Seconds-want.Seconds) + float64(float64(t.Nanoseconds-want.Nanoseconds)*1e-9))
		if b, _ := l.at(max(best, 0)); d < least || d == least && t.Compare(b) > 0 {
			best, least = i, d
		}
	}
	return best, nil
}

func (l *timeLabels) nearest(text string) (near []string, areNear bool) {
	want, _, err := span(text, l.calendar)
	if err != nil {
		return nil, false
	}
	var below, above cf.Instant
	var isBelow, isAbove bool
	for i := range int64(l.times.Len()) {
		switch t, ok := l.at(i); {
		case !ok:
		case t.Compare(want) <= 0:
			if !isBelow || t.Compare(below) > 0 {
				below, isBelow = t, true
			}
		case !isAbove || t.Compare(above) < 0:
			above, isAbove = t, true
		}
	}
	if isBelow {
		near = append(near, below.Format(l.calendar))
	}
	if isAbove {
		near = append(near, above.Format(l.calendar))
	}
	return near, true
}

// precisionOfText splits a date and returns how many components it has.
func precisionOfText(text string) (precision, []string) {
	day, clock, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(text), "T", " "), " ")
	sign := ""
	if strings.HasPrefix(day, "-") {
		sign, day = "-", day[1:]
	}
	parts := strings.Split(day, "-")
	parts[0] = sign + parts[0]
	switch {
	case len(parts) < 3:
		return precision(len(parts) - 1), parts
	case clock == "":
		return days, parts
	case strings.Contains(clock, "."):
		return fractions, parts
	}
	return min(hours+precision(strings.Count(clock, ":")), seconds), parts
}

// span returns the first instant of a date or partial date, and the first instant after it: 2010 is a year,
// 2010-02 a month, 2010-02-03T06 an hour.
func span(text string, c cf.Calendar) (first, after cf.Instant, err error) {
	at, err := moment(text, c)
	if err != nil {
		return first, after, err
	}
	p, parts := precisionOfText(text)
	after = at
	switch p {
	case years, months:
		after, err = moment(following(parts), c)
	case days:
		after.Seconds += 86400
	case hours:
		after.Seconds += 3600
	case minutes:
		after.Seconds += 60
	case seconds:
		after.Seconds++
	default:
		if after.Nanoseconds++; after.Nanoseconds == 1e9 {
			after = cf.Instant{Seconds: after.Seconds + 1}
		}
	}
	return at, after, err
}

// moment parses a date in the form that time units have after "since".
func moment(text string, c cf.Calendar) (cf.Instant, error) {
	u, err := cf.ParseUnits("seconds since "+text, c.String())
	if err != nil {
		return cf.Instant{}, fmt.Errorf("%q is not a time of the calendar %s; write it as 2010-02 or 2010-02-03T06:00", text, c)
	}
	return u.Epoch, nil
}

// following returns the next year or month.
func following(parts []string) string {
	year, _ := strconv.Atoi(parts[0]) // moment has parsed it
	if len(parts) == 1 {
		return fmt.Sprintf("%04d", year+1)
	}
	month, _ := strconv.Atoi(parts[1])
	if month == 12 {
		return fmt.Sprintf("%04d-01", year+1)
	}
	return fmt.Sprintf("%04d-%02d", year, month+1)
}
