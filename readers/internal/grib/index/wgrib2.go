package index

import (
	"regexp"
	"strings"
	"time"
)

// parseWGRIB2 parses a line of wgrib2, such as
//
//	3.2:61044:d=2021010100:VGRD:10 m above ground:anl:
//
// The field number after the point is there if the message has several fields. A word range=FIRST-LAST, which wgrib2 writes with the
// option -range, has the positions of the first and the last byte.
func parseWGRIB2(line string) (e Entry, ok bool) {
	number, rest, ok1 := strings.Cut(line, ":")
	offset, rest, ok2 := strings.Cut(rest, ":")
	reference, rest, ok3 := strings.Cut(rest, ":")
	if !ok1 || !ok2 || !ok3 {
		return e, false
	}
	number, field, isField := strings.Cut(number, ".")
	if _, ok = parseUint(number); !ok {
		return e, false
	}
	if isField {
		if _, ok = parseUint(field); !ok {
			return e, false
		}
	}
	e.IsField, e.Length = isField, Unknown
	if e.Offset, ok = parseUint(offset); !ok {
		return e, false
	}
	if last, isRange := strings.CutPrefix(reference, "range="); isRange {
		if !e.setRange(last) {
			return e, false
		}
		if reference, rest, ok = strings.Cut(rest, ":"); !ok {
			return e, false
		}
	}
	digits, ok1 := strings.CutPrefix(reference, "d=")
	if !ok1 {
		if digits, ok1 = strings.CutPrefix(reference, "D="); !ok1 {
			return e, false
		}
	}
	if e.Reference, ok = parseTime(digits); !ok {
		return e, false
	}
	if at := strings.Index(rest, "range="); at == 0 || at > 0 && rest[at-1] == ':' {
		word, after, _ := strings.Cut(rest[at:], ":")
		if !e.setRange(strings.TrimPrefix(word, "range=")) {
			return e, false
		}
		rest = rest[:at] + after
	}
	e.Text = rest
	// A name, a level and a time, at least.
	return e, strings.Count(rest, ":") >= 2 && rest[0] != ':'
}

// setRange sets the length of an entry from FIRST-LAST.
func (e *Entry) setRange(s string) bool {
	first, last, ok := strings.Cut(s, "-")
	from, ok1 := parseUint(first)
	to, ok2 := parseUint(last)
	if !ok || !ok1 || !ok2 || from != e.Offset || to < from {
		return false
	}
	e.Length = to - from + 1
	return e.Length > 0
}

// levelText is a way in which wgrib2 writes levels.
type levelText struct {
	before, after string // the words around the number
	surface       int
	power         int // the number has to be multiplied by 10^power for SI units
}

var levelTexts = []levelText{
	{"", " mb above ground", 108, 2}, {"", " mb", 100, 2},
	{"", " m above mean sea level", 102, 0}, {"", " m above ground", 103, 0}, {"", " m below ground", 106, 0}, {"", " m below sea level", 160, 0},
	{"", " sigma level", 104, 0}, {"", " sigma layer", 104, 0}, {"", " hybrid level", 105, 0}, {"", " hybrid layer", 105, 0},
	{"", " K isentropic level", 107, 0}, {"", " K isentropic layer", 107, 0}, {"PV=", " (Km^2/kg/s) surface", 109, 0},
}

// parseLevel parses a level of wgrib2. kind is its text with # in place of the numbers. Pressures below 1 hPa have a kind of their own,
// since ecCodes gives their levels another type.
func parseLevel(s string) (l *Level, kind string) {
	for _, t := range levelTexts {
		number, ok1 := strings.CutPrefix(s, t.before)
		number, ok2 := strings.CutSuffix(number, t.after)
		if !ok1 || !ok2 {
			continue
		}
		top, bottom, isLayer := strings.Cut(number, "-")
		if t.before != "" || strings.Contains(number, "e") { // the exponent of 2e-06 has a minus
			top, bottom, isLayer = number, "", false
		}
		if !isLayer {
			bottom = top
		}
		first, ok1 := ParseDecimal(top)
		second, ok2 := ParseDecimal(bottom)
		if !ok1 || !ok2 {
			return nil, s
		}
		kind = "#"
		if isLayer {
			kind = "#-#"
		}
		l = &Level{Surface: t.surface, IsLayer: isLayer, Top: first.Times(t.power), Bottom: second.Times(t.power)}
		if t.surface == 100 && (isLow(l.Top) || isLow(l.Bottom)) {
			kind = "low " + kind
		}
		return l, t.before + kind + t.after
	}
	return nil, s
}

// isLow reports whether a pressure is less than 1 hPa.
func isLow(d Decimal) bool { return d.Float() < 100 }

var (
	// momentText and rangeText are the steps of forecasts that wgrib2 writes.
	momentText = regexp.MustCompile(`^(\d{1,6}) (min|hour|day) fcst$`)
	rangeText  = regexp.MustCompile(`^(\d{1,6})-(\d{1,6}) (min|hour|day) (acc|ave|max|min) fcst$`)
)

var unitTexts = map[string]time.Duration{"min": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}

// parseStep parses a step of wgrib2.
func parseStep(s string) (step *Step, kind string) {
	duration := func(n, unit string) time.Duration {
		count, _ := parseUint(n)
		return time.Duration(count) * unitTexts[unit]
	}
	if s == "anl" {
		return &Step{HasStart: true}, s
	}
	if m := momentText.FindStringSubmatch(s); m != nil {
		at := duration(m[1], m[2])
		return &Step{Start: at, End: at, HasStart: true}, "# fcst"
	}
	if m := rangeText.FindStringSubmatch(s); m != nil {
		step := &Step{Start: duration(m[1], m[3]), End: duration(m[2], m[3]), IsRange: true, HasStart: true}
		if step.End >= step.Start {
			return step, "#-# " + m[4] + " fcst"
		}
	}
	return nil, s
}

// describeWGRIB2 describes NAME:LEVEL:STEP:, possibly with more words.
func describeWGRIB2(text string) (d Description) {
	words := strings.Split(text, ":")
	if len(words) < 3 {
		d.Kind = text
		return d
	}
	d.Level, words[1] = parseLevel(words[1])
	d.Step, words[2] = parseStep(words[2])
	for i := 3; i < len(words); i++ {
		digits, ok := strings.CutPrefix(words[i], "ENS=+")
		if n, isNumber := parseUint(digits); ok && isNumber && d.Member == nil {
			d.Member, words[i] = &n, "ENS=+#"
		}
	}
	d.Kind = strings.Join(words, ":")
	return d
}
