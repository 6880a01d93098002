package present

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/store"
)

// ByCoordinate narrows a selection by values of coordinates: "lat=45.5", "lat=-5:5", "time=2010-02",
// "time=2010-01:2010-03", "station=Oslo". As in xarray's sel, a single value must exist, a range includes both
// ends, and a shortened date selects its whole year, month, day or hour. The ends of a range may be in either
// order. The ends of a range of texts must be labels; a range of numbers or times may select none.
//
// "lat=~50.3" selects the nearest number or time. Longitudes are cyclic: "lon=-10:10" on a coordinate from 0 to 360 selects 350 to
// 10 across the seam, both parts in this order, because -10 is outside the coordinate.
func (s *Selection) ByCoordinate(ctx context.Context, st *store.Store, terms []string) error {
	for _, term := range terms {
		axis, text, err := s.find(term)
		if err != nil {
			return &SelectionError{term, s.explain(st, term, err)}
		}
		coordinate, err := s.coordinate(st, axis.Dim)
		if err != nil {
			return &SelectionError{term, err}
		}
		l, err := labelsOf(ctx, coordinate)
		if err != nil {
			return err
		}
		if err := l.narrow(axis, text); err != nil {
			return &SelectionError{term, err}
		}
	}
	return nil
}

// explain returns why a coordinate that is not a dimension cannot be used for selection.
func (s *Selection) explain(st *store.Store, term string, err error) error {
	name, _, _ := strings.Cut(term, "=")
	isDim := slices.ContainsFunc(s.Axes, func(x Axis) bool { return x.Dim == name })
	a, ok := arraysOf(st).Nearest(s.Array, name)
	if isDim || !ok || name == "" || strings.Contains(name, "/") {
		return err
	}
	dims := a.Schema().Dims()
	switch {
	case len(dims) == 1 && dims[0] == name: // the coordinate of a dimension of other arrays
		return err
	case len(dims) == 0:
		return fmt.Errorf("%s is a scalar and has no dimension to select along", a.Path())
	}
	return manifest.WithRemedy(fmt.Errorf("%s has the dimensions (%s) and is the coordinate of none of them; select by index",
		a.Path(), strings.Join(dims, ", ")), "isel", strings.Join(dims, "=INDEX,")+"=INDEX")
}

// arraysOf finds the arrays of a store.
func arraysOf(st *store.Store) cf.Hierarchy[*store.Array] {
	return func(path string) (*store.Array, bool) {
		a, err := st.Array(path)
		return a, err == nil
	}
}

// labels are the values of a coordinate.
type labels interface {
	// matcher returns a function that reports whether a label matches a query, which is one text or a range
	// with optional ends. It returns a *LabelError, without the coordinate, for an end that must be a label.
	matcher(want query) (func(i int64) bool, error)
	// query parses the text of a term, after the equals sign.
	query(text string) query
	// nearest returns labels that are near one that does not exist, or examples of labels. It returns none
	// if text is not a label of this type.
	nearest(text string) (labels []string, areNear bool)
}

// distant labels have a distance from a number or a time, so that one of them is the closest.
type distant interface {
	// closest returns the label at the least distance, and of two the larger; -1 if there are no labels.
	closest(text string) (int64, error)
}

// query is a label or a range of labels.
type query struct {
	from, to string
	isRange  bool
	several  bool // the label selects several values, such as a month
}

// labelSet is a coordinate with its labels.
type labelSet struct {
	labels
	name string
}

// coordinate returns the coordinate of a dimension.
func (s *Selection) coordinate(st *store.Store, dim string) (*store.Array, error) {
	if c, ok := arraysOf(st).Coordinate(s.Array, dim); ok {
		return c, nil
	}
	if c, ok := arraysOf(st).Nearest(s.Array, dim); ok && c.Grid().Rank() > 1 {
		return nil, manifest.WithRemedy(fmt.Errorf("%s has %d dimensions and is the coordinate of none of them; select by index", c.Path(), c.Grid().Rank()), "isel", dim+"=INDEX")
	}
	return nil, manifest.WithRemedy(fmt.Errorf("dimension %s has no coordinate; select by index", dim), "isel", dim+"=INDEX")
}

func labelsOf(ctx context.Context, coordinate *store.Array) (*labelSet, error) {
	elems, err := Whole(coordinate).read(ctx, codec.Elems{})
	if err != nil {
		return nil, err
	}
	d, err := NewDecoder(coordinate, nil)
	if err != nil {
		return nil, err
	}
	l := &labelSet{name: coordinate.Path()}
	switch kind := d.typ.Kind; {
	case d.times != nil:
		l.labels, err = newTimeLabels(d, elems.Fixed)
	case kind == codec.String || kind == codec.FixedBytes || kind == codec.FixedUTF32:
		l.labels = newTextLabels(d, elems, coordinate.Grid().Shape()[0])
	case cf.IsNumber(d.typ):
		numbers := newNumberLabels(d, elems.Fixed)
		numbers.isCyclic = cf.RoleOf(coordinate.Path(), coordinate.Schema()) == cf.LongitudeRole && strings.HasPrefix(cf.TextIn(coordinate.Attributes(), cf.UnitsName), "degree")
		l.labels = numbers
	default:
		err = manifest.WithRemedy(fmt.Errorf("%s has the data type %s: selecting by value: %w", coordinate.Path(), coordinate.Schema().DataType.Name(), errors.ErrUnsupported), "isel", "DIM=INDEX")
	}
	return l, err
}

// narrow narrows an axis to one label, or to a range of labels. It returns an error if the labels that match
// are not contiguous, because the result must be a slice.
func (l *labelSet) narrow(x *Axis, text string) error {
	if d, ok := l.labels.(distant); ok && strings.HasPrefix(text, "~") {
		i, err := d.closest(text[1:])
		if err == nil && i < 0 {
			err = &LabelError{Coordinate: l.name, Label: text}
		}
		x.From, x.To, x.Single = i, i+1, true
		return err
	}
	q := l.query(text)
	if n, ok := l.labels.(*numberLabels); ok && n.isCyclic {
		if list, err := n.across(q); err != nil || list != nil {
			x.List = list
			x.Single = !q.isRange && len(list) == 1
			if x.Single {
				x.From, x.To, x.List = list[0], list[0]+1, nil
			}
			return err
		}
	}
	matches, err := l.matcher(q)
	var unknown *LabelError
	if errors.As(err, &unknown) {
		unknown.Coordinate = l.name
	}
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
			return manifest.WithRemedy(fmt.Errorf("%s: the selected labels are not contiguous: index %d matches, %d does not; select by index", l.name, last, last+1), "isel", "DIM=FROM:TO")
		}
		last = i
	}
	switch {
	case first >= 0:
		x.From, x.To, x.Single = first, last+1, !q.isRange && !q.several && first == last
	case q.isRange:
		x.From, x.To = 0, 0
	default:
		e := &LabelError{Coordinate: l.name, Label: text}
		e.Labels, e.AreNear = l.nearest(text)
		return e
	}
	return nil
}

// LabelError reports a label that a coordinate does not have.
type LabelError struct {
	Coordinate, Label string
	Labels            []string // labels near it, or examples of labels
	AreNear           bool
}

// Error names the coordinate and some of its labels.
func (e *LabelError) Error() string {
	out := fmt.Sprintf("no label of %s is %s", e.Coordinate, e.Label)
	switch {
	case len(e.Labels) == 0:
		return out
	case !e.AreNear:
		return out + "; it has labels such as " + strings.Join(e.Labels, ", ")
	case len(e.Labels) == 1:
		return out + "; the nearest is " + e.Labels[0]
	}
	return out + "; the nearest are " + strings.Join(e.Labels[:len(e.Labels)-1], ", ") + " and " + e.Labels[len(e.Labels)-1]
}

// cutRange splits a range at its only colon.
func cutRange(text string) query {
	from, to, isRange := strings.Cut(text, ":")
	return query{from: from, to: to, isRange: isRange}
}
