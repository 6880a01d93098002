package plantest

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
)

// longValues is the length of a text of values from which they get a name, and a line of their own at the end.
const longValues = 240

// writer writes the files of an archive.
type writer struct {
	of     *Archive
	blocks []*block
	long   map[string]string // names of long values
	tail   []string          // lines with long values
}

// Write returns the lines of an archive, without its options: Parse returns the same files for them. Each file is
// written like an earlier one if that takes fewer lines.
func Write(a *Archive) []string {
	w := &writer{of: a, long: map[string]string{}}
	var out []string
	names := map[string]bool{}
	for i, f := range a.Files {
		b := w.block(i, f)
		best := b.lines(b.words, b.items)
		for _, other := range w.blocks {
			if lines := b.like(other); lines != nil && len(lines) < len(best) {
				best = lines
			}
		}
		// A name means the first file that has it, and parts of a file have the name of the file.
		if !names[b.name] && !strings.Contains(best[0], " like ") {
			w.blocks = append(w.blocks, b)
		}
		names[b.name] = true
		out = append(out, best...)
	}
	return append(out, w.tail...)
}

// lines returns the lines of a file, with only some of its items.
func (b *block) lines(words []string, items []item) []string {
	out := []string{strings.Join(append([]string{"file", quoted(b.name)}, words...), " ")}
	for _, x := range items {
		out = append(out, "  "+x.text)
		for _, line := range x.more {
			out = append(out, "    "+line)
		}
	}
	return out
}

// like returns the lines of a file that is like another one, or nil.
func (b *block) like(other *block) []string {
	keys := func(x, y item) bool { return x.key == y.key }
	if !slices.EqualFunc(b.items, other.items, keys) {
		return nil
	}
	lengths := b.otherLengths(other)
	var changed []item
	for i, x := range b.items {
		old := other.items[i]
		old.text = withLengths(old.text, lengths)
		if x.text == old.text && slices.Equal(x.more, old.more) {
			continue
		}
		head, values, hasValues := cutOutside(x.text, " = ")
		oldHead, _, hadValues := cutOutside(old.text, " = ")
		if head == oldHead && hasValues && hadValues && slices.Equal(x.more, old.more) && strings.HasPrefix(x.key, "variable ") {
			x = item{text: strings.TrimPrefix(x.key, "variable ") + " = " + values}
			if strings.HasSuffix(head, " on request") {
				x.text = strings.Replace(x.text, " = ", " on request = ", 1)
			}
		}
		changed = append(changed, x)
	}
	words := append(slices.Clone(b.words), "like", quoted(other.name))
	if len(lengths) > 0 {
		words = append(append(words, "with"), lengths...)
	}
	return b.lines(words, changed)
}

// otherLengths returns DIM=LENGTH of the dimensions that have another length.
func (b *block) otherLengths(other *block) (list []string) {
	of := func(b *block) (names []string, lengths map[string]string) {
		lengths = map[string]string{}
		for _, x := range b.items {
			_, dims, isVariable := cutOutside(x.text, "(")
			dims, _, _ = cutOutside(dims, ")")
			if rest, isDim := strings.CutPrefix(x.text, "dim "); isDim {
				dims, isVariable = fields(rest)[0], true
			}
			if strings.HasPrefix(x.text, "@") || !isVariable {
				continue
			}
			for _, d := range fields(dims) {
				name, length, _ := cutOutside(d, "=")
				name = strings.TrimSuffix(name, "*")
				if _, seen := lengths[name]; !seen {
					names, lengths[name] = append(names, name), length
				}
			}
		}
		return names, lengths
	}
	names, mine := of(b)
	_, theirs := of(other)
	for _, name := range names {
		if length, ok := theirs[name]; ok && length != mine[name] {
			list = append(list, name+"="+mine[name])
		}
	}
	return list
}

// block makes the lines of a file.
func (w *writer) block(number int, f *manifest.File) *block {
	b := &block{name: NameOf(f)}
	if f.Format != "" {
		b.words = append(b.words, "format", f.Format)
	}
	if f.Hidden {
		b.words = append(b.words, "hidden")
	}
	for i, g := range f.Groups.Expand().Groups {
		var list []string
		for j := range g.Attributes {
			list = append(list, formatAttribute(&g.Attributes[j]))
		}
		if i > 0 {
			b.items = append(b.items, item{key: "group " + g.Path, text: "group " + quoted(strings.TrimPrefix(g.Path, "/")), more: list})
			continue
		}
		for _, line := range list {
			name, _, _ := strings.Cut(line, " ")
			b.items = append(b.items, item{key: name, text: line})
		}
	}
	h := f.Header.Expand()
	unlimited := map[string]bool{}
	for _, d := range h.Dimensions {
		unlimited[d.Path] = d.Unlimited
	}
	var variables []item
	for i, v := range h.Variables {
		x := w.variable(number, i, v, unlimited)
		for _, part := range f.Parts[i] {
			x.more = append(x.more, fmt.Sprintf("part %d at %s from %s shape %s", part.File, commas(part.Origin), commas(part.Start), commas(part.Shape)))
		}
		variables = append(variables, x)
	}
	b.items = append(b.items, w.dimensions(h, variables)...)
	b.items = append(b.items, variables...)
	return b
}

func commas(list []int64) string { return strings.ReplaceAll(formatShape(list), "x", ",") }

// dimensions returns the items of all dimensions, or none if the lines of variables say the same.
func (w *writer) dimensions(h *manifest.Header, variables []item) (items []item) {
	again := &manifest.Header{Variables: h.Variables}
	addDimensions(again, &block{items: variables})
	if slices.EqualFunc(h.Dimensions, again.Dimensions, func(x, y manifest.Dimension) bool {
		return x.Path == y.Path && x.Length == y.Length && x.Unlimited == y.Unlimited && x.Anonymous == y.Anonymous && len(x.Like)+len(y.Like) == 0
	}) {
		return nil
	}
	for _, d := range h.Dimensions {
		name := quoted(strings.TrimPrefix(d.Path, "/"))
		text := "dim " + formatLength(d.Path, d.Length, d.Unlimited)
		if d.Anonymous {
			text += " anonymous"
		}
		if len(d.Like) > 0 {
			text += " like"
		}
		for _, other := range d.Like {
			text += " " + quoted(strings.TrimPrefix(other, "/"))
		}
		items = append(items, item{key: "dim " + name, text: text})
	}
	return items
}

func formatLength(path string, length int64, isUnlimited bool) string {
	name := quoted(strings.TrimPrefix(path, "/"))
	if isUnlimited {
		name += "*"
	}
	return fmt.Sprintf("%s=%d", name, length)
}

// variable makes the lines of a variable.
func (w *writer) variable(file, at int, v *manifest.Variable, unlimited map[string]bool) item {
	name := quoted(strings.TrimPrefix(v.Path, "/"))
	var dims []string
	for k, d := range v.Dims {
		dims = append(dims, formatLength(d, v.Shape[k], unlimited[d]))
	}
	x := item{key: "variable " + name}
	x.text = strings.Join(append([]string{name + "(" + strings.Join(dims, " ") + ")", formatType(v.Type)}, storageWords(v)...), " ")
	for i := range v.Attributes {
		x.more = append(x.more, formatAttribute(&v.Attributes[i]))
	}
	f := w.of.Files[file]
	switch values := w.of.OnRequest[Place{file, at}]; {
	case at < len(f.Values) && f.Values[at] != nil:
		x.text += " = " + w.values(name, v.Type, f.Values[at])
	case values != nil:
		x.text += " on request = " + w.values(name, v.Type, values)
	}
	return x
}

// values returns values, or the name of long ones.
func (w *writer) values(variable string, t codec.Type, v *manifest.Values) string {
	text := FormatValues(t, v)
	if len(text) < longValues {
		return text
	}
	if w.long[text] == "" {
		name := "values-of-" + strings.Trim(variable, `"`)
		for n := 2; slices.ContainsFunc(w.tail, func(line string) bool { return strings.HasPrefix(line, "values "+name+" ") }); n++ {
			name = fmt.Sprintf("values-of-%s-%d", strings.Trim(variable, `"`), n)
		}
		w.long[text], w.tail = name, append(w.tail, "values "+name+" = "+text)
	}
	return w.long[text]
}

// storageWords returns a word for each property of the storage that is not the default.
func storageWords(v *manifest.Variable) (words []string) {
	s := v.Storage
	switch {
	case s.Layout == manifest.Strided && s.Stride == 0:
		words = append(words, "contiguous")
	case s.Layout == manifest.Strided:
		words = append(words, "strided", strconv.FormatInt(s.Stride, 10))
	case s.Layout != manifest.Chunked:
		words = append(words, string(s.Layout))
	}
	usual := defaultStorage(v, s.Layout)
	if s.Edges != nil {
		words = append(append(words, "edges"), formatRuns(s.Edges)...)
	} else if !slices.Equal(s.Chunks, usual.Chunks) {
		words = append(words, "chunks", formatShape(s.Chunks))
	}
	if s.DataSizes != nil {
		words = append(append(words, "data-sizes"), formatRuns(s.DataSizes)...)
	}
	if codecs := formatCodecs(s.Codecs); codecs != formatCodecs(usual.Codecs) {
		words = append(words, "codecs", codecs)
		usual.Filters = len(s.Codecs) - 1
	}
	if s.Filters != usual.Filters {
		words = append(words, "filters", strconv.Itoa(s.Filters))
	}
	if s.RawEdges {
		words = append(words, "raw-edges")
	}
	if v.Fill.User || v.Fill.Value != nil {
		value := "zero"
		if v.Fill.Value != nil {
			value = formatFill(v.Type, v.Fill.Value)
		}
		words = append(words, map[bool]string{true: "fill", false: "unset"}[v.Fill.User], value)
	}
	if len(v.Enum) > 0 {
		words = append(words, "enum", formatEnum(v.Enum))
	}
	if v.Unreadable != "" {
		words = append(words, "unreadable", strconv.Quote(v.Unreadable))
	}
	if v.Elsewhere != "" {
		words = append(words, "elsewhere", strconv.Quote(v.Elsewhere))
	}
	if v.Damaged {
		words = append(words, "damaged")
	}
	return words
}

// formatFill formats a fill value. Types of varying length have texts.
func formatFill(t codec.Type, value []byte) string {
	if t.Varies() {
		return strconv.Quote(string(value))
	}
	return formatElement(t, value)
}

func formatAttribute(a *manifest.Attribute) string {
	text := "@" + quoted(a.Name) + " "
	switch {
	case a.JSON != "":
		return text + "json " + a.JSON
	case a.Type.Kind == codec.String && a.Unreadable == "" && a.Scalar && len(a.Texts) == 1:
		return text + strconv.Quote(a.Texts[0])
	case a.Type.Kind == codec.String && a.Unreadable == "":
		var list []string
		for _, x := range a.Texts {
			list = append(list, strconv.Quote(x))
		}
		return text + "[" + strings.Join(list, " ") + "]"
	}
	if a.Scalar {
		text += "scalar "
	}
	if a.Type.Kind == 0 {
		text += "-"
	} else {
		text += formatType(a.Type)
	}
	if a.Unreadable != "" {
		return text + " unreadable " + strconv.Quote(a.Unreadable)
	}
	return text + " " + formatElements(a.Type, a.Data)
}

// Equal reports whether two archives have the same files and values.
func Equal(a, b *Archive) error {
	if len(a.Files) != len(b.Files) {
		return fmt.Errorf("%d and %d files", len(a.Files), len(b.Files))
	}
	for i, f := range a.Files {
		g := b.Files[i]
		x, y := f.Header.Expand(), g.Header.Expand()
		switch {
		case NameOf(f) != NameOf(g) || f.Hidden != g.Hidden || f.Format != g.Format:
			return fmt.Errorf("%s and %s differ", f.URL, g.URL)
		case !bytes.Equal(x.AppendKey(nil), y.AppendKey(nil)):
			return fmt.Errorf("%s: the headers differ: %+v and %+v", f.URL, x, y)
		case !bytes.Equal(f.Groups.Expand().AppendKey(nil), g.Groups.Expand().AppendKey(nil)):
			return fmt.Errorf("%s: the attributes of groups differ", f.URL)
		case fmt.Sprint(f.Parts) != fmt.Sprint(g.Parts):
			return fmt.Errorf("%s: the parts differ", f.URL)
		}
		for k, v := range x.Variables {
			if x, y := valuesAt(a, i, k), valuesAt(b, i, k); x != y {
				return fmt.Errorf("%s: %s: values %s and %s", f.URL, v.Path, x, y)
			}
		}
	}
	return nil
}

// valuesAt describes values, and whether a scan reads them.
func valuesAt(a *Archive, file, at int) string {
	if list := a.Files[file].Values; at < len(list) && list[at] != nil {
		return "scanned " + identity(list[at])
	}
	if v := a.OnRequest[Place{file, at}]; v != nil {
		return "on request " + identity(v)
	}
	return "none"
}

func identity(v *manifest.Values) string {
	text := fmt.Sprint(v.ID, v.Summed)
	if v.Summary != nil {
		text += v.Summary.String()
	}
	return text
}
