package planner

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/report"
)

// Characters of netCDF are elements of one byte, and their last dimension is the length of the texts. Programs such as
// xarray name it by this length, for example string_9. So another name or length is no difference between files: the
// dimension gets one name, and shorter texts are padded with NUL.

// isTexts reports whether the last dimension of a variable is the length of texts. Its other uses do not decide: flags of one
// character, such as flag(time, station), have the same structure if no other variable has station. Padding would give a file flags of
// stations that it does not have. So the file has to say it, by the attribute _Encoding, which netCDF has for characters that are texts, or by a
// word in the name of the dimension: string_9, DateStrLen, nchar, or with other dimensions before it, len and x9. A part of a word does
// not, as in stratum and wavelength.
func (x *planVar) isTexts() bool {
	if len(x.dims) == 0 || x.v.Type.Kind != codec.FixedBytes || x.v.Type.Size != 1 {
		return false
	}
	if slices.ContainsFunc(x.v.Attributes, func(a manifest.Attribute) bool { return a.Name == "_Encoding" }) {
		return true
	}
	name := strings.ToLower(report.Base(x.dims[len(x.dims)-1]))
	isLength := aLength.MatchString(name) || strings.TrimRight(name, "0123456789") != name
	return len(x.dims) > 1 && isLength || charactersLength.MatchString(name)
}

var (
	charactersLength = regexp.MustCompile(`(^|[^a-z])[a-z]*(strn?|string|char|character)s?(len|length|size|num|max)?([^a-z]|$)`)
	aLength          = regexp.MustCompile(`(^|[^a-z])(n|max|id|[a-z]*(name|text|label|code))?(len|length)([^a-z]|$)`)
)

// nameTextLengths gives the text lengths of a variable one name in all files: the published one, the first file's, or else
// NAME_strlen.
func nameTextLengths(p *survey) *survey {
	names := map[string]map[string]bool{} // the names of the text length, by path of the variable
	for _, c := range p.classes {
		for i := range c.vars {
			if x := &c.vars[i]; x.isTexts() {
				if names[x.path] == nil {
					names[x.path] = map[string]bool{}
				}
				names[x.path][x.dims[len(x.dims)-1]] = true
			}
		}
	}
	isCopy := false
	for _, at := range sorted(names) {
		if len(names[at]) < 2 || slices.ContainsFunc(p.classes, func(c *class) bool { return !c.hasTexts(at) }) {
			continue
		}
		options := []string{p.firstTextLength(at), at + "_strlen"}
		for _, name := range append(sorted(names[at]), options[1]) {
			if published := p.env.opts.TextLengthsOf[at]; published != "" && path.Base(name) == published {
				options = slices.Insert(options, 0, name)
				break
			}
		}
		for _, name := range options {
			if slices.ContainsFunc(p.classes, func(c *class) bool { return !c.allowsTextLength(at, name) }) {
				continue
			}
			if !isCopy {
				p, isCopy = p.clone(), true
			}
			for n := range p.classes {
				p.classes[n] = p.classes[n].withTextLength(at, name)
			}
			break
		}
	}
	return p
}

// hasTexts reports whether a class lacks a variable, or has it as texts along a dimension without a coordinate.
func (c *class) hasTexts(at string) bool {
	i := c.find(at)
	if i < 0 {
		return true
	}
	x := &c.vars[i]
	return x.isTexts() && c.countsCharacters(x.dims[len(x.dims)-1])
}

// firstTextLength returns the name in the first file that has the variable.
func (p *survey) firstTextLength(at string) (name string) {
	first := int32(-1)
	for _, c := range p.classes {
		i := c.find(at)
		if i < 0 {
			continue
		}
		if f := slices.MinFunc(c.files, p.env.byName); first < 0 || p.env.byName(f, first) < 0 {
			first, name = f, c.vars[i].dims[len(c.vars[i].dims)-1]
		}
	}
	return name
}

// allowsTextLength reports whether the text length of a variable may get a name: it has this name already, or no other
// dimension or variable of the class has.
func (c *class) allowsTextLength(at, name string) bool {
	i := c.find(at)
	if i < 0 {
		return true
	}
	x := &c.vars[i]
	d, isDim := c.dims[name]
	return x.dims[len(x.dims)-1] == name || c.find(name) < 0 && !slices.Contains(x.dims, name) && (!isDim || d.Length == x.v.Shape[len(x.dims)-1])
}

// withTextLength returns the class with a name for the text length of a variable.
func (c *class) withTextLength(at, name string) *class {
	i := c.find(at)
	if i < 0 || c.vars[i].dims[len(c.vars[i].dims)-1] == name {
		return c
	}
	own := new(*c)
	own.vars, own.dims = slices.Clone(c.vars), map[string]manifest.Dimension{}
	x := &own.vars[i]
	x.dims = slices.Clone(x.dims)
	last := len(x.dims) - 1
	x.dims[last] = name
	for at, d := range c.dims {
		own.dims[at] = d
	}
	if _, ok := own.dims[name]; !ok {
		own.dims[name] = manifest.Dimension{Path: name, Length: x.v.Shape[last]}
	}
	return own
}

// countsCharacters reports whether a dimension is the length of texts in all variables of a class that have it.
func (c *class) countsCharacters(at string) bool {
	return !c.dims[at].Unlimited && c.find(at) < 0 && !slices.ContainsFunc(c.vars, func(x planVar) bool {
		k := slices.Index(x.dims, at)
		return k >= 0 && (k < len(x.dims)-1 || !x.isTexts())
	})
}

// isTextLength reports whether a dimension is the length of texts in all files.
func (p *survey) isTextLength(d *dim) bool {
	return !slices.ContainsFunc(d.classes, func(n int32) bool { return !p.classes[n].countsCharacters(d.path) })
}

// notePaddedTexts reports files whose texts are shorter than others.
func (p *alignment) notePaddedTexts(d *dim, lengths map[int64][]int32) {
	var short []int32
	for n, files := range lengths {
		if n < d.length {
			short = append(short, files...)
		}
	}
	if len(short) > 0 {
		p.env.find(p.env.odd(report.Finding{Code: report.TextsPadded, Effect: report.Noted, Dim: d.name(), Args: report.Args{"length": d.length}}, short, d.total()))
	}
}

// ofTexts reports whether the values are characters of texts, which may have other lengths in some files.
func (c *comparison) ofTexts() bool {
	dims := c.a.dims
	return len(dims) > 0 && c.p.survey.isTextLength(c.p.alignment.dims[dims[len(dims)-1]])
}

// isCut reports whether texts have characters beyond the length of a shorter shape.
func isCut(texts []byte, shape, shorter []int64) bool {
	last := len(shape) - 1
	if shape[last] == 0 {
		return false
	}
	for text := range slices.Chunk(texts, int(shape[last])) {
		if slices.ContainsFunc(text[min(shorter[last], int64(len(text))):], func(b byte) bool { return b != 0 }) {
			return true
		}
	}
	return false
}
