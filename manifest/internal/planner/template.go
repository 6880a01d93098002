package planner

import (
	"crypto/sha256"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
)

// Files of real archives differ in values of attributes: each has its own scale_factor, actual_range or uuid. A plan
// depends on most of these values only by whether they are equal in all files. So headers are compared by templates:
// a template is all of a header except these values.

// templateKey identifies a template. Headers with the same key have the same variables with the same names of
// attributes, in the same order.
type templateKey [sha256.Size]byte

// templateOf returns the template of a header.
func templateOf(h *manifest.Header) templateKey {
	bare := manifest.Header{Dimensions: h.Dimensions, Variables: make([]*manifest.Variable, len(h.Variables))}
	all := make([]manifest.Variable, len(h.Variables))
	n := 0
	for _, v := range h.Variables {
		n += len(v.Attributes)
	}
	attributes := make([]manifest.Attribute, 0, n)
	for i, v := range h.Variables {
		at := len(attributes)
		for k := range v.Attributes {
			attributes = append(attributes, inTemplate(v, &v.Attributes[k]))
		}
		all[i] = *v
		all[i].Attributes = attributes[at:len(attributes):len(attributes)]
		bare.Variables[i] = &all[i]
	}
	return sha256.Sum256(bare.AppendKey(make([]byte, 0, 8<<10)))
}

// inTemplate returns what a template keeps of an attribute. It keeps all of an attribute whose value the planner
// interprets, and of another attribute all but the value.
func inTemplate(v *manifest.Variable, a *manifest.Attribute) manifest.Attribute {
	if !isFree(v, a) {
		return *a
	}
	bare := manifest.Attribute{Name: a.Name, Type: a.Type, Scalar: a.Scalar}
	if a.JSON != "" {
		bare.JSON = "null"
	}
	switch a.Name {
	case cf.ScaleFactor, cf.AddOffset:
		// The value decides whether numbers are packed at all.
		if cf.Float(a.Type, a.Data) == map[string]float64{cf.ScaleFactor: 1}[a.Name] {
			bare.Data = a.Data
		}
	case cf.UnitsName:
		// The unit and the calendar decide the type of times. Only the date after "since" is free.
		bare.Texts = []string{strings.Fields(a.Texts[0])[0]}
	}
	return bare
}

// isFree reports whether a plan depends on the value of an attribute only by whether it is equal in all files.
func isFree(v *manifest.Variable, a *manifest.Attribute) bool {
	switch {
	case a.Unreadable != "":
		return false
	case a.Name == cf.ScaleFactor || a.Name == cf.AddOffset:
		// Anything but a number is an error, or has its own rules. NaN does not equal itself.
		return cf.IsNumber(a.Type) && len(a.Data) == a.Type.Size && !cf.IsNaN(a.Type, a.Data)
	case a.Name == cf.UnitsName:
		u, ok, err := cf.UnitsOf(v)
		return ok && err == nil && len(a.Texts) == 1 && !u.Unclear() && !u.Coarse()
	}
	return !isInterpreted(a.Name)
}

// isInterpreted reports whether the planner interprets the value of an attribute with this name.
func isInterpreted(name string) bool {
	return slices.Contains(interpreted, name) || slices.Contains(cf.MeaningAttributes, name) || slices.Contains(cf.ReferenceAttributes, name) ||
		slices.ContainsFunc(meshSuffixes, func(end string) bool { return strings.HasSuffix(name, end) })
}

// interpreted lists the attributes that the planner interprets, besides those that packages cf lists. CLASS and NAME
// mark HDF5's dimension scales, and dtype the booleans of xarray.
var interpreted = []string{
	"axis", "standard_name", "CLASS", "NAME", "dtype",
	cf.FlagValues, cf.FlagMeanings, cf.FlagMasks, cf.Mesh, "location", "cf_role", "instance_dimension", "compress",
}

// meshSuffixes are the ends of names of UGRID's attributes that name variables and dimensions.
var meshSuffixes = []string{connects, "_dimension", "_coordinates"}

// template has the headers of a survey with one template.
type template struct {
	classes []int32 // sorted by the rank of their last files
	last    []int32 // for each of classes, its file with the greatest rank
	files   int64   // the number of files, including those that samples represent
}

// templates returns the templates of all files, in the order of their first classes.
func (p *declaration) templates() (list []*template) {
	known := map[templateKey]*template{}
	rank := p.arrangement.rank
	for n, c := range p.survey.classes {
		if len(c.files) == 0 {
			continue
		}
		key := templateOf(c.header)
		t := known[key]
		if t == nil {
			t = &template{}
			known[key] = t
			list = append(list, t)
		}
		t.classes = append(t.classes, int32(n))
		t.files += c.weight()
	}
	for _, t := range list {
		last := map[int32]int32{}
		for _, n := range t.classes {
			last[n] = slices.MaxFunc(p.survey.classes[n].files, func(f, g int32) int { return int(rank[f]) - int(rank[g]) })
		}
		slices.SortFunc(t.classes, func(a, b int32) int { return int(rank[last[a]]) - int(rank[last[b]]) })
		for _, n := range t.classes {
			t.last = append(t.last, last[n])
		}
	}
	return list
}

// witnesses returns files of a template that show which attributes differ among all of its files: for each attribute
// that differs, at least one file has another value than the last file.
func (p *survey) witnesses(t *template) (files []int32) {
	n := len(t.classes) - 1
	variables := p.classes[t.classes[n]].header.Variables
	differs := make([][]bool, len(variables))
	for i, v := range variables {
		differs[i] = make([]bool, len(v.Attributes))
	}
	for k, class := range t.classes[:n] {
		isNew := false
		for i, v := range p.classes[class].header.Variables {
			if v == variables[i] {
				continue
			}
			for at := range v.Attributes {
				if !differs[i][at] && !coord.SameAttribute(&v.Attributes[at], &variables[i].Attributes[at]) {
					differs[i][at], isNew = true, true
				}
			}
		}
		if isNew {
			files = append(files, t.last[k])
		}
	}
	return files
}
