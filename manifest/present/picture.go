package present

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/plot"
	"varve/manifest/store"
)

// maxDrawn is the largest number of elements of a picture along an axis, and maxLine that of a line. Of longer
// axes, only every second, third, … element is drawn.
const (
	maxDrawn = 2048
	maxLine  = 1 << 22
)

// WritePNG draws a selection as a line (one axis) or as a field of colours (two axes), with its coordinates.
// Axes with one index are omitted. Make the decoder with decode, so that the numbers have units.
func WritePNG(ctx context.Context, w io.Writer, st *store.Store, s *Selection, d *Decoder) error {
	p, err := Plot(ctx, st, s, d)
	if err != nil {
		return err
	}
	return p.PNG(w)
}

// Plot reads the data that WritePNG draws.
func Plot(ctx context.Context, st *store.Store, s *Selection, d *Decoder) (*plot.Plot, error) {
	if err := d.IsNumeric(); err != nil {
		return nil, err
	}
	axes, err := s.drawn()
	if err != nil {
		return nil, err
	}
	thin := s.thinned(axes)
	p := &plot.Plot{Unit: d.label(baseName(s.Array)), Values: make([]float64, 0, thin.Count())}
	err = thin.Each(ctx, func(elems codec.Elems) error {
		n := len(elems.Fixed) / d.typ.Size
		p.Values = p.Values[:len(p.Values)+n]
		d.Float64s(p.Values[len(p.Values)-n:], elems.Fixed)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, k := range axes {
		axis, err := axisOf(ctx, st, s.Array, thin.Axes[k])
		if err != nil {
			return nil, err
		}
		if i == len(axes)-1 {
			p.X = axis
		} else {
			p.Y = &axis
		}
	}
	p.Title, err = s.title(ctx, st, axes)
	return p, err
}

// drawn returns the one or two axes of a picture.
func (s *Selection) drawn() (axes []int, err error) {
	var long, names []string
	single := -1
	for k, x := range s.Axes {
		if !x.Single {
			single = k
		}
		if x.Len() != 1 {
			axes = append(axes, k)
			long = append(long, fmt.Sprintf("%s (%d)", x.Dim, x.Len()))
			names = append(names, x.Dim+"=0")
		}
	}
	switch n := len(axes); {
	case s.Count() == 0:
		return nil, fmt.Errorf("%s: the selection is empty", s.Array.Path())
	case n == 0 && single < 0:
		return nil, fmt.Errorf("%s: the selection has one value, but a line needs two", s.Array.Path())
	case n == 0:
		return []int{single}, nil
	case n > 2:
		return nil, manifest.WithRemedy(fmt.Errorf("%s: the selection has the axes %s, but a picture has two; select one index of each other axis",
			s.Array.Path(), strings.Join(long, ", ")), "isel", strings.Join(names[:n-2], ","))
	}
	return axes, nil
}

// thinned returns the selection with fewer elements along axes that are too long to draw.
func (s *Selection) thinned(axes []int) *Selection {
	out := &Selection{Array: s.Array, Axes: append([]Axis(nil), s.Axes...)}
	for _, k := range axes {
		out.Axes[k] = s.Axes[k].every(s.thinning(axes, k))
	}
	return out
}

// thinning returns n if every n-th position of an axis is drawn.
func (s *Selection) thinning(axes []int, k int) int64 {
	most := int64(maxDrawn)
	if len(axes) == 1 {
		most = maxLine
	}
	if !slices.Contains(axes, k) {
		return 1
	}
	return (s.Axes[k].Len()-1)/most + 1
}

// label returns the name of an array with its units.
func (d *Decoder) label(name string) string {
	return cf.Label(d.array.Schema().Attributes, name, d.times != nil)
}

// axisOf returns an axis for drawing: with numbers, or with names if the coordinate has times or strings.
func axisOf(ctx context.Context, st *store.Store, a *store.Array, x Axis) (plot.Axis, error) {
	axis := plot.Axis{Label: x.Dim, Len: int(x.Len())}
	c, err := columnOf(ctx, st, a, x)
	if err != nil {
		return axis, err
	}
	axis.At = make([]float64, axis.Len)
	switch {
	case c.decoder == nil:
		for i := range axis.At {
			axis.At[i] = float64(x.At(int64(i)))
		}
		return axis, nil
	case c.decoder.times == nil && c.decoder.IsNumeric() == nil:
		c.decoder.Float64s(axis.At, c.labels.Fixed)
	default:
		err = c.name(&axis)
	}
	axis.Label = c.decoder.label(x.Dim)
	return axis, err
}

// name assigns names to the cells of an axis. The position of a cell is its number, negated if the axis is
// descending.
func (c *column) name(axis *plot.Axis) error {
	names, seconds := make([]string, axis.Len), false
	for i := range names {
		label, err := c.label(int64(i))
		if err != nil {
			return err
		}
		names[i] = string(label)
		seconds = seconds || c.decoder.times == nil || len(label) > len("2010-01-01") && !strings.HasSuffix(names[i], ":00")
	}
	for i := range names {
		if !seconds && len(names[i]) > len("2010-01-01") { // all seconds are 0, so omit them
			names[i] = strings.TrimSuffix(names[i], ":00")
		}
	}
	sign := 1.0
	if n := len(names); c.decoder.times != nil && names[0] > names[n-1] {
		sign = -1
	}
	for i := range axis.At {
		axis.At[i] = sign * float64(i)
	}
	axis.Name = func(at float64) string { return names[int(math.Abs(at))] }
	return nil
}

// title returns the name of the array and the position on the axes that are not drawn.
func (s *Selection) title(ctx context.Context, st *store.Store, axes []int) (string, error) {
	title := baseName(s.Array)
	for k, x := range s.Axes {
		if n := s.thinning(axes, k); n > 1 {
			title += fmt.Sprintf(", 1 of %d along %s", n, x.Dim)
		}
		if x.Len() != 1 || s.Count() == 1 && !x.Single {
			continue
		}
		c, err := columnOf(ctx, st, s.Array, x)
		if err != nil {
			return "", err
		}
		label, err := c.label(0)
		if err != nil {
			return "", err
		}
		title += ", " + x.Dim + " = " + string(label)
	}
	return title, nil
}
