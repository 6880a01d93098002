package planner

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/zarrjson"
)

// curate changes the attributes of the planned arrays and groups as the curation says. It is the last step of a plan, so an
// append compares curated schemas with curated schemas.
func (p *declaration) curate() error {
	c := p.env.opts.Curation
	if c == nil || len(p.env.report.Refused()) > 0 {
		return nil
	}
	paths := map[string]bool{}
	for i := range p.out.Arrays {
		paths[p.out.Arrays[i].Path] = true
	}
	for i := range c.Edits {
		e := &c.Edits[i]
		err := p.curateArrays(e, paths)
		if e.Group != "" {
			err = p.curateGroup(e, paths)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// curateArrays applies an edit to the arrays that match it.
func (p *declaration) curateArrays(e *plan.Edit, paths map[string]bool) error {
	found, lacks := false, slices.Clone(e.Drop)
	for i := range p.out.Arrays {
		a := &p.out.Arrays[i]
		if !naming.Matches([]string{e.Variable}, a.Path) {
			continue
		}
		found = true
		lacks = slices.DeleteFunc(lacks, func(name string) bool {
			_, has := a.Schema.Attributes.Get(name)
			return has
		})
		if err := checkUnits(e, a); err != nil {
			return err
		}
		edited, err := edited(e, a.Path, a.Schema.Attributes, paths)
		if err != nil {
			return err
		}
		a.Schema.Attributes = edited
	}
	if !found {
		return optionError(report.Curation, e.Variable, "no variable has this name"+near(e.Variable, paths))
	}
	return p.checkDropped(e, lacks, paths)
}

// checkDropped returns an error for attributes to drop that nothing has, if the curation is new.
func (p *declaration) checkDropped(e *plan.Edit, lacks []string, paths map[string]bool) error {
	if len(lacks) == 0 || !p.env.opts.Curation.IsNew {
		return nil
	}
	known := map[string]bool{}
	add := func(attributes zarrjson.Attributes) {
		for name := range attributes.All() {
			known[name] = true
		}
	}
	for i := range p.out.Arrays {
		if e.Group == "" && naming.Matches([]string{e.Variable}, p.out.Arrays[i].Path) {
			add(p.out.Arrays[i].Schema.Attributes)
		}
	}
	for _, g := range p.out.Groups {
		if g.Path == e.Group {
			add(g.Attributes)
		}
	}
	return optionError(report.Curation, e.Key(), "there is no attribute "+lacks[0]+" to drop"+near(lacks[0], known))
}

// curateGroup applies an edit to a group.
func (p *declaration) curateGroup(e *plan.Edit, paths map[string]bool) error {
	at := slices.IndexFunc(p.out.Groups, func(g manifest.GroupSchema) bool { return g.Path == e.Group })
	if at < 0 {
		groups := map[string]bool{"/": true}
		for name := range paths {
			for dir := path.Dir(name); dir != "/"; dir = path.Dir(dir) {
				groups[dir] = true
			}
		}
		if !groups[e.Group] {
			return optionError(report.Curation, e.Group, "no group has this name"+near(e.Group, groups))
		}
		at, _ = slices.BinarySearchFunc(p.out.Groups, e.Group, func(g manifest.GroupSchema, path string) int { return strings.Compare(g.Path, path) })
		p.out.Groups = slices.Insert(p.out.Groups, at, manifest.GroupSchema{Path: e.Group})
	}
	g := &p.out.Groups[at]
	lacks := slices.DeleteFunc(slices.Clone(e.Drop), func(name string) bool {
		_, has := g.Attributes.Get(name)
		return has
	})
	if err := p.checkDropped(e, lacks, paths); err != nil {
		return err
	}
	edited, err := edited(e, path.Join(e.Group, "*"), g.Attributes, paths)
	if err == nil {
		g.Attributes = edited
	}
	return err
}

// edited returns attributes with the changes of an edit. The edit can name coordinates of the variable `at` in the way of the
// attribute coordinates, relative to its group.
func edited(e *plan.Edit, at string, old zarrjson.Attributes, paths map[string]bool) (zarrjson.Attributes, error) {
	out := old
	for _, name := range e.Drop {
		out.Delete(name)
	}
	for _, v := range e.Set {
		if err := out.Set(v.Name, v.JSON); err != nil {
			return old, optionError(report.Curation, e.Key(), err.Error())
		}
	}
	for _, name := range e.Coordinates {
		if naming.Resolve(paths, at, name) == "" {
			return old, optionError(report.Curation, e.Key(), "no variable has the name of the coordinate "+name+near(name, paths))
		}
	}
	if len(e.Coordinates) == 0 {
		return out, nil
	}
	text, err := json.Marshal(strings.Join(e.Coordinates, " "))
	if err == nil {
		err = out.Set("coordinates", text)
	}
	return out, err
}

// checkUnits refuses to change the units of times, since they decide which times the stored numbers are, and units to
// which numbers are converted.
func checkUnits(e *plan.Edit, a *manifest.Array) error {
	const name = "units"
	isTime := func(text []byte) bool { return strings.Contains(string(text), " since ") }
	i := slices.IndexFunc(e.Set, func(v plan.Value) bool { return v.Name == name })
	was, _ := a.Schema.Attributes.Get(name)
	switch {
	case i < 0 && !slices.Contains(e.Drop, name):
		return nil
	case i >= 0 && string(e.Set[i].JSON) == string(was):
		return nil
	case isTime(was) || i >= 0 && isTime(e.Set[i].JSON):
		return optionError(report.Curation, e.Variable, "the units of "+a.Path+" are of times: they say how stored numbers become times, so they cannot be changed")
	case a.Reading == manifest.InUnits:
		return optionError(report.Curation, e.Variable, "the numbers of "+a.Path+" are converted to its units, so these cannot be changed")
	}
	return nil
}

// changesUnits reports whether a curation sets or drops the units of an array.
func changesUnits(c *plan.Curation, at string) bool {
	return c != nil && slices.ContainsFunc(c.Edits, func(e plan.Edit) bool {
		return e.Variable != "" && naming.Matches([]string{e.Variable}, at) &&
			(slices.Contains(e.Drop, cf.UnitsName) || slices.ContainsFunc(e.Set, func(v plan.Value) bool { return v.Name == cf.UnitsName }))
	})
}

// near returns the end of a message with similar names, or with all.
func near(wrong string, paths map[string]bool) string {
	names := sorted(paths)
	var short []string
	for _, name := range names {
		short = append(short, strings.TrimPrefix(name, "/"))
	}
	if text := plan.DidYouMean(strings.TrimPrefix(wrong, "/"), short); text != "" {
		return "." + text
	}
	return listed(names)
}

// allPaths returns the paths of all variables of the files, within the chosen group.
func (p *survey) allPaths() map[string]bool {
	paths, renamer := map[string]bool{}, naming.Renamer{Group: p.env.renamer().Group}
	for _, c := range p.classes {
		for i := range c.header.Variables {
			if at, ok := renamer.Path(c.header.Variables[i].Path); ok {
				paths[at] = true
			}
		}
	}
	return paths
}
