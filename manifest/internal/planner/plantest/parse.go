package plantest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/codec"
	"varve/manifest"
)

// item is a variable, a dimension, a group or an attribute of the root, with the lines that belong to it.
type item struct {
	key  string // what lines of a like file replace
	text string
	more []string // attributes and parts
}

// block is the lines of one file.
type block struct {
	name  string
	words []string // that follow the name
	items []item
	last  int // the item to which attributes belong; -1 for the root
}

// parser collects the lines of an archive.
type parser struct {
	out    *Archive
	blocks []*block
	long   map[string]string // values that have a name
	// Headers and values are shared, as after a scan.
	known  *manifest.Shared
	values map[string]*manifest.Values
}

// Parse parses an archive.
func Parse(lines []string) (*Archive, error) {
	p := &parser{out: &Archive{OnRequest: map[Place]*manifest.Values{}}, long: map[string]string{},
		known: manifest.NewShared(), values: map[string]*manifest.Values{}}
	for _, line := range lines {
		if err := p.line(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
	}
	for _, b := range p.blocks {
		if err := p.file(b); err != nil {
			return nil, fmt.Errorf("file %s: %w", b.name, err)
		}
	}
	return p.out, nil
}

func (p *parser) line(text string) error {
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case text == "" || strings.HasPrefix(text, "#"):
		return nil
	case word == "option":
		name, value, _ := strings.Cut(rest, " ")
		return SetOption(&p.out.Options, name, value)
	case word == "values":
		name, values, _ := strings.Cut(rest, " = ")
		p.long[name] = values
		return nil
	case word == "file":
		return p.startFile(fields(rest))
	case len(p.blocks) == 0:
		return errors.New("no file begins above this line")
	}
	b := p.blocks[len(p.blocks)-1]
	switch {
	case strings.HasPrefix(text, "@") && b.last < 0:
		b.put(item{key: word, text: text})
		b.last = -1
	case b.last < 0 && word == "part":
		return errors.New("no variable is above this line")
	case strings.HasPrefix(text, "@") || word == "part":
		last := &b.items[b.last]
		last.more = append(last.more, text)
	case word == "group" || word == "dim":
		name, _, _ := cutOutside(rest, "=")
		b.put(item{key: word + " " + strings.TrimSuffix(name, "*"), text: text})
	default:
		name, err := nameIn(text)
		if err != nil {
			return err
		}
		b.put(item{key: "variable " + name, text: text})
	}
	return nil
}

// startFile starts the block of a file. A file that is like another one starts with its items.
func (p *parser) startFile(words []string) error {
	if len(words) == 0 {
		return errors.New("want file NAME")
	}
	name, err := unquoted(words[0])
	if err != nil {
		return err
	}
	b := &block{name: name, last: -1}
	for i := 1; i < len(words); i++ {
		if words[i] != "like" || i+1 >= len(words) || len(b.items) > 0 {
			b.words = append(b.words, words[i])
			continue
		}
		i++
		of, err := unquoted(words[i])
		if err != nil {
			return err
		}
		k := slices.IndexFunc(p.blocks, func(x *block) bool { return x.name == of })
		if k < 0 {
			return fmt.Errorf("no file %s is above", of)
		}
		var lengths []string
		if i+1 < len(words) && words[i+1] == "with" {
			lengths, i = words[i+2:], len(words)
		}
		for _, x := range p.blocks[k].items {
			x.more = slices.Clone(x.more)
			x.text = withLengths(x.text, lengths)
			b.items = append(b.items, x)
		}
	}
	p.blocks = append(p.blocks, b)
	return nil
}

// withLengths replaces lengths of dimensions, DIM=LENGTH, in the line of a variable or dimension. Chunks that are as
// long as such a dimension stay that long.
func withLengths(text string, lengths []string) string {
	if strings.HasPrefix(text, "@") || len(lengths) == 0 {
		return text
	}
	if rest, ok := strings.CutPrefix(text, "dim "); ok {
		words, _ := replaceLengths(fields(rest), lengths)
		return "dim " + strings.Join(words, " ")
	}
	head, rest, _ := cutOutside(text, "(")
	dims, rest, ok := cutOutside(rest, ")")
	if !ok {
		return text
	}
	words, replaced := replaceLengths(fields(dims), lengths)
	if before, after, ok := strings.Cut(rest, " chunks "); ok {
		list, after, _ := strings.Cut(after, " ")
		chunks := strings.Split(list, "x")
		for k, r := range replaced {
			if k < len(chunks) && chunks[k] == r[0] {
				chunks[k] = r[1]
			}
		}
		rest = strings.TrimRight(before+" chunks "+strings.Join(chunks, "x")+" "+after, " ")
	}
	return head + "(" + strings.Join(words, " ") + ")" + rest
}

// replaceLengths replaces lengths in words DIM=LENGTH. It also returns the lengths before and after, by word.
func replaceLengths(words, lengths []string) (out []string, replaced map[int][2]string) {
	replaced = map[int][2]string{}
	for k, word := range words {
		name, length, ok := cutOutside(word, "=")
		i := slices.IndexFunc(lengths, func(l string) bool { return strings.HasPrefix(l, strings.TrimSuffix(name, "*")+"=") })
		if ok && i >= 0 {
			_, now, _ := cutOutside(lengths[i], "=")
			replaced[k], word = [2]string{length, now}, name+"="+now
		}
		out = append(out, word)
	}
	return out, replaced
}

// put adds an item, or replaces the one with its key. Values alone replace only the values.
func (b *block) put(x item) {
	i := slices.IndexFunc(b.items, func(y item) bool { return y.key == x.key })
	switch {
	case i < 0:
		// Attributes of the root precede everything else.
		at := len(b.items)
		if strings.HasPrefix(x.text, "@") {
			for at = 0; at < len(b.items) && strings.HasPrefix(b.items[at].text, "@"); {
				at++
			}
		}
		b.items, b.last = slices.Insert(b.items, at, x), at
		return
	case strings.HasPrefix(x.key, "variable ") && isOnlyValues(x.text):
		head, _, _ := cutOutside(b.items[i].text, " = ")
		head = strings.TrimSuffix(head, " on request")
		name, _, _ := cutOutside(x.text, " ")
		x.text = head + strings.TrimPrefix(x.text, name)
		x.more = b.items[i].more
	}
	b.items[i], b.last = x, i
}

// isOnlyValues reports whether the line of a variable has only its values: NAME = VALUES.
func isOnlyValues(text string) bool {
	head, _, ok := cutOutside(text, " = ")
	head = strings.TrimSuffix(head, " on request")
	_, _, hasDims := cutOutside(head, "(")
	return ok && !hasDims
}

// nameIn returns the name of the variable of a line, as it is written.
func nameIn(text string) (string, error) {
	head, _, hasDims := cutOutside(text, "(")
	head, _, hasValues := cutOutside(head, " ")
	if head == "" || !hasDims && !hasValues {
		return "", errors.New("want NAME(DIM=LENGTH …) TYPE …")
	}
	return head, nil
}

// file makes a file of its lines.
func (p *parser) file(b *block) error {
	f := &manifest.File{Source: manifest.Source{URL: root + b.name}}
	for i := 0; i < len(b.words); i++ {
		switch {
		case b.words[i] == "hidden":
			f.Hidden = true
		case b.words[i] == "format" && i+1 < len(b.words):
			i++
			f.Format = b.words[i]
		default:
			return fmt.Errorf("%s is not known", b.words[i])
		}
	}
	h, groups := &manifest.Header{}, []manifest.Group{{Path: "/"}}
	if f.Hidden {
		groups = nil // only bytes of the file are used
	}
	for _, x := range b.items {
		if err := p.item(f, h, &groups, x); err != nil {
			return fmt.Errorf("%q: %w", x.text, err)
		}
	}
	addDimensions(h, b)
	h.SetID()
	f.Header = p.known.Header(h, nil)
	g := &manifest.GroupAttributes{Groups: groups}
	g.SetID()
	f.Groups = p.known.Groups(g, nil)
	p.out.Files = append(p.out.Files, f)
	return nil
}

func shared[T any](known map[string]*T, id string, x *T) *T {
	if known[id] == nil {
		known[id] = x
	}
	return known[id]
}

// item adds one item to a file.
func (p *parser) item(f *manifest.File, h *manifest.Header, groups *[]manifest.Group, x item) error {
	word, rest, _ := strings.Cut(x.text, " ")
	var attributes *[]manifest.Attribute
	switch {
	case strings.HasPrefix(x.text, "@") && len(*groups) == 0:
		return errors.New("a hidden file has no attributes")
	case strings.HasPrefix(x.text, "@"):
		attributes, x.more = &(*groups)[0].Attributes, []string{x.text}
	case word == "group":
		path, err := unquoted(rest)
		if err != nil {
			return err
		}
		*groups = append(*groups, manifest.Group{Path: "/" + path})
		attributes = &(*groups)[len(*groups)-1].Attributes
	case word == "dim":
		d, err := parseDimension(fields(rest))
		h.Dimensions = append(h.Dimensions, d)
		return err
	default:
		v, err := p.variable(f, len(h.Variables), x.text)
		if err != nil {
			return err
		}
		h.Variables = append(h.Variables, v)
		attributes = &v.Attributes
	}
	for _, line := range x.more {
		if text, ok := strings.CutPrefix(line, "part "); ok {
			part, err := parsePart(fields(text))
			if err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			if f.Parts == nil {
				f.Parts = map[int][]manifest.Part{}
			}
			f.Parts[len(h.Variables)-1] = append(f.Parts[len(h.Variables)-1], part)
			continue
		}
		a, err := parseAttribute(strings.TrimPrefix(line, "@"))
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		*attributes = append(*attributes, a)
	}
	return nil
}

// addDimensions adds the dimensions of variables that no line has.
func addDimensions(h *manifest.Header, b *block) {
	stars := map[string]bool{}
	for _, x := range b.items {
		if _, dims, ok := cutOutside(x.text, "("); ok && strings.HasPrefix(x.key, "variable ") {
			dims, _, _ = cutOutside(dims, ")")
			for _, d := range fields(dims) {
				name, _, _ := cutOutside(d, "=")
				if name, ok := strings.CutSuffix(name, "*"); ok {
					name, _ = unquoted(name)
					stars["/"+name] = true
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, d := range h.Dimensions {
		seen[d.Path] = true
	}
	for _, v := range h.Variables {
		for k, d := range v.Dims {
			if !seen[d] {
				seen[d] = true
				h.Dimensions = append(h.Dimensions, manifest.Dimension{Path: d, Length: v.Shape[k], Unlimited: stars[d]})
			}
		}
	}
}

// parseLength parses DIM=LENGTH or DIM*=LENGTH.
func parseLength(word string) (path string, length int64, isUnlimited bool, err error) {
	name, number, _ := cutOutside(word, "=")
	name, isUnlimited = strings.CutSuffix(name, "*")
	if name, err = unquoted(name); err != nil {
		return "", 0, false, err
	}
	length, err = strconv.ParseInt(number, 10, 64)
	return "/" + name, length, isUnlimited, err
}

func parseDimension(words []string) (d manifest.Dimension, err error) {
	if len(words) == 0 {
		return d, errors.New("want dim NAME=LENGTH")
	}
	if d.Path, d.Length, d.Unlimited, err = parseLength(words[0]); err != nil {
		return d, err
	}
	for i := 1; i < len(words); i++ {
		switch {
		case words[i] == "anonymous":
			d.Anonymous = true
		case words[i] == "like":
			for _, word := range words[i+1:] {
				name, wrong := unquoted(word)
				d.Like, err = append(d.Like, "/"+name), errors.Join(err, wrong)
			}
			return d, err
		default:
			return d, fmt.Errorf("%s is not known", words[i])
		}
	}
	return d, nil
}

// parsePart parses "N at I,I from J,J shape K,K".
func parsePart(words []string) (part manifest.Part, err error) {
	if len(words) != 7 || words[1] != "at" || words[3] != "from" || words[5] != "shape" {
		return part, errors.New("want part N at I,I from J,J shape K,K")
	}
	part.File, err = strconv.Atoi(words[0])
	for i, to := range []*[]int64{&part.Origin, &part.Start, &part.Shape} {
		list, wrong := parseShape(strings.ReplaceAll(words[2*i+2], ",", "x"))
		*to, err = list, errors.Join(err, wrong)
	}
	return part, err
}

// parseAttribute parses `units "m"`, `names ["a" "b"]`, `scale_factor float32 0.01` or `offset scalar float32 0.01`.
func parseAttribute(line string) (a manifest.Attribute, err error) {
	name, rest, _ := cutOutside(line, " ")
	if a.Name, err = unquoted(name); err != nil {
		return a, err
	}
	word, values, _ := strings.Cut(rest, " ")
	switch {
	case strings.HasPrefix(rest, `"`):
		a.Type, a.Scalar = codec.Type{Kind: codec.String}, true
		text, err := strconv.Unquote(rest)
		a.Texts = []string{text}
		return a, err
	case strings.HasPrefix(rest, "["):
		a.Type = codec.Type{Kind: codec.String}
		for _, word := range fields(strings.Trim(rest, "[]")) {
			text, wrong := strconv.Unquote(word)
			a.Texts, err = append(a.Texts, text), errors.Join(err, wrong)
		}
		return a, err
	case word == "json":
		a.JSON = values
		return a, nil
	case word == "scalar":
		a.Scalar = true
		word, values, _ = strings.Cut(values, " ")
	}
	if reason, ok := strings.CutPrefix(values, "unreadable "); ok {
		if a.Unreadable, err = strconv.Unquote(reason); err != nil {
			return a, err
		}
		values = "none"
	}
	if word == "-" { // unreadable, of no type
		return a, nil
	}
	if a.Type, err = parseType(word); err != nil {
		return a, err
	}
	a.Data, err = parseElements(a.Type, fields(values))
	return a, err
}

// variable parses the line of a variable, and adds its values to the file.
func (p *parser) variable(f *manifest.File, at int, line string) (*manifest.Variable, error) {
	line, values, hasValues := cutOutside(line, " = ")
	line, isOnRequest := strings.CutSuffix(line, " on request")
	v, err := parseVariable(line)
	if err != nil {
		return nil, err
	}
	f.Values = append(f.Values, nil)
	if !hasValues {
		return v, nil
	}
	if long, ok := p.long[values]; ok {
		values = long
	}
	x, err := ParseValues(v.Type, values)
	if err != nil {
		return nil, err
	}
	if !x.Summed {
		x = shared(p.values, x.ID, x)
	}
	if isOnRequest {
		p.out.OnRequest[Place{len(p.out.Files), at}] = x
	} else {
		f.Values[at] = x
	}
	return v, nil
}

// parseVariable parses a line such as "t(time*=31 lat=3) float32 chunks 31x3".
func parseVariable(line string) (*manifest.Variable, error) {
	name, rest, ok := cutOutside(line, "(")
	dims, rest, ok2 := cutOutside(rest, ")")
	words := fields(rest)
	if !ok || !ok2 || len(words) == 0 {
		return nil, errors.New("want NAME(DIM=LENGTH …) TYPE …")
	}
	name, err := unquoted(name)
	if err != nil {
		return nil, err
	}
	v := &manifest.Variable{Path: "/" + name}
	for _, word := range fields(dims) {
		path, length, _, err := parseLength(word)
		if err != nil {
			return nil, err
		}
		v.Dims, v.Shape = append(v.Dims, path), append(v.Shape, length)
	}
	if v.Type, err = parseType(words[0]); err != nil {
		return nil, err
	}
	return v, parseStorage(v, words[1:])
}

// defaultStorage returns how a variable is stored if no word says it: in one compressed chunk.
func defaultStorage(v *manifest.Variable, layout manifest.Layout) manifest.Storage {
	s := manifest.Storage{Layout: layout}
	switch layout {
	case manifest.Chunked:
		s.Chunks = slices.Clone(v.Shape)
		if len(s.Chunks) == 1 {
			s.Chunks[0] = max(s.Chunks[0], 1)
		}
		s.Codecs, _ = parseCodecs("little,zlib:4")
	case manifest.Strided, manifest.Inline:
		s.Chunks = slices.Clone(v.Shape)
		s.Codecs, _ = parseCodecs("little")
	}
	s.Filters = max(len(s.Codecs)-1, 0)
	return s
}

// parseStorage parses the words after the type of a variable.
func parseStorage(v *manifest.Variable, words []string) error {
	v.Storage = defaultStorage(v, manifest.Chunked)
	next := func() string {
		if len(words) == 0 {
			return ""
		}
		word := words[0]
		words = words[1:]
		return word
	}
	axes := func() (list [][][2]int64, err error) {
		n := min(len(v.Shape), len(words))
		list, err = parseRuns(words[:n])
		words = words[n:]
		return list, err
	}
	for len(words) > 0 {
		var err error
		switch word := next(); word {
		case "chunks":
			v.Storage.Chunks, err = parseShape(next())
		case "edges":
			v.Storage.Chunks = nil
			v.Storage.Edges, err = axes()
		case "data-sizes":
			v.Storage.DataSizes, err = axes()
		case "contiguous", "inline", "nothing", "parted", "valued":
			layout := manifest.Layout(word)
			if word == "contiguous" {
				layout = manifest.Strided
			}
			v.Storage = defaultStorage(v, layout)
		case "strided":
			v.Storage = defaultStorage(v, manifest.Strided)
			v.Storage.Stride, err = strconv.ParseInt(next(), 10, 64)
		case "codecs":
			v.Storage.Codecs, err = parseCodecs(next())
			v.Storage.Filters = len(v.Storage.Codecs) - 1
		case "filters":
			v.Storage.Filters, err = strconv.Atoi(next())
		case "raw-edges":
			v.Storage.RawEdges = true
		case "fill", "unset":
			v.Fill.User = word == "fill"
			v.Fill.Value, err = parseFill(v.Type, next())
		case "enum":
			v.Enum, err = parseEnum(next())
		case "unreadable":
			v.Unreadable, err = strconv.Unquote(next())
		case "elsewhere":
			v.Elsewhere, err = strconv.Unquote(next())
		case "damaged":
			v.Damaged = true
		default:
			err = fmt.Errorf("%s is not known", word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseFill parses a fill value. Types of varying length have texts.
func parseFill(t codec.Type, word string) ([]byte, error) {
	switch {
	case word == "zero":
		return nil, nil
	case t.Varies():
		text, err := strconv.Unquote(word)
		return []byte(text), err
	}
	return parseElement(t, word)
}
