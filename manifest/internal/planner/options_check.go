package planner

import (
	"errors"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// optionError returns the error for an option and its value.
func optionError(option report.Option, value, says string) *plan.OptionError {
	return &plan.OptionError{Setting: report.Setting{Option: option, Value: value}, Says: says}
}

// advise adds an option that avoids the error to it.
func advise(err error, r report.Remedy) error {
	return manifest.WithRemedy(err, string(r.Option), r.Value)
}

// checkOptions returns an error for an option that applies to no file.
func (p *survey) checkOptions() error {
	if from := p.env.opts.CodecFrom; from != "" && !slices.ContainsFunc(p.env.files, func(f *manifest.File) bool { return isFile(f, from) }) {
		return optionError(report.CodecFrom, from, "it is not among the files")
	}
	for _, r := range p.env.opts.Rename {
		if p.renames(&r) || p.env.opts.IsOptional(report.Setting{Option: report.Rename, Value: r.Old + "=" + r.New}) {
			continue
		}
		own := report.Setting{Option: report.Rename, Value: r.Old + "=" + r.New}
		if c := p.env.opts.Curation; c != nil && slices.Contains(c.Rename, r) {
			own = report.Setting{Option: report.Curation, Value: r.Old}
		}
		names := p.allPaths()
		for _, c := range p.classes {
			for _, d := range c.header.Dimensions {
				names[d.Path] = true
			}
		}
		return optionError(own.Option, own.Value, "no variable or dimension is called "+r.Old+near(r.Old, names))
	}
	if err := p.checkPatterns(); err != nil {
		return err
	}
	for i := range p.env.opts.Schemas {
		err := p.checkOverride(&p.env.opts.Schemas[i])
		if e, is := errors.AsType[*plan.OptionError](err); err != nil && !(is && p.env.opts.IsOptional(e.Setting)) {
			return err
		}
	}
	return p.checkRepack()
}

// checkPatterns returns an error if a name of the options vars or drop, or a pattern of a new curation, matches no
// variable. A glob of vars or drop that matches none is a finding. Patterns of attributes are not checked: a damaged
// attribute has no name in a header.
func (p *survey) checkPatterns() error {
	paths, group := map[string]bool{}, p.env.renamer()
	for _, c := range p.classes {
		for _, v := range c.header.Variables {
			if _, within := group.Path(v.Path); within {
				paths[v.Path] = true
			}
		}
	}
	if len(paths) == 0 {
		return nil // nothingLeft reports it
	}
	var settings []report.Setting
	for _, glob := range p.env.opts.Vars {
		settings = append(settings, report.Setting{Option: report.Vars, Value: glob})
	}
	curation := p.env.opts.Curation
	for _, glob := range p.env.opts.Drop {
		switch {
		case isAttribute("/" + glob):
		case curation == nil || !slices.Contains(curation.Drop, glob):
			settings = append(settings, report.Setting{Option: report.Drop, Value: glob})
		case curation.IsNew:
			settings = append(settings, report.Setting{Option: report.Curation, Value: glob})
		}
	}
	for _, s := range settings {
		matches := func(at string) bool { return naming.Matches([]string{s.Value}, at) }
		if p.env.opts.IsOptional(s) || slices.ContainsFunc(sorted(paths), matches) {
			continue
		}
		if s.Option == report.Curation || !strings.ContainsAny(s.Value, "*?[") {
			return noVariable(s, "", s.Value, paths)
		}
		p.env.find(report.Finding{Code: report.UnmatchedGlob, Effect: report.Noted, By: s})
	}
	return nil
}

// noVariable returns the error that no variable has the name in a setting. The value of the setting is the name after a
// prefix. The remedies have the nearest names; if there are none, the text lists all.
func noVariable(s report.Setting, prefix, name string, paths map[string]bool) error {
	err := optionError(s.Option, s.Value, "no variable has this name")
	names := sorted(paths)
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], "/")
	}
	for _, other := range plan.Nearest(strings.TrimPrefix(name, "/"), names) {
		if s.Option != report.NewDim {
			other = report.ListItem(report.GlobOf(other))
		}
		err.Remedies = append(err.Remedies, report.Do(s.Option, prefix+other, ""))
	}
	if len(err.Remedies) == 0 || s.Option == report.Curation {
		err.Says, err.Remedies = err.Says+near(name, paths), nil
	}
	return err
}

// renames reports whether any file has the old name of a rename. For unnamed dimensions, the
// generated name of any file counts, because an added file may replace it.
func (p *survey) renames(r *plan.Rename) bool {
	for d := range p.numbered {
		if naming.Means(r, d) {
			return true
		}
	}
	renamer := naming.Renamer{Group: p.env.renamer().Group}
	return slices.ContainsFunc(p.classes, func(c *class) bool {
		return slices.ContainsFunc(c.vars, func(x planVar) bool {
			return naming.Means(r, renamer.Dim(x.v.Path)) || slices.ContainsFunc(x.v.Dims, func(d string) bool { return naming.Means(r, renamer.Dim(d)) })
		})
	})
}

// checkOverride returns an error if no array, or none of its dimensions, matches an override.
func (p *survey) checkOverride(o *plan.Override) error {
	dims, found := p.overridden(o)
	if o.Type != "" {
		if !found {
			return optionError(report.DataType, o.Array+"="+o.Type, "no array has this name"+p.whichThere())
		}
	}
	for dim := range o.Chunks {
		value := o.Array + ":" + dim
		if !found {
			return optionError(report.ChunkEdges, value, "no array has this name"+p.whichThere())
		}
		if !slices.ContainsFunc(dims, func(at string) bool { return naming.Calls(dim, at) }) {
			return optionError(report.ChunkEdges, value, "no array of this name has a dimension "+dim+listed(dims))
		}
	}
	return nil
}

// overridden returns the dimensions of the arrays that match an override, and whether any array
// does.
func (p *survey) overridden(o *plan.Override) (dims []string, found bool) {
	for _, made := range p.env.opts.NewDims {
		dims = append(dims, "/"+made.Name)
		found = found || naming.Matches([]string{o.Array}, "/"+made.Name)
	}
	for _, c := range p.classes {
		for _, x := range c.vars {
			if naming.Matches([]string{o.Array}, x.path) {
				found = true
				dims = append(dims, x.dims...)
				for _, s := range p.env.opts.Broadcast {
					if naming.Matches([]string{s.Array}, x.path) {
						dims = append(dims, "/"+strings.TrimLeft(s.Dim, "/"))
					}
				}
			}
		}
	}
	return dims, found
}

// checkConcat returns an error if no file has a dimension that the user named, to concatenate along it
// or to join it.
func (p *alignment) checkConcat() error {
	for _, name := range p.env.opts.Concat {
		if !slices.ContainsFunc(p.dimOrder, func(at string) bool { return naming.Calls(name, at) }) && !p.survey.dropsDim(name) &&
			!p.env.opts.IsOptional(report.Setting{Option: report.Concat, Value: name}) {
			err := optionError(report.Concat, name, "no dimension has this name"+listed(p.dimOrder))
			if at := "/" + strings.Trim(name, "/"); p.survey.anyHas(at) {
				err.Remedies = []report.Remedy{stackBy(at, report.StackByValue)}
			}
			return err
		}
	}
	for _, name := range sorted(p.env.opts.Join) {
		own := report.Setting{Option: report.JoinLabels, Value: name + "=" + string(p.env.opts.Join[name])}
		if name != "" && !slices.ContainsFunc(p.dimOrder, func(at string) bool { return naming.Calls(name, at) }) && !p.survey.dropsDim(name) && !p.env.opts.IsOptional(own) {
			return optionError(own.Option, own.Value, "no dimension has this name"+listed(p.dimOrder))
		}
	}
	return nil
}

// dropsAll reports whether the options drop all variables that match a pattern. Other options for
// these variables then have no effect. That is no error, because users add drop to options that
// were refused.
func (p *survey) dropsAll(glob string) bool {
	if len(p.env.opts.Drop) == 0 || slices.ContainsFunc(p.classes, func(c *class) bool {
		return slices.ContainsFunc(c.vars, func(x planVar) bool { return naming.Matches([]string{glob}, x.path) })
	}) {
		return false
	}
	renamer := p.env.renamer()
	return slices.ContainsFunc(p.classes, func(c *class) bool {
		return slices.ContainsFunc(c.header.Variables, func(v *manifest.Variable) bool {
			return naming.Matches([]string{glob}, renamer.Dim(v.Path)) && naming.Matches(p.env.opts.Drop, renamer.Dim(v.Path))
		})
	})
}

// dropsDim reports whether only dropped variables have a dimension.
func (p *survey) dropsDim(name string) bool {
	renamer := p.env.renamer()
	return len(p.env.opts.Drop) > 0 && slices.ContainsFunc(p.classes, func(c *class) bool {
		return slices.ContainsFunc(c.header.Variables, func(v *manifest.Variable) bool {
			return naming.Matches(p.env.opts.Drop, renamer.Dim(v.Path)) && slices.ContainsFunc(v.Dims, func(d string) bool { return naming.Calls(name, renamer.Dim(d)) })
		})
	})
}

// nothingLeft returns the error that the options exclude all variables.
func (p *survey) nothingLeft() error {
	var given []report.Setting
	for _, s := range []report.Setting{{Option: report.Group, Value: p.env.opts.Group}, {Option: report.Vars, Value: strings.Join(p.env.opts.Vars, ",")},
		{Option: report.Drop, Value: strings.Join(p.env.opts.Drop, ",")}} {
		if s.Value != "" {
			given = append(given, s)
		}
	}
	if len(given) == 0 {
		return errors.New("no file has a variable")
	}
	return &plan.OptionError{Setting: given[0], Says: "these options exclude all variables" + p.whichThere()}
}

// whichThere lists the variables of the files, for a message.
func (p *survey) whichThere() string {
	var paths []string
	for _, c := range p.classes {
		for i := range c.header.Variables {
			paths = append(paths, c.header.Variables[i].Path)
		}
	}
	return listed(paths)
}

// mostListed is the number of names in a message, enough to find the intended one.
const mostListed = 20

// listed returns the end of a message with the names that exist.
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
