package present

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"varve/codec"
	"varve/grid"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
	"varve/zarrjson"
)

// labels are the values of a coordinate, as a user names them.
type labels struct {
	name    string
	numbers []float64    // of a coordinate that holds numbers
	times   []cf.Instant // of one that holds times
	ok      []bool       // which of them are times
	units   cf.Units
	texts   []string
}

// coordinateOf finds the coordinate of a dimension: the array of its name in the group of the
// array that has the dimension, or in one above it.
func coordinateOf(st *store.Store, a *store.Array, dim string) (*store.Array, bool) {
	for group := path.Dir(a.Path()); ; group = path.Dir(group) {
		coordinate, err := st.Array(path.Join(group, dim))
		if err == nil && coordinate.Grid().Rank() == 1 {
			return coordinate, true
		}
		if group == "/" {
			return nil, false
		}
	}
}

func labelsOf(ctx context.Context, st *store.Store, a *store.Array, dim string) (*labels, error) {
	coordinate, ok := coordinateOf(st, a, dim)
	if !ok {
		return nil, fmt.Errorf("dimension %s has no coordinate; select it by index with --isel", dim)
	}
	return readLabels(ctx, coordinate)
}

// readAll reads an array that is small.
func readAll(ctx context.Context, a *store.Array) (codec.Elems, error) {
	elems := codec.NewElems(a.Face().Form(a.Grid().Shape()))
	return elems, a.ReadRegion(ctx, grid.Whole(a.Grid().Shape()), elems)
}

func readLabels(ctx context.Context, a *store.Array) (*labels, error) {
	form := a.Face().Form(a.Grid().Shape())
	elems, err := readAll(ctx, a)
	if err != nil {
		return nil, err
	}
	l := &labels{name: a.Path()}
	if form.Type.Varies() {
		for _, text := range elems.Var {
			l.texts = append(l.texts, string(text))
		}
		return l, nil
	}
	v := asVariable(a)
	if units, isTime, err := cf.UnitsOf(v); isTime || err != nil {
		if err != nil {
			return nil, err
		}
		return l, l.readTimes(v, units, elems.Fixed)
	}
	if !cf.IsNumber(form.Type) {
		return nil, fmt.Errorf("coordinate %s holds %s, which cannot be selected by value", a.Path(), form.Type)
	}
	for at := 0; at < len(elems.Fixed); at += form.Type.Size {
		l.numbers = append(l.numbers, cf.Float(form.Type, elems.Fixed[at:at+form.Type.Size]))
	}
	return l, nil
}

func (l *labels) readTimes(v *manifest.Variable, units cf.Units, data []byte) error {
	times, err := cf.TimesOf(v, &manifest.Values{Data: data})
	if err != nil {
		return err
	}
	l.units = units
	l.times, l.ok, err = times.Instants()
	return err
}

// asVariable is an array's face as CF sees it: a variable with attributes.
func asVariable(a *store.Array) *manifest.Variable {
	face := a.Face()
	return &manifest.Variable{Path: a.Path(), Shape: face.Shape, Type: face.DataType.Type(), Attributes: attributesOf(face)}
}

// attributesOf types the attributes of a face: text, and numbers.
func attributesOf(face *zarrjson.Array) (out []manifest.Attribute) {
	for name, value := range face.Attributes.All() {
		if name == "_FillValue" {
			if mask, err := face.DataType.DecodeMask(value); err == nil {
				out = append(out, manifest.Attribute{Name: name, Type: face.DataType.Type(), Data: mask, Scalar: true})
			}
			continue
		}
		if text, err := strconv.Unquote(string(value)); err == nil && strings.HasPrefix(string(value), `"`) {
			out = append(out, manifest.Attribute{Name: name, Type: codec.Type{Kind: codec.String}, Texts: []string{text}, Scalar: true})
		} else if number, err := strconv.ParseFloat(string(value), 64); err == nil {
			double := codec.Type{Kind: codec.Float, Size: 8}
			out = append(out, manifest.Attribute{Name: name, Type: double, Scalar: true,
				Data: cf.AppendWord(nil, math.Float64bits(number), 8)})
		}
	}
	return out
}

// narrow narrows an axis to the labels that a text names: one, or all from one to another,
// both included.
func (l *labels) narrow(x *Axis, text string) error {
	from, to, isRange := strings.Cut(text, ":")
	if l.times != nil {
		from, to, isRange = cutTimes(text)
	}
	matches, err := l.matcher(from, to, isRange)
	if err != nil {
		return err
	}
	first, last := int64(-1), int64(-1)
	for i := x.From; i < x.To; i++ {
		if !matches(i) {
			continue
		}
		if first < 0 {
			first = i
		} else if last != i-1 {
			return fmt.Errorf("the labels between %s are not in one piece", text)
		}
		last = i
	}
	if first < 0 {
		return fmt.Errorf("no label of %s is %s%s", l.name, text, l.span())
	}
	x.From, x.To, x.Single = first, last+1, !isRange && first == last
	return nil
}

// cutTimes cuts a range of times, whose clock has colons too: 2010-01:2010-02,
// 2010-01-01T12:00:2010-01-01T18:00. The cut is where a year follows.
func cutTimes(text string) (from, to string, isRange bool) {
	for i := range len(text) {
		if text[i] != ':' {
			continue
		}
		rest := text[i+1:]
		if rest == "" || len(rest) >= 4 && !strings.ContainsAny(rest[:4], ":.T") && (len(rest) == 4 || rest[4] == '-') || i == 0 {
			return text[:i], rest, true
		}
	}
	return text, "", false
}

// span tells a user what there is.
func (l *labels) span() string {
	switch {
	case len(l.numbers) > 0:
		return fmt.Sprintf("; they go from %v to %v", l.numbers[0], l.numbers[len(l.numbers)-1])
	case len(l.times) > 0:
		return fmt.Sprintf("; they go from %s to %s", l.times[0].Format(l.units.Calendar), l.times[len(l.times)-1].Format(l.units.Calendar))
	}
	return ""
}

// matcher reports which labels are meant.
func (l *labels) matcher(from, to string, isRange bool) (func(i int64) bool, error) {
	switch {
	case l.times != nil:
		return l.timeMatcher(from, to, isRange)
	case l.texts != nil:
		if isRange {
			return nil, fmt.Errorf("%s holds text: name one label", l.name)
		}
		return func(i int64) bool { return l.texts[i] == from }, nil
	}
	low, high, err := bounds(from, to, isRange)
	if err != nil {
		return nil, err
	}
	return func(i int64) bool { return l.numbers[i] >= low && l.numbers[i] <= high }, nil
}

// bounds reads numbers; what is left out is without bound. On a falling axis a range may be
// named either way.
func bounds(from, to string, isRange bool) (low, high float64, err error) {
	low, high = math.Inf(-1), math.Inf(1)
	if from != "" {
		if low, err = strconv.ParseFloat(from, 64); err != nil {
			return 0, 0, fmt.Errorf("%q is no number", from)
		}
	}
	if !isRange {
		return low, low, nil
	}
	if to != "" {
		if high, err = strconv.ParseFloat(to, 64); err != nil {
			return 0, 0, fmt.Errorf("%q is no number", to)
		}
	}
	return min(low, high), max(low, high), nil
}

// timeMatcher knows partial dates, which stand for all of their year, month, day, …
func (l *labels) timeMatcher(from, to string, isRange bool) (func(i int64) bool, error) {
	if !isRange {
		to = from
	}
	var first, last cf.Instant
	var err error
	if from != "" {
		if first, _, err = span(from, l.units.Calendar); err != nil {
			return nil, err
		}
	}
	if to != "" {
		if _, last, err = span(to, l.units.Calendar); err != nil {
			return nil, err
		}
	}
	return func(i int64) bool {
		t := l.times[i]
		return l.ok[i] && (from == "" || t.Compare(first) >= 0) && (to == "" || t.Compare(last) < 0)
	}, nil
}

// span reads a date, or the beginning of one, and returns the first instant of it and the
// first behind it: 2010 is a year, 2010-02 a month, 2010-02-03T06 an hour.
func span(text string, c cf.Calendar) (first, behind cf.Instant, err error) {
	u, err := cf.ParseUnits("seconds since "+text, c.String())
	if err != nil {
		return first, behind, err
	}
	day, clock, _ := strings.Cut(strings.ReplaceAll(text, "T", " "), " ")
	parts := strings.Split(day, "-")
	if day == text && len(parts) < 3 {
		u2, err := cf.ParseUnits("seconds since "+following(parts), c.String())
		return u.Epoch, u2.Epoch, err
	}
	seconds := []int64{86400, 3600, 60, 1}
	n := 0
	if clock != "" {
		n = min(1+strings.Count(clock, ":"), 3)
	}
	behind = u.Epoch
	behind.Seconds += seconds[n]
	return u.Epoch, behind, nil
}

// following is the year or month behind one.
func following(parts []string) string {
	year, _ := strconv.Atoi(parts[0]) // ParseUnits has read it
	if len(parts) == 1 {
		return fmt.Sprintf("%04d", year+1)
	}
	month, _ := strconv.Atoi(parts[1])
	if month == 12 {
		return fmt.Sprintf("%04d-01", year+1)
	}
	return fmt.Sprintf("%04d-%02d", year, month+1)
}
