package plan

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/report"
)

// makeDims gives files the dimensions that they do not have, and values to those that they have
// of one element each.
func (p *directions) makeDims() error {
	for _, n := range p.opts.NewDims {
		at := "/" + strings.Trim(n.Name, "/")
		if p.beside[at] {
			continue
		}
		if err := p.checkNew(&n, at); err != nil {
			return err
		}
		steps, lack, err := p.stepsOf(&n, at, func(*class) bool { return true })
		if err != nil {
			return fmt.Errorf("new dimension %s: %w", n.Name, err)
		}
		if len(p.needs) > 0 {
			return nil
		}
		if len(lack) > 0 {
			p.refuseLack(&n, at, lack, len(lack)+len(steps))
			continue
		}
		if err := p.makeDim(at, steps); err != nil {
			return fmt.Errorf("new dimension %s: %w", n.Name, err)
		}
	}
	return nil
}

// refuseLack refuses files that have no value for a new dimension.
func (p *survey) refuseLack(n *NewDim, at string, lack []int32, of int) {
	p.find(p.odd(report.Finding{Code: report.NewDimMissing, Array: at, Effect: report.Refused, Dim: n.Name}, lack, int64(of)))
}

// checkNew refuses a name that files have something else by.
func (p *directions) checkNew(n *NewDim, at string) error {
	variable := "/" + strings.Trim(n.Variable, "/")
	wrong := func(says string, remedies ...report.Remedy) error {
		value := n.Name
		if n.Variable != "" {
			value += "=var:" + n.Variable
		}
		return &OptionError{report.Setting{Option: report.NewDim, Value: value}, says, remedies}
	}
	rename := report.Fill(report.Rename, n.Name+"=NAME", report.MakesRoom)
	d := p.dims[at]
	switch {
	case d != nil && (d.coord != "" || p.longest(d) > 1) && n.Variable == "":
		return wrong("files have a dimension of this name"+p.why(d), rename)
	case d != nil && (d.coord != "" || p.longest(d) > 1):
		return wrong("files have a dimension of this name" + p.why(d))
	case d != nil && d.role != fixed:
		return wrong("the option concat says already how files follow one another along it")
	case n.Variable != "" && !p.anyHas(variable):
		return wrong("no file has such a variable" + p.whichThere())
	case variable == at || !p.anyHas(at):
		return nil
	}
	return wrong("files have a variable of this name", report.Do(report.NewDim, n.Name+"=var:"+n.Name, report.StackByValue), rename, report.DropPath(n.Name))
}

// isStep reports whether an option takes the steps along a dimension of its own coordinate.
func (p *survey) isStep(at string) bool {
	return !p.beside[at] && p.holdsStep(at) && slices.ContainsFunc(p.opts.NewDims, func(n NewDim) bool {
		return "/"+strings.Trim(n.Name, "/") == at && "/"+strings.Trim(n.Variable, "/") == at
	})
}

// holdsStep reports whether all files have a dimension of one element, and one value by its name, along it or not.
func (p *survey) holdsStep(at string) bool {
	return !slices.ContainsFunc(p.classes, func(c *class) bool {
		i := c.find(at)
		return len(c.files) > 0 && (c.dims[at].Length != 1 || i < 0 || c.vars[i].v.Unreadable != "" || elementsOf(c.vars[i].v) != 1)
	})
}

// why says what keeps a dimension from being given values.
func (p *directions) why(d *dim) string {
	if d.coord != "" {
		return ", and " + d.coord + " its values"
	}
	return fmt.Sprintf(", of up to %d elements", p.longest(d))
}

// longest is the length of a dimension in the file that has most of it.
func (p *survey) longest(d *dim) (n int64) {
	for _, class := range d.classes {
		n = max(n, p.classes[class].dims[d.path].Length)
	}
	return n
}

func (p *survey) anyHas(variable string) bool {
	return slices.ContainsFunc(p.classes, func(c *class) bool { return c.find(variable) >= 0 })
}

// step is the value of a new dimension in a file.
type step struct {
	v      *manifest.Variable
	values *manifest.Values
}

// stepsOf finds the value of each file of some classes, and the files that have none.
func (p *survey) stepsOf(n *NewDim, at string, among func(*class) bool) (steps map[int32]step, lack []int32, err error) {
	if n.Variable != "" {
		return p.stepsIn("/"+strings.Trim(n.Variable, "/"), at, among)
	}
	told, lack, err := p.stepsTold(n, among)
	if err != nil {
		return nil, nil, err
	}
	v, values, err := elementsOfSteps(at, told)
	if err != nil {
		return nil, nil, err
	}
	steps = make(map[int32]step, len(told))
	distinct := map[string]*manifest.Values{}
	for f, x := range values {
		if distinct[x.ID] == nil {
			distinct[x.ID] = x
		}
		steps[f] = step{v, distinct[x.ID]}
	}
	return steps, lack, nil
}

// stepsIn takes the steps from a variable that has one element in each file. It is the
// coordinate from now on or, if it has another name than the dimension, what it says is.
func (p *survey) stepsIn(variable, at string, among func(*class) bool) (steps map[int32]step, lack []int32, err error) {
	steps = map[int32]step{}
	var turned []func() // variables into coordinates, once it is known that all files have one
	for _, c := range p.classes {
		if !among(c) {
			continue
		}
		i := c.find(variable)
		if i < 0 || c.vars[i].v.Unreadable != "" || c.vars[i].v.Storage.Layout == manifest.Nothing {
			lack = append(lack, c.files...)
			continue
		}
		x := c.vars[i]
		if elementsOf(x.v) != 1 {
			return nil, nil, fmt.Errorf("%s: %s has the shape %v, and would have to be of one element", p.files[c.files[0]].URL, variable, x.v.Shape)
		}
		v := *x.v
		v.Path, v.Dims, v.Shape = at, []string{at}, []int64{1}
		if v.Storage.Layout == manifest.Chunked {
			v.Storage.Chunks, v.Storage.Edges = v.Shape, nil
		}
		for _, f := range c.files {
			switch values, ok := p.values(f, x.at, 1); {
			case !ok:
			case isMissing(&v, values):
				lack = append(lack, f)
			default:
				steps[f] = step{&v, values}
			}
		}
		turned = append(turned, func() {
			x.v, x.path, x.dims = &v, at, v.Dims
			c.setCoord(x)
		})
	}
	if len(lack) == 0 {
		for _, turn := range turned {
			turn()
		}
	}
	return steps, lack, p.fault
}

// isMissing reports whether the one element of a variable is called missing, or is no number.
func isMissing(v *manifest.Variable, values *manifest.Values) bool {
	what, err := newMeaning(v)
	if err != nil || what.nature == text {
		return false
	}
	g, err := newGauge(what, what.nature, int64(len(values.Data)))
	if err != nil || g.Add(values.Data) != nil {
		return false // what is wrong with it is found where it is read
	}
	return missing(g.first, g.as) || g.as != instant && g.missing(values.Data[:g.packing.Type.Size])
}

// given counts the files that the user named.
func (p *inquiry) given() (n int) {
	for _, f := range p.files {
		if !f.Hidden {
			n++
		}
	}
	return n
}

// makeDim makes a dimension of steps, in their order.
func (p *directions) makeDim(at string, steps map[int32]step) error {
	d := &dim{path: at, coord: at, made: true, named: true, role: flowing}
	if own := p.dims[at]; own != nil {
		d.owned, d.classes = true, own.classes
	}
	d.of = make([]int32, len(p.files))
	for i := range d.of {
		d.of[i] = noDim
	}
	known := newInterned(p.files)
	for _, f := range sorted(steps) {
		if err := known.add(d, f, steps[f].v, steps[f].values); err != nil {
			return p.inFile(f, err)
		}
	}
	if err := p.measure(d); err != nil {
		return err
	}
	d.order = slices.Clone(d.coords)
	slices.SortFunc(d.order, func(a, b *coord) int { return a.low.compare(b.low) })
	for i, c := range d.order {
		c.start = int64(i)
	}
	d.length = int64(len(d.order))
	if !d.owned {
		p.dimOrder = append(p.dimOrder, at)
		slices.Sort(p.dimOrder)
	}
	p.dims[at] = d
	p.made = append(p.made, d)
	return nil
}

// giveMade gives an array the new dimensions, unless it is alike in all files: a coordinate, or
// a variable whose values are known to be. Of dimensions that files have themselves only a scalar
// lacks one.
func (p *layout) giveMade(a *array) {
	made := slices.DeleteFunc(slices.Clone(p.made), func(d *dim) bool { return d.owned && len(a.dims) > 0 || slices.Contains(a.made, d.path) })
	made = append(made, p.besideAll(a)...)
	if len(made) == 0 || p.isAxis(a) || a.aux && len(a.placed) > 0 {
		return
	}
	if known, equal := p.known(a); a.aux {
		made = p.madeFor(a, made, known)
	} else if len(a.dims) == 0 && a.files > 1 && known && (equal || p.meanSame(a)) {
		return
	}
	for i, d := range made {
		a.made = slices.Insert(a.made, i, d.path)
	}
	a.placed = append(slices.Clone(made), a.placed...)
}

// namesake refuses an array that has a dimension of the name of a new one already, in another
// group: an array's axes are told apart by these names.
func (p *layout) namesake(a *array) bool {
	for _, made := range a.made {
		for _, at := range a.dims {
			if path.Base(at) != path.Base(made) || at == made {
				continue
			}
			remedies := []report.Remedy{report.Fill(report.Rename, at[1:]+"=NAME", report.MakesRoom)}
			if d := p.dims[at]; d.coord == "" && p.longest(d) <= 1 {
				remedies = slices.Insert(remedies, 0, report.Fill(report.NewDim, at[1:]+"=PATTERN", report.ByNameValues))
			}
			p.find(p.odd(report.Finding{Code: report.NewDimTaken, Array: a.path, Effect: report.Refused, Dim: path.Base(made), Remedies: remedies,
				Args: report.Args{"existing": at}}, p.filesHaving(a), a.files))
			return true
		}
	}
	return false
}

// madeFor are the new dimensions that tell which values a file has of a variable that others name:
// none if all have the same. It asks for values that are not known, unless the first file's count.
func (p *layout) madeFor(a *array, of []*dim, known bool) []*dim {
	c := p.comparing(a)
	if !known && (p.opts.Coords == CoordsFirst || c.largest() > manifest.MostSummed) {
		return nil // which is said where such variables are compared
	}
	groups, err := c.parts(p.filesHaving(a))
	p.fault = cmp.Or(p.fault, err)
	if err != nil || len(groups) < 2 {
		return nil
	}
	made := of
	for _, d := range of {
		if rest := slices.DeleteFunc(slices.Clone(made), func(e *dim) bool { return e == d }); tell(rest, groups) {
			made = rest
		}
	}
	return made
}

// tell reports whether files of several groups lie in several places along some dimensions.
func tell(dims []*dim, groups [][]int32) bool {
	held := map[string]int{}
	for i, files := range groups {
		for _, f := range files {
			var at []byte
			for _, d := range dims {
				start, _, _ := d.starts(f)
				at = binary.AppendVarint(at, start)
			}
			if other, ok := held[string(at)]; ok && other != i {
				return false
			}
			held[string(at)] = i
		}
	}
	return true
}
