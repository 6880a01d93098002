package plantest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"varve/manifest"
)

// Longer texts of attributes are shortened. The rest of a text is never in a finding.
const (
	longText = 80 // bytes
	keptText = 64
)

// references are attributes with names of variables, which are never shortened.
var references = []string{"coordinates", "bounds", "climatology", "ancillary_variables", "cell_measures", "formula_terms", "grid_mapping", "external_variables", "flag_meanings"}

// descriptions are attributes of variables for readers, on which no plan depends while they are equal in all files.
var descriptions = []string{"long_name", "comment", "description", "conventions", "references", "source", "history", "original_name", "original_units",
	"associated_files", "field", "resolution", "C_format", "FORTRAN_format"}

// Simplify returns the archive without what makes its headers long and rarely matters to a plan. Attributes of groups
// that are equal in all files, and descriptions of variables that are, are left out; notes say how many. Long texts of attributes end with "…" and a digest, so
// that texts that differ still differ. The caller checks that the plan stays the same.
func Simplify(a *Archive) (out *Archive, notes []string) {
	out = &Archive{Options: a.Options, OnRequest: a.OnRequest}
	equal, described := equalAttributes(a.Files), equalDescriptions(a.Files)
	if len(equal)+len(described) > 0 {
		notes = append(notes, fmt.Sprintf("left out: %d attributes of groups and %d descriptions of variables that are equal in all files", len(equal), len(described)))
	}
	headers := manifest.NewShared()
	for _, f := range a.Files {
		x := *f
		groups := &manifest.GroupAttributes{}
		for _, g := range f.Groups.Expand().Groups {
			attributes := slices.DeleteFunc(slices.Clone(g.Attributes), func(a manifest.Attribute) bool {
				return equal[manifest.AttributePath(g.Path, a.Name)]
			})
			if len(attributes) > 0 || g.Path == "/" {
				groups.Groups = append(groups.Groups, manifest.Group{Path: g.Path, Attributes: shortAttributes(attributes)})
			}
		}
		groups.SetID()
		x.Groups = headers.Groups(groups, nil)
		old, h := f.Header.Expand(), &manifest.Header{}
		for _, v := range old.Variables {
			short := *v
			short.Attributes = shortAttributes(slices.DeleteFunc(slices.Clone(v.Attributes), func(a manifest.Attribute) bool {
				return described[manifest.AttributePath(v.Path, a.Name)]
			}))
			h.Variables = append(h.Variables, &short)
		}
		h.Dimensions = inOrderOfUse(old)
		h.SetID()
		x.Header = headers.Header(h, nil)
		out.Files = append(out.Files, &x)
	}
	return out, notes
}

// inOrderOfUse returns the dimensions in the order in which variables have them, so that the lines of variables say them.
func inOrderOfUse(h *manifest.Header) []manifest.Dimension {
	at := map[string]int{}
	for _, v := range h.Variables {
		for _, d := range v.Dims {
			if at[d] == 0 {
				at[d] = len(at) + 1
			}
		}
	}
	list := slices.Clone(h.Dimensions)
	last := len(at) + 1
	slices.SortStableFunc(list, func(x, y manifest.Dimension) int {
		return cmp.Compare(cmp.Or(at[x.Path], last), cmp.Or(at[y.Path], last))
	})
	return list
}

// counter counts the files that have an attribute with the same value as the first file.
type counter struct {
	first map[string][]byte
	count map[string]int
}

func (c *counter) add(path string, a manifest.Attribute) {
	key := (&manifest.GroupAttributes{Groups: []manifest.Group{{Attributes: []manifest.Attribute{a}}}}).AppendKey(nil)
	if c.first[path] == nil {
		c.first[path] = key
	}
	if bytes.Equal(c.first[path], key) {
		c.count[path]++
	}
}

// equalAttributes returns the paths of attributes of groups that all files have with equal values.
func equalAttributes(files []*manifest.File) map[string]bool {
	c, equal := counter{map[string][]byte{}, map[string]int{}}, map[string]bool{}
	for _, f := range files {
		for _, g := range f.Groups.Expand().Groups {
			for _, a := range g.Attributes {
				c.add(manifest.AttributePath(g.Path, a.Name), a)
			}
		}
	}
	for path, n := range c.count {
		// NEMO's DOMAIN attributes say where a file is in the grid.
		if n == len(files) && !strings.Contains(path, "/@DOMAIN_") {
			equal[path] = true
		}
	}
	return equal
}

// equalDescriptions returns the paths of descriptions that all files which have the variable have with equal values.
func equalDescriptions(files []*manifest.File) map[string]bool {
	c, equal, having := counter{map[string][]byte{}, map[string]int{}}, map[string]bool{}, map[string]int{}
	for _, f := range files {
		for _, v := range f.Header.Expand().Variables {
			for _, a := range v.Attributes {
				if slices.Contains(descriptions, a.Name) {
					c.add(manifest.AttributePath(v.Path, a.Name), a)
				}
			}
			having[v.Path]++
		}
	}
	for path, n := range c.count {
		if variable, _, _ := strings.Cut(path, "/@"); n == having[variable] {
			equal[path] = true
		}
	}
	return equal
}

func shortAttributes(list []manifest.Attribute) []manifest.Attribute {
	list = slices.Clone(list)
	for i, a := range list {
		if slices.Contains(references, a.Name) {
			continue
		}
		list[i].Texts = slices.Clone(a.Texts)
		for k, text := range a.Texts {
			list[i].Texts[k] = shortText(text)
		}
	}
	return list
}

func shortText(text string) string {
	if len(text) <= longText {
		return text
	}
	n := keptText
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s… %x", strings.ToValidUTF8(text[:n], "?"), sum[:4])
}
