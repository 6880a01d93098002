package planner

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/namepattern"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/newdim"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// makeDims adds the new dimensions of the options. If files already have such a dimension, with
// length 1 and without a coordinate, makeDims gives it values.
func (p *alignment) makeDims() error {
	for _, n := range p.env.opts.NewDims {
		at := "/" + strings.Trim(n.Name, "/")
		if p.survey.beside[at] {
			continue
		}
		if err := p.checkNew(&n, at); err != nil {
			return err
		}
		steps, lack, err := p.stepsOf(&n, at, func(int32) bool { return true })
		if err != nil {
			return fmt.Errorf("new dimension %s: %w", n.Name, err)
		}
		if len(lack) > 0 && len(steps) == 0 {
			return p.noValue(&n)
		}
		if len(lack) > 0 {
			p.refuseLack(&n, at, lack, len(lack)+len(steps), byKind...)
			continue
		}
		if err := p.makeDim(at, steps); err != nil {
			return fmt.Errorf("new dimension %s: %w", n.Name, err)
		}
	}
	return nil
}

// noValue returns the error of a new dimension for which no file has a value. The remedies have the attributes with the nearest names.
func (p *alignment) noValue(n *plan.NewDim) error {
	switch {
	case n.Attribute != "":
		names := map[string]bool{}
		for _, f := range p.env.files {
			for _, a := range coord.RootAttributes(groupAttributes(f)) {
				names[a.Name] = true
			}
		}
		err := optionError(report.NewDim, n.Name+"=attr:"+n.Attribute, "no file has this attribute")
		for _, name := range plan.Nearest(n.Attribute, sorted(names)) {
			err.Remedies = append(err.Remedies, report.Do(report.NewDim, n.Name+"=attr:"+name, ""))
		}
		if len(err.Remedies) == 0 {
			err.Says += listed(sorted(names))
		}
		return err
	case n.Variable != "":
		return optionError(report.NewDim, n.Name+"=var:"+n.Variable, "no file has a value of this variable")
	}
	return optionError(report.NewDim, n.Name+"="+n.Pattern, "the pattern matches no name of a file, such as "+p.env.label(p.env.files[0].URL))
}

// refuseLack refuses files without a value for a new dimension.
func (p *alignment) refuseLack(n *plan.NewDim, at string, lack []int32, of int, remedies ...report.Remedy) {
	p.env.find(p.env.odd(report.Finding{Code: report.NewDimMissing, Array: at, Effect: report.Refused, Dim: n.Name, Remedies: remedies}, lack, int64(of)))
}

// isPosition reports whether --new-dim takes positions of files from a variable, whose values then differ between files.
func (p *env) isPosition(at string) bool {
	return slices.ContainsFunc(p.opts.NewDims, func(n plan.NewDim) bool { return n.Variable != "" && "/"+strings.Trim(n.Variable, "/") == at })
}

// checkNew returns an error if the files already use the name of a new dimension for something else.
func (p *alignment) checkNew(n *plan.NewDim, at string) error {
	variable := "/" + strings.Trim(n.Variable, "/")
	wrong := func(says string, remedies ...report.Remedy) error {
		value := n.Name
		if n.Variable != "" {
			value += "=var:" + n.Variable
		}
		return &plan.OptionError{Setting: report.Setting{Option: report.NewDim, Value: value}, Says: says, Remedies: remedies}
	}
	rename := report.Fill(report.Rename, n.Name+"=NAME", report.MakesRoom)
	d := p.dims[at]
	switch {
	case d != nil && (d.coord != "" || p.survey.longest(d) > 1) && n.Variable == "":
		return wrong("files have a dimension of this name"+p.why(d), rename)
	case d != nil && (d.coord != "" || p.survey.longest(d) > 1):
		return wrong("files have a dimension of this name" + p.why(d))
	case d != nil && d.role != fixed:
		return wrong("the option concat already concatenates files along this dimension")
	case n.Variable != "" && !p.survey.anyHas(variable):
		return noVariable(report.Setting{Option: report.NewDim, Value: n.Name + "=var:" + n.Variable}, n.Name+"=var:", n.Variable, p.survey.allPaths())
	case variable == at || !p.survey.anyHas(at):
		return nil
	}
	return wrong("files have a variable of this name", report.Do(report.NewDim, n.Name+"=var:"+n.Name, report.StackByValue), rename, report.DropPath(n.Name))
}

// isStep reports whether a new dimension takes its values from the coordinate of the same name.
func (p *alignment) isStep(at string) bool {
	return !p.survey.beside[at] && p.holdsStep(at) && slices.ContainsFunc(p.env.opts.NewDims, func(n plan.NewDim) bool {
		return "/"+strings.Trim(n.Name, "/") == at && "/"+strings.Trim(n.Variable, "/") == at
	})
}

// holdsStep reports whether every file has a dimension of length 1 and one value under its name.
func (p *alignment) holdsStep(at string) bool {
	return !slices.ContainsFunc(p.survey.classes, func(c *class) bool {
		i := c.find(at)
		return len(c.files) > 0 && (c.dims[at].Length != 1 || i < 0 || c.vars[i].v.Unreadable != "" || coord.ElementsOf(c.vars[i].v) != 1)
	})
}

// why explains, for a message, why a dimension cannot be given values.
func (p *alignment) why(d *dim) string {
	if d.coord != "" {
		return ", and " + d.coord + " its values"
	}
	return fmt.Sprintf(", of up to %d elements", p.survey.longest(d))
}

// step is the value of a new dimension for one file.
type step struct {
	v      *manifest.Variable
	values *manifest.Values
}

// stepsOf returns the value of each file in the chosen classes, and the files without a value.
func (p *alignment) stepsOf(n *plan.NewDim, at string, among func(class int32) bool) (steps map[int32]step, lack []int32, err error) {
	if n.Variable != "" {
		err = p.env.settle(func() (missing []want, err error) {
			steps, lack, missing, err = p.stepsIn("/"+strings.Trim(n.Variable, "/"), at, among)
			return missing, err
		})
		return steps, lack, err
	}
	texts, lack, err := p.stepTexts(n, among)
	if err != nil {
		return nil, nil, err
	}
	e, file, err := newdim.ElementsOf(at, texts, p.env.earlier.stepKind())
	if err != nil {
		return nil, nil, p.env.inFile(file, err)
	}
	if p.env.earlier != nil && e.Kind != p.env.earlier.Step {
		return nil, nil, replanError{report.ReplanDeclarations} // the old values need another type, too
	}
	p.stepKind = e.Kind
	p.noteShortYears(n, texts)
	steps = make(map[int32]step, len(texts))
	distinct := map[string]*manifest.Values{}
	for f, x := range e.Values {
		if distinct[x.ID] == nil {
			distinct[x.ID] = x
		}
		steps[f] = step{e.Variable, distinct[x.ID]}
	}
	return steps, lack, nil
}

// stepTexts reads the values from file names, attributes or a list.
func (p *alignment) stepTexts(n *plan.NewDim, among func(class int32) bool) (steps map[int32]newdim.Text, lack []int32, err error) {
	var pattern *regexp.Regexp
	if n.Pattern != "" {
		if pattern, err = namepattern.Compile(n.Pattern); err != nil {
			return nil, nil, err
		}
	}
	if n.Values != nil && len(n.Values) != p.env.namedFiles() {
		return nil, nil, fmt.Errorf("the list has %d values, but there are %d files; give one value for each file", len(n.Values), p.env.namedFiles())
	}
	steps = map[int32]newdim.Text{}
	at := 0
	for f, file := range p.env.files {
		if file.Hidden {
			continue
		}
		var s newdim.Text
		ok := true
		switch {
		case pattern != nil:
			s, ok = newdim.Match(pattern, file.URL)
		case n.Attribute != "":
			s, ok = newdim.OfAttribute(groupAttributes(file), n.Attribute)
		case n.Values != nil:
			s = newdim.OfText(n.Values[at])
		}
		at++
		if p.survey.classOf[f] < 0 || !among(p.survey.classOf[f]) {
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

// noteShortYears reports the files whose names have years of two digits.
func (p *alignment) noteShortYears(n *plan.NewDim, steps map[int32]newdim.Text) {
	var short []int32
	for _, f := range sorted(steps) {
		if _, _, ok := steps[f].ShortYear(); ok {
			short = append(short, f)
		}
	}
	if len(short) == 0 {
		return
	}
	example := slices.MinFunc(short, p.env.byName)
	digits, year, _ := steps[example].ShortYear()
	p.env.find(p.env.odd(report.Finding{Code: report.ShortYears, Effect: report.Noted, Dim: n.Name,
		Args: report.Args{"digits": digits, "year": strconv.Itoa(year)}}, short, int64(len(steps))))
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
		a, ok := newdim.Match(pattern, was)
		b, ok2 := newdim.Match(pattern, is)
		if ok != ok2 || a != b {
			return fmt.Errorf("%s is read from file names, and %s gives another value than %s", n.Name, is, was)
		}
	}
	return nil
}

// stepsIn takes the values from a variable that has one element in each file. This variable becomes
// the coordinate, under the name of the dimension, once all values are known.
func (p *alignment) stepsIn(variable, at string, among func(class int32) bool) (steps map[int32]step, lack []int32, missing []want, err error) {
	steps = map[int32]step{}
	var turned []func() // turns variables into coordinates; called only if every file has a value
	for n, c := range p.survey.classes {
		if !among(int32(n)) {
			continue
		}
		i := c.find(variable)
		if i < 0 || c.vars[i].v.Unreadable != "" || c.vars[i].v.Storage.Layout == manifest.Nothing {
			lack = append(lack, c.files...)
			continue
		}
		x := c.vars[i]
		if coord.ElementsOf(x.v) != 1 {
			return nil, nil, nil, fmt.Errorf("%s: %s has the shape %v; it must have exactly one element", p.env.files[c.files[0]].URL, variable, x.v.Shape)
		}
		v := *x.v
		v.Path, v.Dims, v.Shape = at, []string{at}, []int64{1}
		if v.Storage.Layout == manifest.Chunked {
			v.Storage.Chunks, v.Storage.Edges, v.Storage.DataSizes = v.Shape, nil, nil
		}
		for _, f := range c.files {
			w := p.env.all(f, x.at, 1)
			switch values, ok, err := p.env.values(w); {
			case err != nil:
				return nil, nil, nil, err
			case !ok:
				missing = append(missing, w)
			case isMissing(&v, values):
				lack = append(lack, f)
			default:
				steps[f] = step{&v, values}
			}
		}
		turned = append(turned, func() {
			x.v, x.path, x.dims = &v, at, v.Dims
			p.survey.classes[n] = c.withVirtual(x, virtualAxis{})
		})
	}
	if len(lack)+len(missing) == 0 {
		for _, turn := range turned {
			turn()
		}
	}
	return steps, lack, missing, nil
}

// isMissing reports whether the single element of a variable is missing or NaN.
func isMissing(v *manifest.Variable, values *manifest.Values) bool {
	// Text has no missing value that xarray would honour.
	what, err := coord.NewMeaning(v)
	if err != nil || what.Nature == coord.Text {
		return false
	}
	g, err := coord.NewGauge(what, what.Nature, int64(len(values.Data)))
	if err != nil || g.Add(values.Data) != nil {
		return false // reading the variable reports this error
	}
	return coord.Missing(g.First, g.As) || g.As != coord.Instant && g.Packing.IsMask(g.Packing.Type, values.Data[:g.Packing.Type.Size])
}

// makeDim adds a dimension with one position for each distinct value, in increasing order.
func (p *alignment) makeDim(at string, steps map[int32]step) error {
	d := &dim{path: at, coord: at, by: byOption, named: true, role: flowing}
	if own := p.dims[at]; own != nil {
		d.owned, d.classes = true, own.classes
	}
	d.of = make([]int32, len(p.env.files))
	for i := range d.of {
		d.of[i] = noDim
	}
	known := newInterned(p.env.files)
	for _, f := range sorted(steps) {
		if err := known.add(d, f, steps[f].v, steps[f].values); err != nil {
			return p.env.inFile(f, err)
		}
	}
	if err := p.measure(d); err != nil {
		return err
	}
	d.order = slices.Clone(d.coords)
	// The file order is arbitrary; values give each file a position that does not change.
	slices.SortFunc(d.order, func(a, b *coord.Coord) int { return a.Low.Compare(b.Low) })
	for i, c := range d.order {
		c.Start = int64(i)
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
