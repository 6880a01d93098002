package planner

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/namepattern"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// stepText is the value of a new dimension for one file, as text.
type stepText struct {
	texts [7]string // year, month, day, hour, minute, second and day of the year; or one text in texts[0]
	dated bool
}

// stepTexts reads the values from file names, attributes or a list.
func (p *survey) stepTexts(n *plan.NewDim, among func(*class) bool) (steps map[int32]stepText, lack []int32, err error) {
	var pattern *regexp.Regexp
	if n.Pattern != "" {
		if pattern, err = namepattern.Compile(n.Pattern); err != nil {
			return nil, nil, err
		}
	}
	if n.Values != nil && len(n.Values) != p.env.namedFiles() {
		return nil, nil, fmt.Errorf("the list has %d values, but there are %d files; give one value for each file", len(n.Values), p.env.namedFiles())
	}
	steps = map[int32]stepText{}
	at := 0
	for f, file := range p.env.files {
		if file.Hidden {
			continue
		}
		var s stepText
		ok := true
		switch {
		case pattern != nil:
			s, ok = matchStep(pattern, file.URL)
		case n.Attribute != "":
			s.texts[0], ok = attributeText(file.Groups, n.Attribute)
		case n.Values != nil:
			s.texts[0] = n.Values[at]
		}
		at++
		if p.classOf[f] < 0 || !among(p.classes[p.classOf[f]]) {
			continue
		}
		if !ok {
			lack = append(lack, int32(f))
			continue
		}
		steps[int32(f)] = s
	}
	return steps, lack, nil
}

// matchStep matches the name of a file, and its whole path if the name does not match.
func matchStep(pattern *regexp.Regexp, url string) (s stepText, ok bool) {
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

// CheckRenamed returns an error if a file's new name gives it another position than its old name. A
// later plan would move such a file without notice.
func CheckRenamed(o *plan.Options, was, is string) error {
	for _, n := range o.NewDims {
		if n.Pattern == "" {
			continue
		}
		pattern, err := namepattern.Compile(n.Pattern)
		if err != nil {
			return fmt.Errorf("dimension %s: %w", n.Name, err)
		}
		a, ok := matchStep(pattern, was)
		b, ok2 := matchStep(pattern, is)
		if ok != ok2 || a != b {
			return fmt.Errorf("%s is read from file names, and %s gives another value than %s", n.Name, is, was)
		}
	}
	return nil
}

func attributeText(g *manifest.GroupAttributes, name string) (string, bool) {
	if g == nil {
		return "", false
	}
	for _, group := range g.Groups {
		if group.Path != "/" {
			continue
		}
		a := manifest.Lookup(group.Attributes, name)
		if a == nil {
			return "", false
		}
		if len(a.Texts) > 0 {
			return a.Texts[0], true
		}
		x, err := readNumbers(&manifest.Variable{Path: name, Type: a.Type}, a.Data)
		if err != nil || x.n == 0 {
			return "", false
		}
		return x.say(0), true
	}
	return "", false
}

// elementsOfSteps returns a variable and each file's value for it. The type is the first of these
// that can represent all values: times, whole numbers, floats, texts.
func (p *env) elementsOfSteps(at string, steps map[int32]stepText) (*manifest.Variable, map[int32]*manifest.Values, error) {
	v := &manifest.Variable{Path: at, Dims: []string{at}, Shape: []int64{1}, Type: codec.Type{Kind: codec.Int, Size: 8}}
	element := stepText.whole
	unit, ok, err := p.unitOf(steps)
	switch {
	case err != nil:
		return nil, nil, err
	case ok:
		v.Attributes, element = unit.attributes(), unit.element
	case fits(steps, stepText.whole):
	case fits(steps, stepText.number):
		v.Type.Kind, element = codec.Float, stepText.number
	default:
		v.Type, element = codec.Type{Kind: codec.String}, stepText.text
	}
	values := map[int32]*manifest.Values{}
	for f, s := range steps {
		x, err := element(s)
		if err != nil {
			return nil, nil, p.inFile(f, err)
		}
		x.SetID()
		values[f] = x
	}
	return v, values, nil
}

// fits reports whether all values can be represented as elements of a kind.
func fits(steps map[int32]stepText, element func(stepText) (*manifest.Values, error)) bool {
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

func (s stepText) whole() (*manifest.Values, error) {
	n, err := strconv.ParseInt(s.texts[0], 10, 64)
	return wordOf(uint64(n)), err
}

// number returns a float64, or an error if the text is a whole number beyond int64, which a float64
// would round.
func (s stepText) number() (*manifest.Values, error) {
	if _, err := strconv.ParseInt(s.texts[0], 10, 64); errors.Is(err, strconv.ErrRange) {
		return nil, err
	}
	n, err := strconv.ParseFloat(s.texts[0], 64)
	return wordOf(math.Float64bits(n)), err
}

func (s stepText) text() (*manifest.Values, error) {
	return &manifest.Values{Texts: [][]byte{[]byte(s.texts[0])}}, nil
}

// unitOf returns the coarsest unit in which all times are whole numbers, and whether all values are
// times. An invalid date in named groups is an error.
func (p *env) unitOf(steps map[int32]stepText) (unit stepUnit, areTimes bool, err error) {
	units, areTimes := stepUnits, true
	for _, f := range sorted(steps) {
		s := steps[f]
		t, err := s.time()
		if s.dated && err != nil {
			return unit, false, p.inFile(f, err)
		}
		areTimes = areTimes && err == nil
		for !units[0].divides(t) {
			units = units[1:]
		}
	}
	return units[0], areTimes, nil
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
func (u stepUnit) element(s stepText) (*manifest.Values, error) {
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

// noteShortYears reports the files whose names have years of two digits.
func (p *env) noteShortYears(n *plan.NewDim, steps map[int32]stepText) {
	var short []int32
	for _, f := range sorted(steps) {
		if s := steps[f]; s.dated && len(s.texts[0]) == shortYear {
			short = append(short, f)
		}
	}
	if len(short) == 0 {
		return
	}
	example := slices.MinFunc(short, p.byName)
	year, _ := yearOf(steps[example].texts[0]) // an invalid year was refused already
	p.find(p.odd(report.Finding{Code: report.ShortYears, Effect: report.Noted, Dim: n.Name,
		Args: report.Args{"digits": steps[example].texts[0], "year": strconv.Itoa(year)}}, short, int64(len(steps))))
}

// time parses a value: named groups, or an ISO 8601 date.
func (s stepText) time() (time.Time, error) {
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
