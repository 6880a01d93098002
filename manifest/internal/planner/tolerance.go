package planner

import (
	"math"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/equal"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// joinNear merges the groups of files whose coordinates differ by at most the tolerance from the
// coordinates that the plan uses, and reports these files. It does nothing while values are missing. If tiles are given,
// only the values in these are compared.
func (c *comparison) joinNear(groups [][]int32, files []int32, tiles []manifest.Tile) (joined [][]int32, missing []want, err error) {
	p := c.p
	if p.env.opts.Tolerance <= 0 || !c.tolerable() {
		return groups, nil, nil
	}
	first := p.widest(c.a, files)
	x, ok, missing, err := c.numbers(first, tiles)
	if err != nil || !ok {
		return groups, missing, err
	}
	var standard, near []int32
	var others [][]int32
	for _, g := range groups {
		if slices.Contains(g, first) {
			standard = g
			continue
		}
		// All files of a group have equal values, so one of them is enough.
		y, ok, lacks, err := c.numbers(p.firstOf(g), tiles)
		missing = append(missing, lacks...)
		var delta float64
		if err == nil && ok {
			delta, err = c.apart(x, y)
		}
		switch {
		case err != nil:
			return nil, nil, err
		case ok && delta <= p.env.opts.Tolerance:
			near = append(near, g...)
		default:
			others = append(others, g)
		}
	}
	if len(missing) > 0 || len(near) == 0 {
		return groups, missing, nil
	}
	p.env.find(p.env.odd(report.Finding{Code: report.CoordinateNear, Array: c.a.path, Effect: report.Noted, By: p.env.byTolerance(),
		Args: report.Args{"tolerance": p.env.opts.Tolerance, "standard": []report.File{p.env.file(first)}}}, near, int64(len(files))))
	return append([][]int32{append(slices.Clip(standard), near...)}, others...), nil, nil
}

// tolerable reports whether the tolerance applies to the array. It applies to auxiliary coordinates
// that are not whole numbers, because programs that compute these again get slightly other values.
func (c *comparison) tolerable() bool {
	return c.a.aux && !slices.ContainsFunc(c.means, func(v *manifest.Variable) bool { return coord.NatureOf(v) != coord.Real })
}

// farthest returns the largest difference between the values that the plan would use and those of other groups of files, or NaN if
// no tolerance can accept it. The values of one file of each group are read for that, unless the first of them is far already.
func (c *comparison) farthest(groups [][]int32, files []int32, tiles []manifest.Tile) (out difference, missing []want, err error) {
	unknown := difference{math.NaN(), math.NaN()}
	if len(c.a.dims) == 0 || !c.tolerable() {
		return unknown, nil, nil
	}
	first := c.p.widest(c.a, files)
	x, ok, missing, err := c.numbers(first, tiles)
	if err != nil || !ok && len(missing) == 0 {
		return unknown, nil, err
	}
	out.step = x.cell()
	isFirst := true
	for _, g := range groups {
		if slices.Contains(g, first) {
			continue
		}
		y, ok, lacks, err := c.numbers(c.p.firstOf(g), tiles)
		if missing = append(missing, lacks...); err != nil || !ok && len(lacks) == 0 {
			return unknown, nil, err
		}
		if len(missing) == 0 {
			delta, err := c.apart(x, y)
			if out.most = max(out.most, delta); err != nil || !out.isSmall() {
				return unknown, nil, err
			}
		}
		if isFirst && len(missing) > 0 {
			break
		}
		isFirst = false
	}
	return out, missing, nil
}

// cell returns the least size of a cell. That of one cell is the largest difference from a neighbour, because a coordinate of a curvilinear
// grid may hardly change along one dimension.
func (x shapedNumbers) cell() float64 {
	least := math.Inf(1)
	for i := range x.Len {
		size, stride := 0.0, x.Len
		for _, n := range x.shape {
			block := stride
			stride /= int(n)
			if i%block >= stride { // not the first along this dimension
				size = larger(size, math.Abs(x.real(i)-x.real(i-stride)))
			}
			if i%block < block-stride {
				size = larger(size, math.Abs(x.real(i)-x.real(i+stride)))
			}
		}
		if size > 0 {
			least = min(least, size)
		}
	}
	return least
}

// larger returns the larger of two numbers. The second may be NaN: then it is the first.
func larger(a, b float64) float64 {
	if b > a {
		return b
	}
	return a
}

// shapedNumbers is an array of numbers with a shape.
type shapedNumbers struct {
	coord.Numbers
	packing cf.Packing
	shape   []int64
	unit    string
}

// numbers returns the numbers that a file has for the variable, in the array's axis order. ok is
// false if nothing was written, if the numbers exceed the memory limit, or if they are missing. If tiles are given, the
// numbers are those in the tile of the file.
func (c *comparison) numbers(file int32, tiles []manifest.Tile) (x shapedNumbers, ok bool, missing []want, err error) {
	at := placeOf(c.a.members, c.p.survey.classOf[file])
	m := &c.a.members[at]
	means := c.meaningIn(at, file)
	what, err := coord.NewMeaning(means)
	if err != nil || what.Nature != coord.Real || m.v.Storage.Layout == manifest.Nothing || coord.ElementsOf(m.v) == 0 || !c.fitsMemory(file, m) {
		return x, false, nil, nil
	}
	w := c.elements(file, m)
	values, ok, err := c.p.env.values(w)
	if err != nil || !ok {
		return x, false, []want{w}, err
	}
	content := c.content(at, file, values)
	if i := slices.IndexFunc(tiles, func(t manifest.Tile) bool { return t.File == int(file) }); i >= 0 {
		content, err = c.a.inTile(content, &tiles[i])
	}
	if err == nil {
		values, x.shape, err = content.InOrder()
	}
	if err != nil {
		return x, false, nil, c.p.env.inFile(file, err)
	}
	if c.units {
		x.unit = what.Unit
	}
	if x.packing, err = cf.PackingOf(means); err == nil {
		x.Numbers, err = coord.ReadNumbers(means, values.Data)
	}
	if err != nil {
		return x, false, nil, c.p.env.inFile(file, err)
	}
	return x, true, nil, nil
}

// apart returns the largest difference between the used numbers x and the numbers y of a file. With
// padding, a file may be narrower; then only its part of x is compared.
func (c *comparison) apart(x, y shapedNumbers) (float64, error) {
	if c.p.env.opts.Pad == plan.PadFill && within(y.shape, x.shape) {
		var err error
		if x, err = x.cropped(y.shape); err != nil {
			return 0, err
		}
	}
	return x.apart(y), nil
}

// within reports whether a shape is at most as long as another along each axis.
func within(shape, of []int64) bool {
	for k, n := range shape {
		if n > of[k] {
			return false
		}
	}
	return true
}

// cropped returns the numbers cropped to a shape.
func (x shapedNumbers) cropped(shape []int64) (shapedNumbers, error) {
	values, err := equal.Crop(&manifest.Values{Data: x.Data}, x.shape, shape, x.Type)
	if err == nil {
		x.Data, x.Len, x.shape = values.Data, int(coord.Product(shape)), shape
	}
	return x, err
}

// apart returns the largest difference between numbers, or infinity if they cannot be compared.
// Missing values equal one another.
func (x shapedNumbers) apart(y shapedNumbers) (delta float64) {
	if !slices.Equal(x.shape, y.shape) || x.unit != y.unit {
		return math.Inf(1)
	}
	for i := range x.Len {
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

// real returns an element as an unpacked float64, or NaN if it is missing.
func (x shapedNumbers) real(i int) float64 {
	if x.packing.IsMask(x.Type, x.Element(i)[:x.Type.Size]) {
		return math.NaN()
	}
	return x.Numbers.Real(i)
}

// elements wants all elements of a file for one comparison. Afterwards, only the digests of large
// variables are kept.
func (c *comparison) elements(file int32, m *member) want {
	p, w := c.p, c.p.env.all(file, m.at, coord.ElementsOf(m.v))
	if w.Extent == All && p.env.isLarge(m.v) && m.v.Storage.Layout != manifest.Valued {
		w.Extent = ForComparison
	}
	if size := sizeOf(m.v); m.v.Storage.Layout != manifest.Valued && size > p.env.inline() && !p.env.compared[w.Request] {
		p.env.compared[w.Request] = true
		p.env.comparedBytes += size
	}
	return w
}

// fitsMemory reports whether the memory limit permits the elements of a file's variable, besides the
// elements that are compared already.
func (c *comparison) fitsMemory(file int32, m *member) bool {
	if m.v.Type.Varies() {
		return !c.p.env.isLarge(m.v)
	}
	return c.isCompared(file, m) || c.p.env.comparedBytes+sizeOf(m.v) <= manifest.MostSummed
}

// isCompared reports whether a comparison has requested all elements of a file's variable already.
func (c *comparison) isCompared(file int32, m *member) bool {
	return c.p.env.compared[Request{int(file), m.at, All}] || c.p.env.compared[Request{int(file), m.at, ForComparison}]
}

// sizeOf returns the size of fixed-size elements in memory.
func sizeOf(v *manifest.Variable) int64 { return coord.ElementsOf(v) * int64(v.Type.Size) }
