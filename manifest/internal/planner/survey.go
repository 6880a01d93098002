package planner

import (
	"errors"
	"maps"
	"slices"

	"varve/manifest"
	"varve/manifest/report"
)

// survey holds the classes of files.
type survey struct {
	env     *env
	classes []*class
	classOf []int32       // index into classes, for each file; -1 if the file is left out
	hidden  map[int]int32 // the class of each hidden file, which is part of another file

	numbered      map[string]bool // paths of the generated names of unnamed dimensions
	conflicting   map[string]bool // the generated names for which other files have conflicting names
	guesses       []guess         // candidates for unnamed dimensions that no file names
	beside        map[string]bool // dimensions along which an option gives the position of files without coordinate values
	includedSpare bool            // a coordinate was included only because another file names its dimension
}

// clone returns a copy of the survey. A phase that adds classes or replaces them changes its own copy.
func (p *survey) clone() *survey {
	own := *p
	own.classes, own.classOf = slices.Clone(p.classes), slices.Clone(p.classOf)
	own.hidden, own.beside = maps.Clone(p.hidden), maps.Clone(p.beside)
	return &own
}

// classify groups the files by header and applies the options to their variables.
func classify(env *env) (*survey, error) {
	p := &survey{env: env, hidden: map[int]int32{}}
	if env.namedFiles() == 0 {
		return nil, errors.New("no files to plan")
	}
	return p, p.makeClasses()
}

// selectFiles leaves out files without any selected variable, and files that do not belong to the others.
func selectFiles(p *survey) (*survey, error) {
	p = p.clone()
	if err := p.checkOptions(); err != nil {
		return nil, err
	}
	p.leaveOutEmpty()
	if len(p.classes) == 0 || p.total() == 0 {
		return nil, p.nothingLeft()
	}
	p.refuseForeign()
	return p, nil
}

// total counts the files that contribute to the plan.
func (p *survey) total() (n int64) {
	for _, c := range p.classOf {
		if c >= 0 {
			n++
		}
	}
	return n
}

// isFile reports whether name, as a user writes it, means the file f.
func isFile(f *manifest.File, name string) bool {
	return f.URL == name || report.Base(f.URL) == report.Base(name)
}

// leaveOutEmpty excludes files in which the options select no variable.
func (p *survey) leaveOutEmpty() {
	var empty []int32
	for n, c := range p.classes {
		if len(c.vars) > 0 || len(c.header.Variables) == 0 {
			continue
		}
		empty = append(empty, c.files...)
		p.leaveOut(n)
	}
	if len(empty) > 0 && p.total() > 0 {
		p.env.find(p.env.odd(report.Finding{Code: report.NoVariables, Effect: report.Dropped}, empty, int64(p.env.namedFiles())))
	}
}

// leaveOut excludes the files of a class from the plan. The class stays in the list, without files and
// variables, because other classes are known by their index.
func (p *survey) leaveOut(n int) {
	for _, f := range p.classes[n].files {
		p.classOf[f] = -1
	}
	p.classes[n] = &class{file: p.classes[n].file, header: p.classes[n].header}
}

// anyHas reports whether any file has a variable.
func (p *survey) anyHas(variable string) bool {
	return slices.ContainsFunc(p.classes, func(c *class) bool { return c.find(variable) >= 0 })
}

// longest returns the greatest length of a dimension in any file.
func (p *survey) longest(d *dim) (n int64) {
	for _, class := range d.classes {
		n = max(n, p.classes[class].dims[d.path].Length)
	}
	return n
}
