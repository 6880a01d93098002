package planner

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strings"

	"varve/manifest"
	"varve/manifest/internal/cf"
	"varve/manifest/internal/planner/internal/coord"
)

// Files of real archives differ in values of attributes: each has its own scale_factor, actual_range or uuid. A plan
// needs to know only of most of these values whether all files have the same. So headers are compared by templates:
// a template is all of a header except these values.

// templateKey identifies a template. Headers with the same key have the same variables with the same names of
// attributes, in the same order.
type templateKey [sha256.Size]byte

// templateKeys computes the keys of many headers. It uses its memory again for each of them.
type templateKeys struct {
	header     manifest.Header
	variables  []manifest.Variable
	attributes []manifest.Attribute
	text       []byte
}

// of returns the key of a header's template.
func (k *templateKeys) of(h *manifest.Header) templateKey {
	k.variables, k.attributes = k.variables[:0], k.attributes[:0]
	for _, v := range h.Variables {
		k.variables = append(k.variables, *v)
		for i := range v.Attributes {
			k.attributes = append(k.attributes, inTemplate(v, &v.Attributes[i]))
		}
	}
	// Now that the slices do not grow any more, they can be pointed into.
	k.header.Dimensions, k.header.Variables = h.Dimensions, k.header.Variables[:0]
	rest := k.attributes
	for i := range k.variables {
		v := &k.variables[i]
		n := len(v.Attributes)
		v.Attributes, rest = rest[:n], rest[n:]
		k.header.Variables = append(k.header.Variables, v)
	}
	k.text = k.header.AppendKey(k.text[:0])
	return sha256.Sum256(k.text)
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
	if a.Name == cf.UnitsName {
		// The unit and the calendar decide the type of times. Only the date after "since" is free.
		bare.Texts = []string{timeUnit(a)}
	}
	return bare
}

// isFree reports whether a plan needs to know of an attribute only whether all files have the same value.
func isFree(v *manifest.Variable, a *manifest.Attribute) bool {
	switch {
	case a.Unreadable != "":
		return false
	case isPacking(a.Name):
		// One that changes nothing is not a packing, so plans depend on it.
		return isFreeNumber(a) && cf.Float(a.Type, a.Data) != idle(a.Name)
	case a.Name == cf.UnitsName:
		// Most units are not of time. To see that first avoids memory for their words.
		if len(a.Texts) != 1 || !strings.Contains(a.Texts[0], " since ") {
			return false
		}
		u, ok, err := cf.UnitsOf(v)
		return ok && err == nil && !u.Unclear() && !u.Coarse()
	}
	return !isInterpreted(a.Name)
}

// isFreeNumber reports whether a scale_factor or add_offset is one number. Anything else is an error, or has its own rules.
// NaN does not equal itself.
func isFreeNumber(a *manifest.Attribute) bool {
	return cf.IsNumber(a.Type) && len(a.Data) == a.Type.Size && !cf.IsNaN(a.Type, a.Data)
}

// isPacking reports whether an attribute with this name packs numbers.
func isPacking(name string) bool { return name == cf.ScaleFactor || name == cf.AddOffset }

// idle returns the scale_factor or add_offset that changes nothing: numbers with both are not packed.
func idle(name string) float64 {
	if name == cf.ScaleFactor {
		return 1
	}
	return 0
}

// isInterpreted reports whether the planner interprets the value of an attribute with this name.
func isInterpreted(name string) bool {
	return slices.Contains(interpreted, name) || slices.Contains(cf.MeaningAttributes, name) || slices.Contains(cf.ReferenceAttributes, name) ||
		slices.ContainsFunc(meshSuffixes, func(end string) bool { return strings.HasSuffix(name, end) })
}

// interpreted lists attributes that the planner interprets, besides those in the lists of package cf. CLASS and NAME
// mark HDF5's dimension scales, and dtype the booleans of xarray.
var interpreted = []string{
	"axis", "standard_name", "CLASS", "NAME", "dtype",
	cf.FlagValues, cf.FlagMeanings, cf.FlagMasks, cf.Mesh, "location", "cf_role", "instance_dimension", "compress",
}

// meshSuffixes are the ends of names of UGRID's attributes that name variables and dimensions.
var meshSuffixes = []string{connects, "_dimension", "_coordinates"}

// template has the headers of a survey with one template.
type template struct {
	classes []int32
	last    []int32 // for each distinct header, its file with the greatest rank; sorted by rank
	files   int64   // the number of files, including those that samples represent
}

// templates returns the templates of all files, in the order of their first classes.
func (p *declaration) templates() (list []*template) {
	known, keys := map[templateKey]*template{}, &templateKeys{}
	rank := p.arrangement.rank
	for n, c := range p.survey.classes {
		if len(c.files) == 0 || p.survey.classOf[c.files[0]] != int32(n) {
			continue // the class of a coordinate that an option makes
		}
		key := keys.of(c.header)
		t := known[key]
		if t == nil {
			t = &template{}
			known[key] = t
			list = append(list, t)
		}
		t.classes = append(t.classes, int32(n))
		t.files += c.weight()
		last := map[string]int32{} // by the ID of the header
		for _, f := range c.files {
			id := ""
			if c.differ != nil {
				id = p.env.files[f].Header.ID
			}
			if best, ok := last[id]; !ok || rank[f] > rank[best] {
				last[id] = f
			}
		}
		t.last = slices.AppendSeq(t.last, maps.Values(last))
	}
	for _, t := range list {
		slices.SortFunc(t.last, func(f, g int32) int { return int(rank[f]) - int(rank[g]) })
	}
	return list
}

// witnesses returns files of a template that show which attributes differ among all of its files: for each attribute
// that differs, at least one file has another value than the last file.
func (p *survey) witnesses(t *template) (files []int32) {
	n := len(t.last) - 1
	last := p.headerOf(t.last[n])
	variables := last.Expand().Variables
	differs := make([][]bool, len(variables))
	for i, v := range variables {
		differs[i] = make([]bool, len(v.Attributes))
	}
	for _, f := range t.last[:n] {
		isNew := false
		found := func(variable, attribute int) {
			isNew = isNew || !differs[variable][attribute]
			differs[variable][attribute] = true
		}
		if h := p.headerOf(f); h.Base() == last.Base() {
			for d := range differences(h, last) {
				found(d.Variable, d.Attribute)
			}
		} else {
			for i, v := range h.Expand().Variables {
				for at := range v.Attributes {
					if !coord.SameAttribute(&v.Attributes[at], &variables[i].Attributes[at]) {
						found(i, at)
					}
				}
			}
		}
		if isNew {
			files = append(files, f)
		}
	}
	return files
}

// headerOf returns the header of a file. Options may have added coordinates to it.
func (p *survey) headerOf(file int32) *manifest.FileHeader { return p.env.files[file].Header }
