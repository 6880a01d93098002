// Package newdim makes the values of new dimensions from texts, such as names of files.
package newdim

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/namepattern"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/report"
)

// Text is the value of a new dimension for one file, as text.
type Text struct {
	texts [7]string // year, month, day, hour, minute, second and day of the year; or one text in texts[0]
	dated bool
}

// Match matches the name of a file, and its whole path if the name does not match.
func Match(pattern *regexp.Regexp, url string) (s Text, ok bool) {
	m := pattern.FindStringSubmatch(report.Base(url))
	if m == nil {
		if m = pattern.FindStringSubmatch(manifest.ToSlash(url)); m == nil {
			return s, false
		}
	}
	for i, name := range namepattern.TimeGroups {
		if k := pattern.SubexpIndex(name); k > 0 {
			s.texts[i], s.dated = m[k], true
		}
	}
	if !s.dated {
		s.texts[0] = m[1]
	}
	return s, true
}

// OfAttribute returns the value of an attribute of the root group, and false if there is none.
func OfAttribute(g *manifest.GroupAttributes, name string) (s Text, ok bool) {
	a := coord.RootAttribute(g, name)
	if a == nil {
		return s, false
	}
	if len(a.Texts) > 0 {
		return OfText(a.Texts[0]), true
	}
	x, err := coord.ReadNumbers(&manifest.Variable{Path: name, Type: a.Type}, a.Data)
	if err != nil || x.Len == 0 {
		return s, false
	}
	return OfText(x.Say(0)), true
}

// Kind is the type of the values of a new dimension: a unit of times, or one of the others.
type Kind string

// The kinds besides the units of times.
const (
	Wholes  Kind = "integers"
	Numbers Kind = "floats"
	Texts   Kind = "texts"
)

// kinds lists all kinds in the order in which Elements tries them.
func kinds() (list []Kind) {
	for _, u := range stepUnits {
		list = append(list, Kind(u.name))
	}
	return append(list, Wholes, Numbers, Texts)
}

// Elements is the coordinate of a new dimension.
type Elements struct {
	Kind     Kind
	Variable *manifest.Variable
	Values   map[int32]*manifest.Values // by file
}

// ElementsOf returns the values that texts give to files. Their kind is the first that can represent all of them, but
// none before least: the kind that an earlier plan needed for other files, or "". An error is about the returned file.
func ElementsOf(at string, steps map[int32]Text, least Kind) (e *Elements, file int32, err error) {
	unit, areTimes, file, err := unitOf(steps)
	if err != nil {
		return nil, file, err
	}
	e = &Elements{Kind: Texts, Values: map[int32]*manifest.Values{}}
	switch {
	case areTimes:
		e.Kind = Kind(unit.name)
	case fits(steps, Text.whole):
		e.Kind = Wholes
	case fits(steps, Text.number):
		e.Kind = Numbers
	}
	list := kinds()
	k := max(slices.Index(list, e.Kind), slices.Index(list, least))
	e.Kind = list[k]
	e.Variable = &manifest.Variable{Path: at, Dims: []string{at}, Shape: []int64{1}, Type: codec.Type{Kind: codec.Int, Size: 8}}
	var element func(Text) (*manifest.Values, error)
	switch e.Kind {
	case Wholes:
		element = Text.whole
	case Numbers:
		e.Variable.Type.Kind, element = codec.Float, Text.number
	case Texts:
		e.Variable.Type, element = codec.Type{Kind: codec.String}, Text.text
	default:
		e.Variable.Attributes, element = stepUnits[k].attributes(), stepUnits[k].element
	}
	for f, s := range steps {
		x, err := element(s)
		if err != nil {
			return nil, f, err
		}
		x.SetID()
		e.Values[f] = x
	}
	return e, 0, nil
}

// fits reports whether all values can be represented as elements of a kind.
func fits(steps map[int32]Text, element func(Text) (*manifest.Values, error)) bool {
	for _, s := range steps {
		if _, err := element(s); err != nil {
			return false
		}
	}
	return true
}

func wordOf(n uint64) *manifest.Values {
	return &manifest.Values{Data: binary.LittleEndian.AppendUint64(nil, n)}
}

func (s Text) whole() (*manifest.Values, error) {
	n, err := strconv.ParseInt(s.texts[0], 10, 64)
	return wordOf(uint64(n)), err
}

// number returns a float64, or an error if the text is a whole number beyond int64, which a float64
// would round.
func (s Text) number() (*manifest.Values, error) {
	if _, err := strconv.ParseInt(s.texts[0], 10, 64); errors.Is(err, strconv.ErrRange) {
		return nil, err
	}
	n, err := strconv.ParseFloat(s.texts[0], 64)
	return wordOf(math.Float64bits(n)), err
}

func (s Text) text() (*manifest.Values, error) {
	return &manifest.Values{Texts: [][]byte{[]byte(s.texts[0])}}, nil
}

// unitOf returns the coarsest unit in which all times are whole numbers, and whether all values are
// times. An invalid date in named groups is an error about the returned file.
func unitOf(steps map[int32]Text) (unit stepUnit, areTimes bool, file int32, err error) {
	units, areTimes := stepUnits, true
	for _, f := range slices.Sorted(maps.Keys(steps)) {
		s := steps[f]
		t, err := s.time()
		if s.dated && err != nil {
			return unit, false, f, err
		}
		areTimes = areTimes && err == nil
		for !units[0].divides(t) {
			units = units[1:]
		}
	}
	return units[0], areTimes, 0, nil
}

// stepUnit is a unit of time.
type stepUnit struct {
	name   string
	length time.Duration
}

// stepUnits lists the units for values, coarsest first.
var stepUnits = []stepUnit{
	{"days", 24 * time.Hour}, {"seconds", time.Second}, {"milliseconds", time.Millisecond}, {"microseconds", time.Microsecond}, {"nanoseconds", 1},
}

// divides reports whether a time is a whole number of units since 1970.
func (u stepUnit) divides(t time.Time) bool {
	if u.length >= time.Second {
		return t.Nanosecond() == 0 && t.Unix()%int64(u.length/time.Second) == 0
	}
	return t.Nanosecond()%int(u.length) == 0
}

// count returns the number of units since 1970-01-01.
func (u stepUnit) count(t time.Time) (int64, error) {
	if u.length >= time.Second {
		return t.Unix() / int64(u.length/time.Second), nil
	}
	each := int64(time.Second / u.length)
	if s := t.Unix(); s <= math.MinInt64/each || s >= math.MaxInt64/each {
		return 0, fmt.Errorf("%s is too far from 1970 for the unit %s, which other files need", t.Format(time.RFC3339Nano), u.name)
	}
	return t.Unix()*each + int64(t.Nanosecond())/int64(u.length), nil
}

// element returns the time of a value in units.
func (u stepUnit) element(s Text) (*manifest.Values, error) {
	t, err := s.time()
	if err != nil {
		return nil, err
	}
	n, err := u.count(t)
	return wordOf(uint64(n)), err
}

func (u stepUnit) attributes() []manifest.Attribute {
	list := []manifest.Attribute{}
	for _, a := range [][2]string{{"standard_name", "time"}, {"units", u.name + " since 1970-01-01"}, {"calendar", "proleptic_gregorian"}} {
		list = append(list, manifest.Attribute{Name: a[0], Type: codec.Type{Kind: codec.String}, Texts: []string{a[1]}, Scalar: true})
	}
	return list
}

// ShortYear returns the digits and the year of a value whose text has a year of two digits, and false
// for others.
func (s Text) ShortYear() (digits string, year int, ok bool) {
	if !s.dated || len(s.texts[0]) != shortYear {
		return "", 0, false
	}
	year, _ = yearOf(s.texts[0]) // an invalid year was refused already
	return s.texts[0], year, true
}

// OfText returns a value that is one text.
func OfText(text string) (s Text) {
	s.texts[0] = text
	return s
}

// yearDigits and shortYear are the lengths of years: 1997, or 97.
const yearDigits, shortYear = 4, 2

// yearOf parses a year with four or two digits. As in POSIX, 69 to 99 are 1969 to 1999, and 00 to 68
// are 2000 to 2068.
func yearOf(text string) (int, error) {
	year, err := strconv.Atoi(text)
	switch {
	case err != nil || year < 0 || len(text) != yearDigits && len(text) != shortYear:
		return 0, fmt.Errorf("the year %q has neither four digits, nor two (for 1969 to 2068)", text)
	case len(text) == shortYear && year < 69:
		return year + 2000, nil
	case len(text) == shortYear:
		return year + 1900, nil
	}
	return year, nil
}

// time parses a value: named groups, or an ISO 8601 date.
func (s Text) time() (time.Time, error) {
	if !s.dated {
		for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02"} {
			if t, err := time.Parse(layout, s.texts[0]); err == nil {
				return t, nil
			}
		}
		return time.Time{}, fmt.Errorf("%q is not a date", s.texts[0])
	}
	parts := [7]int{1970, 1, 1, 0, 0, 0, 0}
	for i, text := range s.texts {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("%q is not a number", text)
		}
		parts[i] = n
	}
	if s.texts[0] != "" {
		year, err := yearOf(s.texts[0])
		if err != nil {
			return time.Time{}, err
		}
		parts[0] = year
	}
	t := time.Date(parts[0], time.Month(parts[1]), parts[2], parts[3], parts[4], parts[5], 0, time.UTC)
	if s.texts[6] != "" {
		if t = t.AddDate(0, 0, parts[6]-1); t.YearDay() != parts[6] {
			return t, fmt.Errorf("%04d has no day %d", parts[0], parts[6])
		}
		parts[1], parts[2] = int(t.Month()), t.Day()
	}
	if [6]int(parts[:6]) != [6]int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second()} {
		return t, fmt.Errorf("%04d-%02d-%02d %02d:%02d:%02d is not a valid time", parts[0], parts[1], parts[2], parts[3], parts[4], parts[5])
	}
	return t, nil
}
