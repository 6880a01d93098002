package index

import (
	"strings"
	"time"
)

// member is a member of a JSON object: "name": value.
type member struct {
	name, value string
	whole       string // with quotes
}

// members parses a flat JSON object of strings without escapes and of whole numbers. It returns false for anything else, and if a name
// occurs twice.
func members(line string, out []member) ([]member, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "{")
	if !ok {
		return out, false
	}
	for {
		begin := strings.TrimLeft(rest, " \t")
		name, after, ok := quoted(begin)
		if !ok {
			return out, false
		}
		if after, ok = strings.CutPrefix(strings.TrimLeft(after, " \t"), ":"); !ok {
			return out, false
		}
		after = strings.TrimLeft(after, " \t")
		m := member{name: name}
		if m.value, rest, ok = quoted(after); !ok {
			n := len(after) - len(strings.TrimLeft(after, "0123456789"))
			if m.value, rest = after[:n], after[n:]; n == 0 {
				return out, false
			}
		}
		m.whole = begin[:len(begin)-len(rest)]
		for i := range out {
			if out[i].name == name {
				return out, false
			}
		}
		out = append(out, m)
		rest = strings.TrimLeft(rest, " \t")
		if rest == "}" {
			return out, true
		}
		if rest, ok = strings.CutPrefix(rest, ","); !ok || len(out) == maxMembers {
			return out, false
		}
	}
}

// maxMembers bounds the members of a line: names are compared with each other.
const maxMembers = 64

// quoted returns the string at the beginning of s, and what follows it.
func quoted(s string) (text, rest string, ok bool) {
	if s == "" || s[0] != '"' {
		return "", s, false
	}
	end := strings.IndexByte(s[1:], '"')
	if end < 0 || strings.IndexByte(s[1:1+end], '\\') >= 0 {
		return "", s, false
	}
	return s[1 : 1+end], s[end+2:], true
}

// parseECMWF parses a line of ECMWF.
func parseECMWF(line string) (e Entry, ok bool) {
	var space [32]member
	list, ok := members(line, space[:0])
	if !ok {
		return e, false
	}
	var date, clock string
	e.Offset, e.Length = Unknown, Unknown
	var text strings.Builder
	text.Grow(len(line))
	for _, m := range list {
		ok := true
		switch m.name {
		case "_offset":
			e.Offset, ok = parseUint(m.value)
		case "_length":
			e.Length, ok = parseUint(m.value)
		case "date":
			date = m.value
		case "time":
			clock = m.value
		default:
			if text.Len() > 0 {
				text.WriteByte(',')
			}
			text.WriteString(m.whole)
		}
		if !ok {
			return e, false
		}
	}
	if e.Offset < 0 || e.Length <= 0 || len(date) != 8 || len(clock) != 4 || text.Len() == 0 {
		return e, false
	}
	e.Text = text.String()
	e.Reference, ok = parseTime(date + clock)
	return e, ok
}

// describeECMWF describes the members of a line, separated by commas. The level is understood if it is a pressure. The step is the end of
// a range if the message has one: the text does not say whether it has.
func describeECMWF(text string) (d Description) {
	list, ok := members("{"+text+"}", nil)
	if !ok {
		d.Kind = text
		return d
	}
	levels := ""
	for _, m := range list {
		if m.name == "levtype" {
			levels = m.value
		}
	}
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = m.name + "=" + m.value
		switch m.name {
		case "levelist":
			if p, ok := ParseDecimal(m.value); ok && levels == "pl" {
				p = p.Times(2)
				d.Level, words[i] = &Level{Surface: 100, Top: p, Bottom: p}, "levelist=#"
				if isLow(p) {
					words[i] = "levelist=low #"
				}
			}
		case "step":
			if step := parseHours(m.value); step != nil {
				d.Step, words[i] = step, "step=#"
				if step.IsRange {
					words[i] = "step=#-#"
				}
			}
		case "number":
			if n, ok := parseUint(m.value); ok {
				d.Member, words[i] = &n, "number=#"
			}
		}
	}
	d.Kind = strings.Join(words, ",")
	return d
}

// maxHours bounds the hours of a step: 100 years.
const maxHours = 876600

// parseHours parses a step of hours, or a range of them. It returns nil for anything else.
func parseHours(s string) *Step {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	start, ok1 := parseUint(first)
	end, ok2 := parseUint(last)
	if !ok1 || !ok2 || end < start || end > maxHours {
		return nil
	}
	step := &Step{Start: time.Duration(start) * time.Hour, End: time.Duration(end) * time.Hour, IsRange: isRange, HasStart: isRange}
	return step
}
