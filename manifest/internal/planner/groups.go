package planner

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/report"
	"varve/zarrjson"
)

// finish declares the groups and the placements, and reports the datasets that the groups are.
func (p *declaration) finish() error {
	if len(p.env.report.Refused()) > 0 {
		return nil
	}
	for _, w := range p.arrangement.placeOrder {
		if w.used {
			m := manifest.Placement{ID: p.placementID(w), Tiles: w.tiles}
			for _, d := range w.dims {
				m.Dims = append(m.Dims, d.path)
			}
			p.out.Placements = append(p.out.Placements, m)
		}
	}
	if err := p.declareGroups(); err != nil {
		return err
	}
	p.noteDatasets()
	p.out.state, p.out.Stateless = p.keepState()
	return nil
}

// placementID returns the ID of a placing: the names of its dimensions, and a number if several
// placings have these dimensions.
func (p *declaration) placementID(w *placing) string {
	if w.id != "" {
		return w.id
	}
	name := "static"
	if len(w.dims) > 0 {
		name = strings.ReplaceAll(dimNames(w.dims), ", ", "-")
	}
	w.id = name
	for p.ids[w.id] > 0 {
		p.ids[name]++
		w.id = name + "-" + report.Thousands(p.ids[name])
	}
	p.ids[w.id] = 1
	return w.id
}

// merged holds the attributes of a group over all files.
type merged struct {
	order  []string
	values map[string]manifest.Attribute
	differ map[string]bool
	files  int64
	seen   map[string]int64 // for each name, the number of files that have it
}

func (g *merged) add(attributes []manifest.Attribute) {
	g.files++
	for _, a := range attributes {
		first, ok := g.values[a.Name]
		g.seen[a.Name]++
		switch {
		case !ok:
			g.values[a.Name] = a
			g.order = append(g.order, a.Name)
		case !coord.SameAttribute(&first, &a):
			g.differ[a.Name] = true
		}
	}
}

// declareGroups declares the attributes on which all files agree.
func (p *declaration) declareGroups() error {
	groups := p.mergeGroups()
	for _, a := range p.arrangement.arrays {
		if groups[a.path] != nil {
			files := p.survey.filesHaving(a)
			p.env.find(p.env.odd(report.Finding{Code: report.VariableIsGroup, Array: a.path, Effect: report.Refused,
				Remedies: []report.Remedy{report.DropPath(a.path), report.Fill(report.Rename, a.path[1:]+"=NAME", "")}}, files, int64(len(files))))
		}
	}
	for _, at := range sorted(groups) {
		if err := p.declareGroup(at, groups[at]); err != nil {
			return err
		}
	}
	return nil
}

// mergeGroups merges the groups of all files in rank order, by new path. It includes the root and
// groups that only contain arrays.
func (p *declaration) mergeGroups() map[string]*merged {
	groups := map[string]*merged{}
	renamer, drop := p.env.renamer(), attributePatterns(p.env.opts)
	for _, g := range p.differentGroups() {
		for _, group := range g.Expand().Groups {
			at, ok := renamer.GroupPath(group.Path)
			if !ok {
				continue
			}
			if groups[at] == nil {
				groups[at] = &merged{values: map[string]manifest.Attribute{}, differ: map[string]bool{}, seen: map[string]int64{}}
			}
			attributes := group.Attributes
			if len(drop) > 0 {
				attributes = slices.DeleteFunc(slices.Clone(attributes), func(a manifest.Attribute) bool {
					return naming.Matches(drop, manifest.AttributePath(group.Path, a.Name))
				})
			}
			groups[at].add(attributes)
		}
	}
	if groups["/"] == nil {
		groups["/"] = &merged{}
	}
	for _, a := range p.out.Arrays {
		for at := path.Dir(a.Path); at != "/"; at = path.Dir(at) {
			if groups[at] == nil {
				groups[at] = &merged{}
			}
		}
	}
	return groups
}

// differentGroups returns the groups of files. Files that share their groups provide them once.
func (p *declaration) differentGroups() (list []*manifest.FileGroups) {
	known := map[*manifest.FileGroups]bool{}
	for _, f := range p.arrangement.inRank() {
		if g := p.env.files[f].Groups; g != nil && !known[g] {
			known[g] = true
			list = append(list, g)
		}
	}
	return list
}

func (p *declaration) declareGroup(at string, g *merged) error {
	out := manifest.GroupSchema{Path: at}
	var differ []string
	var kept []zarrjson.Attribute
	for _, name := range g.order {
		a := g.values[name]
		// An attribute that only some files have is not true of the whole dataset.
		if g.differ[name] || g.seen[name] != g.files {
			differ = append(differ, name)
			continue
		}
		if a.Unreadable != "" {
			p.env.find(report.Finding{Code: report.AttributeUnreadable, Effect: report.Dropped, Count: g.files, Of: g.files,
				Args: report.Args{"name": name, "group": at, "reason": a.Unreadable}})
			continue
		}
		raw, err := cf.AttributeJSON(&a)
		if err != nil {
			return fmt.Errorf("attribute %s of the group %s: %w", name, at, err)
		}
		kept = append(kept, zarrjson.Attribute{Name: name, JSON: raw})
		if kind := a.JSONType(raw); kind != "" {
			if out.AttributeTypes == nil {
				out.AttributeTypes = map[string]string{}
			}
			out.AttributeTypes[name] = kind
		}
	}
	var err error
	if out.Attributes, err = zarrjson.AttributesOf(kept); err != nil {
		return err
	}
	if len(differ) > 0 {
		p.env.find(report.Finding{Code: report.GroupAttributes, Effect: report.Dropped, Count: g.files, Of: g.files, Args: report.Args{"group": at, "names": differ}})
	}
	p.out.Groups = append(p.out.Groups, out)
	return nil
}

// inRank returns the files of the plan, sorted by rank.
func (p *arrangement) inRank() []int32 {
	order := make([]int32, len(p.env.files))
	for f, r := range p.rank {
		order[r] = int32(f)
	}
	kept := order[:0]
	for _, f := range order {
		if p.survey.classOf[f] >= 0 {
			kept = append(kept, f)
		}
	}
	return kept
}
