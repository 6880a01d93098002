package cf

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"varve/codec"
	"varve/manifest"
)

// Instant is a moment of a calendar: whole seconds since 1970-01-01, and nanoseconds. Instants
// of Standard, Proleptic and Julian are on one line, those of any other calendar on their own.
type Instant struct {
	Seconds     int64
	Nanoseconds int32 // 0 to 999,999,999
}

// Compare is -1, 0 or 1.
func (t Instant) Compare(u Instant) int {
	return cmp.Or(cmp.Compare(t.Seconds, u.Seconds), cmp.Compare(t.Nanoseconds, u.Nanoseconds))
}

const (
	second = int64(1e9)
	day    = 86400 * second
)

// Units are those of times: a length since a moment.
type Units struct {
	Nanoseconds int64 // the length
	Epoch       Instant
	Calendar    Calendar

	coarse bool   // xarray leaves them to cftime, which knows microseconds
	text   string // as they were spelt
}

// Same reports whether equal numbers are equal times, to the last digit that xarray has.
func (u Units) Same(v Units) bool {
	return u.coarse == v.coarse && u.Nanoseconds == v.Nanoseconds && u.Epoch == v.Epoch && SameLine(u.Calendar, v.Calendar)
}

type unit struct {
	nanoseconds int64
	names       string   // the first two are xarray's, the others only cftime's
	only        Calendar // the one that has it; Standard for all
}

var unitTable = []unit{
	{1, "nanosecond nanoseconds", Standard},
	{1e3, "microsecond microseconds microsec microsecs", Standard},
	{1e6, "millisecond milliseconds millisec millisecs msec msecs ms", Standard},
	{second, "second seconds sec secs s", Standard},
	{60 * second, "minute minutes min mins", Standard},
	{3600 * second, "hour hours hr hrs h", Standard},
	{day, "day days d", Standard},
	{30 * day, "month months", Days360},
	{365 * day, "common_year common_years", NoLeap},
}

// parseLength reads the word before "since".
func parseLength(word string, c Calendar) (length int64, coarse bool, err error) {
	word = strings.ToLower(word)
	for _, u := range unitTable {
		for i, name := range strings.Fields(u.names) {
			if name != word {
				continue
			}
			if u.only != Standard && u.only != c {
				return 0, false, fmt.Errorf("%s of the %s calendar: %w, their lengths differ", word, c, errors.ErrUnsupported)
			}
			return u.nanoseconds, i > 1, nil
		}
	}
	return 0, false, fmt.Errorf("time unit %q: %w, want nanoseconds to days", word, errors.ErrUnsupported)
}

// lengthName is the word for a length, in the plural.
func lengthName(nanoseconds int64) string {
	for _, u := range unitTable {
		if u.nanoseconds == nanoseconds {
			return strings.Fields(u.names)[1]
		}
	}
	return fmt.Sprint(nanoseconds, " nanoseconds")
}

// ParseUnits reads the attributes units and calendar.
func ParseUnits(units, calendar string) (Units, error) {
	c, err := ParseCalendar(calendar)
	if err != nil {
		return Units{}, err
	}
	word, since, ok := cutSince(units)
	if !ok {
		return Units{}, fmt.Errorf("time units %q: want a unit since a date", units)
	}
	u := Units{Calendar: c, text: units}
	if u.Nanoseconds, u.coarse, err = parseLength(word, c); err == nil {
		u.Epoch, err = parseMoment(since, c)
	}
	if err != nil {
		return Units{}, fmt.Errorf("time units %q: %w", units, err)
	}
	u.coarse = u.coarse || !c.real() || c == Julian || !u.Epoch.fine() || c == Standard && u.Epoch.Seconds < shift*86400
	return u, nil
}

// Coarse reports whether xarray leaves times in these units to cftime, which has no word for what is
// no time: it makes no dates of any if one is the least int64, and of a NaN that from which they count.
func (u Units) Coarse() bool { return u.coarse }

// cutSince splits units at the word since.
func cutSince(units string) (word, since string, ok bool) {
	fields := strings.Fields(units)
	if len(fields) < 3 || !strings.EqualFold(fields[1], "since") {
		return "", "", false
	}
	return fields[0], strings.Join(fields[2:], " "), true
}

// fine reports whether nanoseconds since 1970 fit an int64, which is what xarray decodes to.
func (t Instant) fine() bool { return t.Seconds > -9223372036 && t.Seconds < 9223372036 }

// UnitsOf returns the units of a variable, and false if it does not hold times.
func UnitsOf(v *manifest.Variable) (Units, bool, error) {
	if v.Type.Kind == codec.DateTime {
		length, err := tick(v.Type)
		return Units{Nanoseconds: length, Calendar: Proleptic}, err == nil, err
	}
	units, ok := Text(v.Attributes, UnitsName)
	if _, _, since := cutSince(units); !ok || !since || !IsNumber(v.Type) {
		return Units{}, false, nil
	}
	calendar, _ := Text(v.Attributes, CalendarName)
	u, err := ParseUnits(units, calendar)
	if err != nil {
		return Units{}, false, fmt.Errorf("%s: %w", v.Path, err)
	}
	return u, true, nil
}

// tick is the length of one step of NumPy's datetime64.
func tick(t codec.Type) (int64, error) {
	lengths := map[string]int64{"ns": 1, "us": 1e3, "ms": 1e6, "s": second, "m": 60 * second, "h": 3600 * second, "D": day, "W": 7 * day}
	length, ok := lengths[t.Unit]
	if !ok || t.Ticks > 1e6 {
		return 0, fmt.Errorf("%s: %w, want a unit from ns to W", t, errors.ErrUnsupported)
	}
	return length * int64(max(t.Ticks, 1)), nil
}

// String writes the units as the attribute does, where they come from one.
func (u Units) String() string {
	if u.text != "" {
		return u.text
	}
	return lengthName(u.Nanoseconds) + " since " + u.Epoch.Format(u.Calendar)
}

// Format writes an instant as its calendar calls it: no more of the time of day than there is.
func (t Instant) Format(c Calendar) string {
	n, rest := floorDiv(t.Seconds, 86400)
	d := c.Date(n)
	text := fmt.Sprintf("%04d-%02d-%02d", d.Year, d.Month, d.Day)
	if rest == 0 && t.Nanoseconds == 0 {
		return text
	}
	text += fmt.Sprintf(" %02d:%02d:%02d", rest/3600, rest/60%60, rest%60)
	if t.Nanoseconds != 0 {
		text += strings.TrimRight(fmt.Sprintf(".%09d", t.Nanoseconds), "0")
	}
	return text
}

// Parents are the variables of times of a header by the paths of those that they name as their
// bounds.
type Parents map[string]*manifest.Variable

// BoundsRoles are the attributes that name bounds.
var BoundsRoles = []string{"bounds", "climatology"}

// ParentsOf looks through the variables of a header. Of several that name the same bounds the
// first counts.
func ParentsOf(h *manifest.Header) Parents {
	var all Parents
	for i := range h.Variables {
		p := h.Variables[i]
		for _, role := range BoundsRoles {
			child, ok := Text(p.Attributes, role)
			if !ok || child == "" || strings.Contains(child, "/") {
				continue
			}
			units, _ := Text(p.Attributes, UnitsName)
			if _, _, since := cutSince(units); !since {
				break
			}
			if all == nil {
				all = Parents{}
			}
			at := p.Path[:strings.LastIndexByte(p.Path, '/')+1] + child
			if all[at] == nil {
				all[at] = p
			}
		}
	}
	return all
}

// Bounds returns a variable of the header or, if it is the bounds of a variable of times and
// says no units of its own, a copy that has that variable's, as CF 7.1 has it.
func (all Parents) Bounds(v *manifest.Variable) *manifest.Variable {
	parent := all.Bounded(v)
	if parent == nil {
		return v
	}
	child := *v
	child.Attributes = append([]manifest.Attribute(nil), v.Attributes...)
	for _, name := range []string{UnitsName, CalendarName} {
		if a := manifest.Lookup(parent.Attributes, name); a != nil && manifest.Lookup(v.Attributes, name) == nil {
			child.Attributes = append(child.Attributes, *a)
		}
	}
	return &child
}

// Bounded is the variable of times that has v for its bounds and says their units; nil if these
// say them themselves, or are no bounds of times.
func (all Parents) Bounded(v *manifest.Variable) *manifest.Variable {
	parent := all[v.Path]
	if parent == nil || manifest.Lookup(v.Attributes, UnitsName) != nil || !IsNumber(v.Type) {
		return nil
	}
	return parent
}
