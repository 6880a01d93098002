package cf

import (
	"fmt"
	"strings"
)

// parseEpoch parses the text after "since": a date, optionally followed by a time of day and a zone.
//
//	1990-1-1   1990-01-01T06:30Z   1990-01-01 00:00:0.0 +02:00   19900101   -4713-01-01 12:00 UTC
//	1990-01-01 00:00:00 0:00
//
// Zones are read as UDUNITS reads them. ARM and UDUNITS write UTC as in the last example. unclear says
// that other programs read this zone differently: xarray reads a zone without a sign as another time of
// day, which has no effect at midnight only, and cftime ignores a zone with fewer than four digits.
func parseEpoch(text string, c Calendar) (at Instant, unclear bool, err error) {
	p := parser{rest: text}
	n, err := p.date(c)
	if err != nil {
		return Instant{}, false, err
	}
	seconds, nanoseconds, err := p.clock()
	if err != nil {
		return Instant{}, false, err
	}
	zone, unclear, err := p.zone(seconds == 0 && nanoseconds == 0)
	if err != nil {
		return Instant{}, false, err
	}
	return Instant{86400*n + seconds - zone, nanoseconds}, unclear, nil
}

type parser struct{ rest string }

// number reads at most this many digits.
func (p *parser) number(most int) (n int64, digits int) {
	for digits < most && digits < len(p.rest) && p.rest[digits] >= '0' && p.rest[digits] <= '9' {
		n = 10*n + int64(p.rest[digits]-'0')
		digits++
	}
	p.rest = p.rest[digits:]
	return n, digits
}

// skip reads the next byte if it is one of these. Otherwise it reads nothing and returns 0.
func (p *parser) skip(these string) byte {
	if p.rest == "" || strings.IndexByte(these, p.rest[0]) < 0 {
		return 0
	}
	b := p.rest[0]
	p.rest = p.rest[1:]
	return b
}

// date reads a date: year, month and day with hyphens, or as eight digits; or the year, or year and month.
func (p *parser) date(c Calendar) (int64, error) {
	whole := p.rest
	sign := p.skip("+-")
	year, digits := p.number(9)
	d := Date{year, 1, 1}
	switch {
	case digits == 0:
		return 0, fmt.Errorf("%q does not start with a year", whole)
	case digits == 8 && sign == 0:
		d = Date{year / 10000, int(year / 100 % 100), int(year % 100)}
	case p.skip("-") != 0:
		month, n := p.number(2)
		if n == 0 {
			return 0, fmt.Errorf("%q has no month", whole)
		}
		d.Month = int(month)
		if p.skip("-") != 0 {
			day, n := p.number(2)
			if n == 0 {
				return 0, fmt.Errorf("%q has no day", whole)
			}
			d.Day = int(day)
		}
	}
	if sign == '-' {
		d.Year = -d.Year
	}
	return c.days(d)
}

// clock reads the time of day, if there is one.
func (p *parser) clock() (seconds int64, nanoseconds int32, err error) {
	before := p.rest
	if p.skip("Tt ") == 0 || p.rest == "" || p.rest[0] < '0' || p.rest[0] > '9' {
		p.rest = before
		return 0, 0, nil
	}
	hour, _ := p.number(2)
	parts, i := [3]int64{hour}, 1
	for ; i < 3 && p.skip(":") != 0; i++ {
		var n int
		if parts[i], n = p.number(2); n == 0 {
			return 0, 0, fmt.Errorf("%q is not a time of day", before)
		}
	}
	if parts[0] > 23 || parts[1] > 59 || parts[2] > 59 {
		return 0, 0, fmt.Errorf("%q is not a time of day", before)
	}
	if i == 3 && p.skip(".") != 0 {
		nanoseconds = p.fraction()
	}
	return 3600*parts[0] + 60*parts[1] + parts[2], nanoseconds, nil
}

// fraction reads the decimals of a second and truncates them to nanoseconds.
func (p *parser) fraction() int32 {
	n, digits := p.number(9)
	for ; digits < 9; digits++ {
		n *= 10
	}
	p.number(len(p.rest))
	return int32(n)
}

// zone reads the offset of a time zone from UTC, in seconds. The sign may be missing.
func (p *parser) zone(midnight bool) (offset int64, unclear bool, err error) {
	text := strings.TrimSpace(p.rest)
	switch strings.ToUpper(text) {
	case "", "Z", "UTC", "GMT":
		return 0, false, nil
	}
	p.rest = text
	sign := p.skip("+-")
	hours, n := p.number(2)
	p.skip(":")
	minutes, m := p.number(2)
	if n == 0 || m == 1 || p.rest != "" || hours > 23 || minutes > 59 {
		return 0, false, fmt.Errorf("%q is not a time zone; use Z, UTC or hours and minutes such as +02:00", text)
	}
	if offset = 3600*hours + 60*minutes; sign == '-' {
		offset = -offset
	}
	return offset, (sign == 0 || n+m < 4) && !(midnight && offset == 0), nil
}
