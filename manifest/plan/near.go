package plan

import (
	"math"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/report"
)

// joinNear makes one group of files whose coordinates differ from those that count by no more than
// the user allows, and says which these are. It asks for values that are not known.
func (c *comparison) joinNear(groups [][]int32, files []int32) ([][]int32, error) {
	p := c.p
	if p.opts.Tolerance <= 0 || !c.tolerable() {
		return groups, nil
	}
	first := p.widest(c.a, files)
	x, ok, err := c.numbers(first)
	if err != nil || !ok {
		return groups, err
	}
	var counts, near []int32
	var others [][]int32
	for _, g := range groups {
		if slices.Contains(g, first) {
			counts = g
			continue
		}
		y, ok, err := c.numbers(p.firstOf(g))
		var delta float64
		if err == nil && ok {
			delta, err = c.apart(x, y)
		}
		switch {
		case err != nil:
			return nil, err
		case ok && delta <= p.opts.Tolerance:
			near = append(near, g...)
		default:
			others = append(others, g)
		}
	}
	if len(p.needs) > 0 || len(near) == 0 {
		return groups, nil
	}
	p.find(p.odd(report.Finding{Code: report.CoordinateNear, Array: c.a.path, Effect: report.Noted, By: p.byTolerance(),
		Args: report.Args{"tolerance": p.opts.Tolerance, "standard": []report.File{p.file(first)}}}, near, int64(len(files))))
	return append([][]int32{append(slices.Clip(counts), near...)}, others...), nil
}

// tolerable reports whether values are coordinates that may differ by what is lost where numbers
// are computed anew.
func (c *comparison) tolerable() bool {
	return c.a.aux && !slices.ContainsFunc(c.means, func(v *manifest.Variable) bool { return natureOf(v) != real })
}

// lattice is numbers of a shape.
type lattice struct {
	numbers
	packing cf.Packing
	shape   []int64
	unit    string
}

// numbers are those that a file has of the variable, with the axes of the array. There are none
// where nothing was written, and of what is too much.
func (c *comparison) numbers(file int32) (x lattice, ok bool, err error) {
	at := placeOf(c.a.members, c.p.classOf[file])
	m := &c.a.members[at]
	what, err := newMeaning(c.means[at])
	if err != nil || what.nature != real || m.v.Storage.Layout == manifest.Nothing || elementsOf(m.v) == 0 {
		return x, false, nil
	}
	if !c.holds(m.v) {
		return x, false, nil
	}
	values, ok := c.elements(file, m)
	if !ok {
		return x, false, nil
	}
	values, x.shape, err = content{m, c.means[at], values}.inOrder()
	if err != nil {
		return x, false, c.p.inFile(file, err)
	}
	x.unit = what.unit
	if x.packing, err = cf.PackingOf(c.means[at]); err == nil {
		x.numbers, err = readNumbers(c.means[at], values.Data)
	}
	if err != nil {
		return x, false, c.p.inFile(file, err)
	}
	return x, true, nil
}

// apart is by how much the numbers of a file differ at most from those that count, of which it may
// hold what they begin with where narrower files are padded.
func (c *comparison) apart(x, y lattice) (float64, error) {
	if c.p.opts.Pad == PadFill && within(y.shape, x.shape) {
		var err error
		if x, err = x.begins(y.shape); err != nil {
			return 0, err
		}
	}
	return x.apart(y), nil
}

// within reports whether a shape is nowhere wider than another.
func within(shape, of []int64) bool {
	for k, n := range shape {
		if n > of[k] {
			return false
		}
	}
	return true
}

// begins are the numbers up to a shape.
func (x lattice) begins(shape []int64) (lattice, error) {
	values, err := beginning(&manifest.Values{Data: x.data}, x.shape, shape, x.t)
	if err == nil {
		x.data, x.n, x.shape = values.Data, int(product(shape)), shape
	}
	return x, err
}

// apart is by how much numbers differ at most; what is missing in both, and what is equal, is not
// apart.
func (x lattice) apart(y lattice) (delta float64) {
	if !slices.Equal(x.shape, y.shape) || x.unit != y.unit {
		return math.Inf(1)
	}
	for i := range x.n {
		a, b := x.real(i), y.real(i)
		switch {
		case a == b || math.IsNaN(a) && math.IsNaN(b):
		case math.IsNaN(a) || math.IsNaN(b):
			return math.Inf(1)
		default:
			delta = max(delta, math.Abs(a-b))
		}
	}
	return delta
}

// real is an element as a float64, unpacked: NaN where it is called missing.
func (x lattice) real(i int) float64 {
	if x.packing.IsMask(x.t, x.element(i)[:x.t.Size]) {
		return math.NaN()
	}
	return x.numbers.real(i)
}

// elements are those of a file, only to be compared, however many: the sum of many is all that is kept.
func (c *comparison) elements(file int32, m *member) (*manifest.Values, bool) {
	p, need := c.p, Need{File: int(file), Variable: m.at, Extent: All}
	if p.isLarge(m.v) && m.v.Storage.Layout != manifest.Valued {
		need.Extent = Compared
	}
	if size := sizeOf(m.v); m.v.Storage.Layout != manifest.Valued && size > p.inline() && !p.compared[need] {
		p.compared[need] = true
		p.held += size
	}
	if values := p.valuesIn(file, m.at); need.Extent == Compared && (values == nil || values.Summed) {
		p.need(file, m.at, Compared)
		return nil, false
	}
	return p.values(file, m.at, elementsOf(m.v))
}

// holds reports whether there is room for the elements of a variable besides those that are held
// to be compared.
func (c *comparison) holds(v *manifest.Variable) bool {
	if v.Type.Varies() {
		return !c.p.isLarge(v)
	}
	return c.p.held+sizeOf(v) <= manifest.MostSummed
}

// sizeOf is the size of elements in memory, but for those of varying length.
func sizeOf(v *manifest.Variable) int64 { return elementsOf(v) * int64(v.Type.Size) }
