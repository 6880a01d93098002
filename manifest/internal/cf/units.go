package cf

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"varve/codec"
	"varve/manifest"
)

// Instant is a point in time: whole seconds since 1970-01-01 in a calendar, and nanoseconds. Instants
// of Standard, Proleptic and Julian can be compared with each other, those of other calendars only
// within the calendar.
type Instant struct {
	Seconds     int64
	Nanoseconds int32 // 0 to 999,999,999
}

// Compare returns -1 if t is before u, 0 if they are equal, and 1 if t is after u.
func (t Instant) Compare(u Instant) int {
	return cmp.Or(cmp.Compare(t.Seconds, u.Seconds), cmp.Compare(t.Nanoseconds, u.Nanoseconds))
}

const (
	second = int64(1e9)
	day    = 86400 * second
)

// Units are units of time: a length since an epoch.
type Units struct {
	Nanoseconds int64 // the length
	Epoch       Instant
	Calendar    Calendar

	isCoarse  bool   // xarray calls cftime to decode them, which has a resolution of microseconds
	isUnclear bool   // programs read the zone of the attribute's text in different ways
	text      string // the attribute's text, unless it is unclear
}

// Same reports whether xarray decodes equal numbers to equal times in both units.
func (u Units) Same(v Units) bool {
	return u.isCoarse == v.isCoarse && u.Nanoseconds == v.Nanoseconds && u.Epoch == v.Epoch && IsConvertible(u.Calendar, v.Calendar)
}

type unit struct {
	nanoseconds int64
	names       string   // xarray knows the first two, and only cftime the others
	only        Calendar // the only calendar that has the unit; Standard for all
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

// parseLength parses the word before "since".
func parseLength(word string, c Calendar) (length int64, coarse bool, err error) {
	word = strings.ToLower(word)
	for _, u := range unitTable {
		for i, name := range strings.Fields(u.names) {
			if name != word {
				continue
			}
			if u.only != Standard && u.only != c {
				return 0, false, fmt.Errorf("%s have no fixed length in the %s calendar, so they are %w", word, c, errors.ErrUnsupported)
			}
			return u.nanoseconds, i > 1, nil
		}
	}
	return 0, false, fmt.Errorf("time unit %q is %w; use nanoseconds to days", word, errors.ErrUnsupported)
}

// lengthName returns the plural of a unit's name.
func lengthName(nanoseconds int64) string {
	for _, u := range unitTable {
		if u.nanoseconds == nanoseconds {
			return strings.Fields(u.names)[1]
		}
	}
	return fmt.Sprint(nanoseconds, " nanoseconds")
}

// ParseUnits parses the attributes units and calendar.
func ParseUnits(units, calendar string) (Units, error) {
	c, err := ParseCalendar(calendar)
	if err != nil {
		return Units{}, err
	}
	word, since, ok := cutSince(units)
	if !ok {
		return Units{}, fmt.Errorf("time units %q do not have the form UNIT since DATE", units)
	}
	u := Units{Calendar: c}
	if u.Nanoseconds, u.isCoarse, err = parseLength(word, c); err == nil {
		u.Epoch, u.isUnclear, err = parseEpoch(since, c)
	}
	if !u.isUnclear {
		u.text = units
	}
	if err != nil {
		return Units{}, fmt.Errorf("time units %q: %w", units, err)
	}
	u.isCoarse = u.isCoarse || !c.isReal() || c == Julian || !u.Epoch.fitsDatetime64() || c == Standard && u.Epoch.Seconds < gregorianStart*86400
	return u, nil
}

// Coarse reports whether xarray calls cftime to decode these units. cftime has no value for a missing
// time: it decodes nothing if one element is the smallest int64, and it decodes NaN to the epoch.
func (u Units) Coarse() bool { return u.isCoarse }

// Unclear reports whether programs read the zone in the attribute's text in different ways. String then
// returns another text for the units, without a zone.
func (u Units) Unclear() bool { return u.isUnclear }

// cutSince splits units at the word "since".
func cutSince(units string) (word, since string, ok bool) {
	fields := strings.Fields(units)
	if len(fields) < 3 || !strings.EqualFold(fields[1], "since") {
		return "", "", false
	}
	return fields[0], strings.Join(fields[2:], " "), true
}

// fitsDatetime64 reports whether datetime64[ns] can represent the instant: nanoseconds since 1970 fit an int64.
func (t Instant) fitsDatetime64() bool { return t.Seconds > -9223372036 && t.Seconds < 9223372036 }

// UnitsOf returns the units of a variable. It reports false if the variable does not contain times.
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

// tick returns the length of one step of NumPy's datetime64 in nanoseconds.
func tick(t codec.Type) (int64, error) {
	lengths := map[string]int64{"ns": 1, "us": 1e3, "ms": 1e6, "s": second, "m": 60 * second, "h": 3600 * second, "D": day, "W": 7 * day}
	length, ok := lengths[t.Unit]
	if !ok || t.Ticks > 1e6 {
		return 0, fmt.Errorf("%s is %w; use a unit from ns to W", t, errors.ErrUnsupported)
	}
	return length * int64(max(t.Ticks, 1)), nil
}

// String returns the attribute's text. If it is unclear, or the units come from no attribute, String
// returns a text in the form of the attribute.
func (u Units) String() string {
	if u.text != "" {
		return u.text
	}
	return lengthName(u.Nanoseconds) + " since " + u.Epoch.Format(u.Calendar)
}

// Format returns an instant as a date of a calendar. It adds the time of day and the fraction of a second
// only if they are not zero.
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

// Parents maps the path of a bounds variable to the time variable that names it.
type Parents map[string]*manifest.Variable

// BoundsRoles are the attributes that name bounds.
var BoundsRoles = []string{"bounds", "climatology"}

// ParentsOf returns the parents in a header. If several variables name the same bounds, the first
// counts.
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
			// CF names bounds without a path, so they are in the same group.
			at := p.Path[:strings.LastIndexByte(p.Path, '/')+1] + child
			if all[at] == nil {
				all[at] = p
			}
		}
	}
	return all
}

// Bounds returns the variable itself or, if it contains the bounds of a time variable and has no
// units, a copy with the units and calendar of that variable, as CF 7.1 requires.
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

// Bounded returns the time variable whose bounds v contains and whose units apply to v. It is nil if v
// has units itself, or is not the bounds of times.
func (all Parents) Bounded(v *manifest.Variable) *manifest.Variable {
	parent := all[v.Path]
	if parent == nil || manifest.Lookup(v.Attributes, UnitsName) != nil || !IsNumber(v.Type) {
		return nil
	}
	return parent
}
