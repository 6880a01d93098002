package plan

import (
	"errors"
	"slices"
	"strings"

	"varve/manifest"
)

// OptionError is the error of an option whose value is none that there is, or that means
// nothing in any of the files, such as one that was mistyped.
type OptionError struct {
	Option string // as on the command line
	Says   string
}

// Error says what is wrong with the option.
func (e *OptionError) Error() string { return e.Option + ": " + e.Says }

// checkOptions reports options that mean nothing in any file.
func (p *survey) checkOptions() error {
	if from := p.opts.CodecFrom; from != "" && !slices.ContainsFunc(p.files, func(f *manifest.File) bool { return isFile(f, from) }) {
		return &OptionError{"--codec-from " + from, "it is not among the files"}
	}
	for _, r := range p.opts.Rename {
		if !p.renames(&r) {
			return &OptionError{"--rename " + r.Old + "=" + r.New, "nothing is called " + r.Old}
		}
	}
	for i := range p.opts.Schemas {
		if err := p.checkOverride(&p.opts.Schemas[i]); err != nil {
			return err
		}
	}
	return nil
}

// renames reports whether anything is called as an option says. A dimension without a name is, by
// the number that any file has for it: files that are added may take that away.
func (p *survey) renames(r *Rename) bool {
	for d := range p.numbered {
		if r.means(d) {
			return true
		}
	}
	lens := lens{group: p.lens().group}
	return slices.ContainsFunc(p.classes, func(c *class) bool {
		return slices.ContainsFunc(c.vars, func(x lensed) bool {
			return r.means(lens.dim(x.v.Path)) || slices.ContainsFunc(x.v.Dims, func(d string) bool { return r.means(lens.dim(d)) })
		})
	})
}

// checkOverride looks for the arrays that an override is for, and for its dimensions.
func (p *survey) checkOverride(o *Override) error {
	dims, found := p.overridden(o)
	if o.Type != "" {
		if !found {
			return &OptionError{"--dtype " + o.Array + "=" + o.Type, "no array is called so" + p.whichThere()}
		}
	}
	for dim := range o.Chunks {
		option := "--chunk-edges " + o.Array + ":" + dim
		if !found {
			return &OptionError{option, "no array is called so" + p.whichThere()}
		}
		if !slices.ContainsFunc(dims, func(at string) bool { return calls(dim, at) }) {
			return &OptionError{option, "no such array has a dimension " + dim + listed(dims)}
		}
	}
	return nil
}

// overridden returns the dimensions of arrays that an override is for, and whether there are
// any such.
func (p *survey) overridden(o *Override) (dims []string, found bool) {
	for _, made := range p.opts.NewDims {
		dims = append(dims, "/"+made.Name)
		found = found || matches([]string{o.Array}, "/"+made.Name)
	}
	for _, c := range p.classes {
		for _, x := range c.vars {
			if matches([]string{o.Array}, x.path) {
				found = true
				dims = append(dims, x.dims...)
				for _, s := range p.opts.Broadcast {
					if matches([]string{s.Array}, x.path) {
						dims = append(dims, "/"+strings.TrimLeft(s.Dim, "/"))
					}
				}
			}
		}
	}
	return dims, found
}

// checkConcat looks for the dimensions along which files are to follow one another.
func (p *directions) checkConcat() error {
	for _, name := range p.opts.Concat {
		if !slices.ContainsFunc(p.dimOrder, func(at string) bool { return calls(name, at) }) {
			says := "no dimension is called so" + listed(p.dimOrder)
			if p.anyHas("/" + strings.Trim(name, "/")) {
				says += "; " + stackedBy("/"+name) + " makes one of the variable"
			}
			return &OptionError{"--concat " + name, says}
		}
	}
	return nil
}

// nothingLeft says which options leave no variable of any file.
func (p *survey) nothingLeft() error {
	var options []string
	for _, o := range []struct{ flag, value string }{
		{"--group", p.opts.Group}, {"--vars", strings.Join(p.opts.Vars, ",")}, {"--drop", strings.Join(p.opts.Drop, ",")},
	} {
		if o.value != "" {
			options = append(options, o.flag+" "+o.value)
		}
	}
	if len(options) == 0 {
		return errors.New("no file has a variable")
	}
	return &OptionError{strings.Join(options, " "), "nothing is left of any file" + p.whichThere()}
}

// whichThere says which variables the files have.
func (p *survey) whichThere() string {
	var paths []string
	for _, c := range p.classes {
		for i := range c.header.Variables {
			paths = append(paths, c.header.Variables[i].Path)
		}
	}
	return listed(paths)
}

// mostListed is how many names help to find the one that was meant.
const mostListed = 20

// listed says which names there are.
func listed(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	if len(names) == 0 {
		return ""
	}
	more := ""
	if len(names) > mostListed {
		names, more = names[:mostListed], ", …"
	}
	return "; there are " + strings.Join(names, ", ") + more
}
