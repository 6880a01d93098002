package georef

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"varve/codec"
	"varve/grid"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/crs"
	"varve/manifest/store"
)

const (
	// spacingTolerance is the part of a step by which a position may differ from an equally spaced one, in addition to the rounding of
	// stored coordinates.
	spacingTolerance = 0.005
	// maxTolerance is the part of a step by which a position may differ with the rounding.
	maxTolerance = 0.1
	// digitTolerance is the part of a step by which a number may change to have fewer digits.
	digitTolerance = 1e-11
	// fewDigits is the number of digits of numbers that people choose. Other numbers keep all digits.
	fewDigits = 10
	// pieceElements is the number of positions in memory.
	pieceElements = 1 << 16
)

// line returns the positions of a coordinate. The error is one of reading.
func (f *Finder) line(ctx context.Context, c *store.Array) (line, error) {
	if l, known := f.lines[c.Path()]; known {
		return l, nil
	}
	l, err := f.measure(ctx, c)
	if err == nil {
		f.lines[c.Path()] = l
	}
	return l, err
}

func (f *Finder) measure(ctx context.Context, c *store.Array) (line, error) {
	n := c.Schema().Shape[0]
	if n < 2 {
		return line{why: crs.Unsupported("%s has %d values, so the width of its cells is not known", c.Path(), n)}, nil
	}
	r, err := newReader(c)
	if err != nil {
		return line{why: err}, nil
	}
	ends := make([]float64, 2)
	for i, at := range []int64{0, n - 1} {
		if err := r.read(ctx, at, ends[i:i+1]); err != nil {
			return line{}, err
		}
	}
	l := line{first: ends[0], step: (ends[1] - ends[0]) / float64(n-1)}
	if !(math.Abs(l.step) > 0) || math.IsInf(l.step, 0) {
		return line{why: crs.Unsupported("%s is not equally spaced: its first value is %g and its last %g", c.Path(), ends[0], ends[1])}, nil
	}
	l.step = snap(l.step, l.step/float64(n))
	slack := r.slack(l.step, ends)
	apart, err := r.apart(ctx, 0, n, func(i int64) float64 { return l.first + float64(float64(i)*l.step) }, slack)
	switch {
	case err != nil:
		return line{}, err
	case apart != nil:
		return line{why: crs.Unsupported("%s is not equally spaced: value %d is %g, and %g with a step of %g", c.Path(), apart.at, apart.is, apart.want, l.step)}, nil
	}
	l.first = snap(l.first-float64(l.step/2), l.step)
	return f.bounded(ctx, c, l, n, slack)
}

// bounded uses the bounds of a coordinate, if it has some.
func (f *Finder) bounded(ctx context.Context, c *store.Array, centred line, n int64, slack float64) (line, error) {
	name := cf.TextIn(c.Attributes(), "bounds")
	if name == "" {
		return centred, nil
	}
	b, ok := f.at.Nearest(c, name)
	if !ok {
		return centred, nil
	}
	if shape := b.Schema().Shape; len(shape) != 2 || shape[0] != n || shape[1] != 2 {
		return line{why: crs.Unsupported("the bounds %s of %s have the shape %v, not [%d 2]", b.Path(), c.Path(), shape, n)}, nil
	}
	r, err := newReader(b)
	if err != nil {
		return line{why: err}, nil
	}
	cell := make([]float64, 4)
	if err := r.read(ctx, 0, cell); err != nil {
		return line{}, err
	}
	// The two bounds of a cell may be in either order.
	reversed := (cell[1] > cell[0]) != (centred.step > 0)
	side := func(i int64) int64 {
		if reversed {
			i ^= 1
		}
		return i/2 + i%2
	}
	from := cell[0]
	if reversed {
		from = cell[1]
	}
	if math.Abs(from-centred.first) <= slack {
		from = centred.first
	}
	bounds := line{first: snap(from, centred.step), step: centred.step}
	for _, l := range []line{bounds, centred} {
		want := func(i int64) float64 { return l.first + float64(float64(side(i))*l.step) }
		apart, err := r.apart(ctx, 0, 2*n, want, slack)
		if err != nil {
			return line{}, err
		}
		isLine := apart == nil
		if !isLine && l == centred {
			// The first and the last cell of a global grid are often cut at the poles.
			if isLine, err = r.isCut(ctx, n, want, slack); err != nil {
				return line{}, err
			}
		}
		if isLine {
			return l, nil
		}
	}
	return line{why: crs.Unsupported("the bounds %s of %s are not those of equal cells without gaps", b.Path(), c.Path())}, nil
}

// reader reads numbers of a coordinate or of bounds.
type reader struct {
	array   *store.Array
	packing cf.Packing
	typ     codec.Type
}

// newReader returns a reader, or an errors.ErrUnsupported.
func newReader(a *store.Array) (*reader, error) {
	v := cf.VariableOf(a.Path(), a.Schema())
	if !cf.IsNumber(v.Type) {
		return nil, crs.Unsupported("%s holds %s, not numbers", a.Path(), a.Schema().DataType.Name())
	}
	if err := a.Spec().CheckDecoding(); err != nil {
		return nil, err
	}
	p, err := cf.PackingOf(v)
	if err != nil {
		return nil, crs.Unsupported("%v", err) // such as a scale_factor that is no number
	}
	return &reader{a, p, v.Type}, nil
}

// read reads consecutive numbers in C order. Missing values become NaN.
func (r *reader) read(ctx context.Context, at int64, to []float64) error {
	shape := r.array.Schema().Shape
	box := grid.Region{Origin: []int64{at}, Shape: []int64{int64(len(to))}}
	if len(shape) == 2 {
		box = grid.Region{Origin: []int64{at / shape[1], 0}, Shape: []int64{int64(len(to)) / shape[1], shape[1]}}
	}
	elems := codec.NewElems(r.array.Schema().Form(box.Shape))
	if err := r.array.ReadRegion(ctx, box, elems); err != nil {
		return err
	}
	for i := range to {
		to[i] = r.number(elems.Fixed[i*r.typ.Size : (i+1)*r.typ.Size])
	}
	return nil
}

// number returns a number as its writer meant it: a float32 is the number with the fewest digits that it is nearest to.
func (r *reader) number(element []byte) float64 {
	f := r.packing.Unpack(r.typ, element)
	if r.isSingle() {
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 32), 64)
	}
	return f
}

// isSingle reports whether numbers are float32 without packing.
func (r *reader) isSingle() bool {
	return r.typ.Kind == codec.Float && r.typ.Size == 4 && !r.packing.Scaled()
}

// slack returns by how much positions may differ from equally spaced ones.
func (r *reader) slack(step float64, ends []float64) float64 {
	step = math.Abs(step)
	unit := 0.0
	if r.isSingle() {
		most := float32(max(math.Abs(ends[0]), math.Abs(ends[1])))
		unit = float64(math.Nextafter32(most, float32(math.Inf(1))) - most)
	} else if scale, _ := r.packing.Affine(); r.packing.Scaled() && r.typ.Kind != codec.Float {
		unit = math.Abs(scale)
	}
	return min(float64(spacingTolerance*step)+unit, maxTolerance*step)
}

// difference is a position that is not where it should be.
type difference struct {
	at       int64
	is, want float64
}

// apart returns the first of the numbers from ≤ i < to that differs by more than slack from what want returns, or nil.
func (r *reader) apart(ctx context.Context, from, to int64, want func(int64) float64, slack float64) (*difference, error) {
	for at := from; at < to; at += pieceElements {
		list := make([]float64, min(pieceElements, to-at))
		if err := r.read(ctx, at, list); err != nil {
			return nil, err
		}
		for i, is := range list {
			if w := want(at + int64(i)); !(math.Abs(is-w) <= slack) {
				return &difference{at + int64(i), is, w}, nil
			}
		}
	}
	return nil, nil
}

// isCut reports whether bounds differ only in the first and the last cell, which are smaller.
func (r *reader) isCut(ctx context.Context, n int64, want func(int64) float64, slack float64) (bool, error) {
	if n < 3 {
		return false, nil
	}
	for _, at := range []int64{0, n - 1} {
		cell := make([]float64, 2)
		if err := r.read(ctx, 2*at, cell); err != nil {
			return false, err
		}
		low, high := min(want(2*at), want(2*at+1)), max(want(2*at), want(2*at+1))
		for _, edge := range cell {
			if !(edge >= low-slack && edge <= high+slack) {
				return false, nil
			}
		}
	}
	apart, err := r.apart(ctx, 2, 2*(n-1), want, slack)
	return apart == nil, err
}

// snap returns a number with few digits that differs from f by a negligible part of a step, or f. So rounding in binary does not
// show: a step of 0.1 is not 0.09999999999999998.
func snap(f, step float64) float64 {
	for digits := 1; digits <= fewDigits; digits++ {
		if short, err := strconv.ParseFloat(fmt.Sprintf("%.*g", digits, f), 64); err == nil && math.Abs(short-f) <= math.Abs(step)*digitTolerance {
			return short
		}
	}
	return f
}
