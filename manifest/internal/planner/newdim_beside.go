package planner

import (
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/plan"
)

// stepsBeside applies new dimensions that some files have already: files without their own value
// along the dimension get the value from the option. Files that have a value keep it.
func (p *alignment) stepsBeside() error {
	for i := range p.env.opts.NewDims {
		n := &p.env.opts.NewDims[i]
		at := "/" + strings.Trim(n.Name, "/")
		if p.isStep(at) || !slices.ContainsFunc(p.survey.classes, func(c *class) bool { return c.isAlong(at, at) }) {
			continue
		}
		if err := p.giveSteps(n, at); err != nil {
			return err
		}
	}
	return nil
}

// isAlong reports whether a class has a variable at a path whose only dimension is at.
func (c *class) isAlong(path, at string) bool {
	i := c.find(path)
	return i >= 0 && slices.Equal(c.vars[i].dims, []string{at})
}

// giveSteps gives the option's value to files without a value along a dimension. A file for which the
// option has no value is refused if its variables need the dimension; otherwise it does not change.
func (p *alignment) giveSteps(n *plan.NewDim, at string) error {
	variable, has := "/"+strings.Trim(n.Variable, "/"), p.having(at)
	among := make([]bool, len(p.survey.classes))
	for i, c := range p.survey.classes {
		isStep := c.canBeStep(at, at, has) || !slices.ContainsFunc(c.vars, func(x planVar) bool { return slices.Contains(x.dims, at) })
		if n.Variable == "" {
			isStep = isStep && c.find(at) < 0
		} else {
			isStep = isStep && (c.find(variable) >= 0 || c.find(at) < 0 && c.canBeStep(at, at, has))
		}
		among[i] = isStep && len(c.files) > 0
	}
	steps, lack, err := p.stepsOf(n, at, func(class int32) bool { return among[class] })
	if err != nil || len(steps)+len(lack) == 0 {
		return err
	}
	lack = slices.DeleteFunc(lack, func(f int32) bool {
		class := p.survey.classOf[f]
		if p.survey.classes[class].canBeStep(at, at, has) {
			return false
		}
		among[class] = false
		return true
	})
	if p.survey.beside == nil {
		p.survey.beside = map[string]bool{}
	}
	p.survey.beside[at] = true
	if len(lack) > 0 {
		p.refuseLack(n, at, lack, len(lack)+len(steps))
		return nil
	}
	if n.Variable != "" {
		return nil // stepsIn has made the coordinate
	}
	files := slices.Clone(p.env.files)
	for i, c := range p.survey.classes {
		if among[i] {
			p.survey.classes[i] = c.withStep(at, steps, files)
		}
	}
	p.env = p.env.withFiles(files)
	p.survey.env = p.env
	return nil
}

// withStep returns a class with a virtual axis, whose position an option gives. It replaces the files of the class by
// copies whose header and values have the coordinate.
func (c *class) withStep(at string, steps map[int32]step, files []*manifest.File) *class {
	v := *steps[c.files[0]].v
	v.Storage.Layout = manifest.Valued
	with := func(h *manifest.Header) *manifest.Header {
		return &manifest.Header{ID: h.ID, Dimensions: h.Dimensions, Variables: append(slices.Clip(h.Variables), &v)}
	}
	bases := map[*manifest.Header]*manifest.Header{} // equal headers of several scans have different ones
	on := func(h *manifest.FileHeader) *manifest.FileHeader {
		if bases[h.Base()] == nil {
			bases[h.Base()] = with(h.Base())
		}
		return h.WithBase(bases[h.Base()])
	}
	last := c.file.Len()
	for _, f := range c.files {
		file := *files[f]
		file.Header, file.Values = on(file.Header), append(slices.Clone(file.Values), make([]*manifest.Values, last+1-len(file.Values))...)
		file.Values[last] = steps[f].values
		files[f] = &file
	}
	own := *c
	own.file, own.header = on(c.file), with(c.header)
	return own.withVirtual(planVar{at: last, v: &v, path: at, dims: []string{at}, aux: true}, virtualAxis{})
}
