package planner

import (
	"cmp"
	"slices"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/equal"
	"varve/manifest/plan"
)

// comparison compares the values that files have for one variable.
type comparison struct {
	p     *arrangement
	a     *array
	means []*manifest.Variable // the variable whose attributes give each member's values their meaning; see meaningIn
	alike bool                 // equal bytes mean equal values in all members
	units bool                 // members state different units, so equal numbers may be different values
}

func (p *arrangement) comparing(a *array) *comparison {
	c := &comparison{p: p, a: a, means: make([]*manifest.Variable, len(a.members)), alike: true}
	units := map[string]bool{}
	for i, m := range a.members {
		c.means[i] = p.survey.classes[m.class].meaning(m.at)
		c.alike = c.alike && slices.IsSorted(m.axes)
		for files := range p.survey.variants(m.class, m.at) {
			means := p.survey.withAttributesOf(m.class, m.at, c.means[i], files[0])
			c.alike = c.alike && coord.SameMeaning(means, c.means[0])
			if text := coord.TextOf(means, cf.UnitsName); text != "" {
				units[cf.UnitKey(text)] = true
			}
		}
	}
	// A missing unit does not contradict a unit.
	c.units = !c.alike && len(units) > 1
	return c
}

// parts groups files by equal values. It leaves out files with missing values, and groups nothing after
// the first of them.
func (c *comparison) parts(files []int32) (groups [][]int32, missing []want, err error) {
	found := equal.NewComparer(c.alike, c.units)
	files = c.withoutKnownEqual(files)
	if missing, err = c.crop(found, files); err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		at := placeOf(c.a.members, c.p.survey.classOf[f])
		m := &c.a.members[at]
		if c.p.env.opts.Pad == plan.PadFill && coord.ElementsOf(m.v) == 0 {
			continue // an empty file agrees with any other
		}
		w := c.values(f, m, c.meaningIn(at, f))
		values, ok, err := c.p.env.values(w)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			missing = append(missing, w)
		}
		if len(missing) > 0 {
			continue
		}
		if err := found.Add(f, c.content(at, f, values)); err != nil {
			return nil, nil, c.p.env.inFile(f, err)
		}
	}
	return found.Groups, missing, nil
}

// withoutKnownEqual leaves out all files of earlier plans except one, because they were compared already: one whose
// values are known, if there is any. With padding, files of all shapes have to be compared.
func (c *comparison) withoutKnownEqual(files []int32) []int32 {
	var kept []int32
	one := int32(-1)
	for _, f := range files {
		switch {
		case !c.p.env.earlier.has(f) || c.p.env.opts.Pad == plan.PadFill || c.ofTexts():
			kept = append(kept, f)
		case one < 0 || c.p.env.valuesIn(f, c.a.memberOf(c.p.survey.classOf[f]).at) != nil:
			one = f
		}
	}
	if one < 0 {
		return kept
	}
	return append(kept, one)
}

// content returns values of a file of member `at` for a comparison.
func (c *comparison) content(at int, file int32, values *manifest.Values) equal.Content {
	m := &c.a.members[at]
	x := equal.Content{Class: m.class, Variable: m.v, Axes: m.axes, Means: c.meaningIn(at, file), Values: values}
	if x.Means != c.means[at] && !c.alike {
		x.Class = -1 - file // its own class: equal values of other files may mean something else
	}
	return x
}

// meaningIn returns the variable whose attributes give the values of a file of member `at` their meaning.
func (c *comparison) meaningIn(at int, file int32) *manifest.Variable {
	m := &c.a.members[at]
	return c.p.survey.withAttributesOf(m.class, m.at, c.means[at], file)
}

// fileUsed returns the file that provides the values of an array that is equal in all files.
func (p *arrangement) fileUsed(a *array) int32 { return p.widest(a, p.survey.filesHaving(a)) }

// widest returns the file with the most elements. If several have as many, the lowest rank decides.
func (p *arrangement) widest(a *array, files []int32) int32 {
	best, most := int32(-1), int64(-1)
	for _, f := range files {
		n := coord.ElementsOf(a.memberOf(p.survey.classOf[f]).v)
		if n > most || n == most && p.rank[f] < p.rank[best] {
			best, most = f, n
		}
	}
	return best
}

// firstOf returns the file with the lowest rank.
func (p *arrangement) firstOf(files []int32) int32 {
	return slices.MinFunc(files, func(x, y int32) int { return cmp.Compare(p.rank[x], p.rank[y]) })
}

// crop registers the values of the widest file, cropped to the shapes of narrower files, so that
// narrower files with these values are in the group of the widest file. Without padding, it does
// nothing.
func (c *comparison) crop(found *equal.Comparer, files []int32) (missing []want, err error) {
	file, shapes := c.narrower(files)
	if len(shapes) == 0 || !c.fits(files) {
		return nil, nil
	}
	at := placeOf(c.a.members, c.p.survey.classOf[file])
	m := &c.a.members[at]
	values := coord.None
	if m.v.Storage.Layout != manifest.Nothing && coord.ElementsOf(m.v) > 0 {
		w := c.elements(file, m)
		var ok bool
		if values, ok, err = c.p.env.values(w); err != nil || !ok {
			return []want{w}, err
		}
	}
	whole := c.content(at, file, values)
	group, err := found.Find(whole)
	for _, shape := range shapes {
		if err == nil && !(c.ofTexts() && isCut(values.Data, m.v.Shape, shape)) {
			err = found.AddCropped(whole, shape, group)
		}
	}
	if err != nil {
		return nil, c.p.env.inFile(file, err)
	}
	return nil, nil
}

// fits reports whether the memory limit permits the values of the widest file, if narrower files must
// be compared with them.
func (c *comparison) fits(files []int32) bool {
	widest, shapes := c.narrower(files)
	return len(shapes) == 0 || c.fitsMemory(widest, c.a.memberOf(c.p.survey.classOf[widest]))
}

// narrower returns the widest file, and the distinct shapes of narrower files in the axis order of the
// widest. Without padding, it returns no shapes.
func (c *comparison) narrower(files []int32) (widest int32, shapes [][]int64) {
	widest = c.p.widest(c.a, files)
	if c.p.env.opts.Pad != plan.PadFill && !c.ofTexts() {
		return widest, nil
	}
	of, last := c.a.memberOf(c.p.survey.classOf[widest]), c.p.survey.classOf[widest]
	for _, f := range files {
		// Neighbouring files often have one class, and a class has one shape.
		if c.p.survey.classOf[f] == last {
			continue
		}
		last = c.p.survey.classOf[f]
		m := c.a.memberOf(last)
		shape := slices.Clone(of.v.Shape)
		for k, axis := range of.axes {
			shape[axis] = min(shape[axis], m.v.Shape[m.axes[k]])
		}
		if !slices.Equal(shape, of.v.Shape) && !slices.ContainsFunc(shapes, func(s []int64) bool { return slices.Equal(s, shape) }) {
			shapes = append(shapes, shape)
		}
	}
	return widest, shapes
}

// values wants the values of a file, or only their digest or summary where that is enough to compare
// them. Large values are not kept just because they were compared.
func (c *comparison) values(file int32, m *member, means *manifest.Variable) want {
	n, known := coord.ElementsOf(m.v), c.p.env.valuesIn(file, m.at)
	switch {
	case m.v.Storage.Layout == manifest.Nothing || n == 0:
		return want{Request: Request{int(file), m.at, nothing}}
	case known != nil && !known.Summed:
		return c.p.env.all(file, m.at, n)
	case c.alike && !m.v.Type.Varies() && n*int64(m.v.Type.Size) > c.p.env.inline():
		return digest(file, m.at)
	case !c.alike && c.p.env.isLarge(m.v) && coord.NatureOf(means) != coord.Text:
		return summary(file, m.at, means)
	}
	return c.p.env.all(file, m.at, n)
}

// largest returns the size in bytes of the largest member that is read as a whole.
func (c *comparison) largest() (n int64) {
	for _, m := range c.a.members {
		if m.v.Storage.Layout != manifest.Nothing && len(m.v.Shape) != 1 {
			n = max(n, sizeOf(m.v))
		}
	}
	return n
}

// known reports whether the values or digests of an array are known for all files, and whether they
// are equal.
func (p *survey) known(a *array) (known, same bool) {
	first := ""
	same = true
	for _, m := range a.members {
		for _, f := range p.classes[m.class].files {
			values := p.env.valuesIn(f, m.at)
			if values == nil {
				return false, false
			}
			id := equal.IDOf(values)
			if first == "" {
				first = id
			}
			same = same && first == id
		}
	}
	return true, same
}

// meanSame reports whether known values that differ in bytes have the same meaning, for example
// equal numbers of different types.
func (p *arrangement) meanSame(a *array) (same bool, missing []want) {
	c := p.comparing(a)
	if c.alike {
		return false, nil
	}
	groups, missing, err := c.parts(p.survey.filesHaving(a))
	return err == nil && len(groups) == 1, missing
}
