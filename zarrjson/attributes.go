package zarrjson

import (
	"bytes"
	"iter"
	"slices"
	"unicode/utf8"
)

// Attributes are the attributes of an array or a group: a JSON object in its original
// spelling. A change of one attribute leaves every byte of the others unchanged. The zero
// value has no attributes.
type Attributes struct {
	raw           []byte // the object; nil for {}
	isReformatted bool   // the white space is not the document's, so that a writer may change it
}

// ParseAttributes parses a JSON object, such as a .zattrs document. It accepts bare NaN
// and Infinity, which Python writes, but no name that occurs twice.
func ParseAttributes(doc []byte) (Attributes, error) {
	v, err := parseValue(doc)
	if err != nil {
		return Attributes{}, err
	}
	return readAttributes(v)
}

// Attribute is a name and its JSON value.
type Attribute struct {
	Name string
	JSON []byte
}

// AttributesOf returns the attributes of a list, in its order. Each name must occur once.
func AttributesOf(list []Attribute) (Attributes, error) {
	if len(list) == 0 {
		return Attributes{}, nil
	}
	const punctuation = 4 // two quotes, a colon, and a comma or brace
	size := 1
	for _, a := range list {
		size += len(a.Name) + len(a.JSON) + punctuation
	}
	if name, found := findDuplicate(list); found {
		return Attributes{}, corruptError("", "the name %q occurs twice", abbreviate(name))
	}
	raw := append(make([]byte, 0, size), '{')
	for i, a := range list {
		v, err := parseAttributeValue(a.Name, a.JSON)
		if err != nil {
			return Attributes{}, err
		}
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(quote(raw, a.Name), ':'), v.raw...)
	}
	return Attributes{raw: append(raw, '}'), isReformatted: true}, nil
}

// fewAttributes is the number up to which comparing all names is faster than a map.
const fewAttributes = 32

// findDuplicate returns a name that occurs twice, if there is one.
func findDuplicate(list []Attribute) (name string, found bool) {
	if len(list) <= fewAttributes {
		for i, a := range list {
			if slices.ContainsFunc(list[:i], func(other Attribute) bool { return other.Name == a.Name }) {
				return a.Name, true
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(list))
	for _, a := range list {
		if seen[a.Name] {
			return a.Name, true
		}
		seen[a.Name] = true
	}
	return "", false
}

// parseAttributeValue parses the value of a new attribute and checks its name.
func parseAttributeValue(name string, json []byte) (value, error) {
	v, err := parseValue(json)
	if err != nil {
		return value{}, atPath(abbreviate(name), err)
	}
	if !utf8.ValidString(name) {
		return value{}, corruptError("", "the name %q is not UTF-8", abbreviate(name))
	}
	return v, nil
}

// readAttributesOrNull also accepts null, which zarr-python reads as no attributes.
func readAttributesOrNull(v value) (Attributes, error) {
	if v.isNull() {
		return Attributes{}, nil
	}
	return readAttributes(v)
}

func readAttributes(v value) (Attributes, error) {
	if !v.startsWith('{') {
		return Attributes{}, v.refuse("an object")
	}
	if string(v.raw) == "{}" {
		return Attributes{}, nil
	}
	return Attributes{raw: bytes.Clone(v.raw)}, nil
}

// JSON returns the object in its current spelling. The caller must not change it.
func (a Attributes) JSON() []byte {
	if a.raw == nil {
		return []byte("{}")
	}
	return a.raw
}

// All yields names and JSON values in order.
func (a Attributes) All() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		raw := a.JSON()
		for m := range spans(raw) {
			if !yield(m.key(raw), raw[m.value:m.end:m.end]) {
				return
			}
		}
	}
}

// Select yields the attributes with the given names, in the order of the attributes. It
// decodes no other name.
func (a Attributes) Select(names ...string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		raw := a.JSON()
		for m := range spans(raw) {
			key := raw[m.name+1 : m.nameEnd-1]
			// Escaped names are rare; only they need decoding.
			if bytes.IndexByte(key, '\\') >= 0 {
				key = []byte(m.key(raw))
			}
			i := slices.IndexFunc(names, func(name string) bool { return name == string(key) })
			if i >= 0 && !yield(names[i], raw[m.value:m.end:m.end]) {
				return
			}
		}
	}
}

// Len returns the number of attributes.
func (a Attributes) Len() int {
	n := 0
	for range spans(a.JSON()) {
		n++
	}
	return n
}

// Get returns the JSON value of the attribute with a name.
func (a Attributes) Get(name string) ([]byte, bool) {
	raw := a.JSON()
	for m := range spans(raw) {
		if m.isNamed(raw, name) {
			return raw[m.value:m.end:m.end], true
		}
	}
	return nil, false
}

// Set sets the JSON value of the attribute with a name. A new name is appended, with the
// white space of the attribute before it.
func (a *Attributes) Set(name string, json []byte) error {
	v, err := parseAttributeValue(name, json)
	if err != nil {
		return err
	}
	raw := a.JSON()
	last := span{end: -1}
	for m := range spans(raw) {
		if m.isNamed(raw, name) {
			a.raw = slices.Concat(raw[:m.value], v.raw, raw[m.end:])
			return nil
		}
		last = m
	}
	if last.end < 0 {
		*a = Attributes{raw: slices.Concat(quote([]byte("{"), name), []byte(":"), v.raw, []byte("}")), isReformatted: true}
		return nil
	}
	// Copy the layout of the last member, so that the object stays uniformly indented.
	space, colon := a.space(last), a.colon(last)
	const punctuation = 3 // two quotes and a comma
	out := make([]byte, 0, len(raw)+len(space)+len(name)+len(colon)+len(v.raw)+punctuation)
	out = append(append(append(out, raw[:last.end]...), ','), space...)
	out = append(append(quote(out, name), colon...), v.raw...)
	a.raw = append(out, raw[last.end:]...)
	return nil
}

// space returns the white space before the last member.
func (a *Attributes) space(last span) []byte {
	start := last.name
	for start > 1 && skipSpace(a.raw, start-1) == last.name {
		start--
	}
	return a.raw[start:last.name]
}

// colon returns the colon of the last member with the white space around it.
func (a *Attributes) colon(last span) []byte {
	return a.raw[last.nameEnd:last.value]
}

// Delete removes the attribute with a name and reports whether it existed.
func (a *Attributes) Delete(name string) bool {
	raw := a.JSON()
	previous := -1
	for m := range spans(raw) {
		if m.key(raw) != name {
			previous = m.end
			continue
		}
		from, to := m.name, m.end
		// Exactly one comma must go: the one after the member or, for the last member,
		// the one before it. Without any comma, it was the only member.
		if next := skipSpace(raw, m.end); raw[next] == ',' {
			to = skipSpace(raw, next+1)
		} else if previous >= 0 {
			from = previous
		} else {
			*a = Attributes{}
			return true
		}
		a.raw = slices.Concat(raw[:from], raw[to:])
		return true
	}
	return false
}

// WithoutLayout returns the attributes without white space, with the spelling of their
// values unchanged. Writers then use their own layout. Use it for attributes that go to
// another document.
func (a Attributes) WithoutLayout() Attributes {
	if a.raw == nil {
		return a
	}
	return Attributes{raw: compactJSON(a.raw), isReformatted: true}
}

func (a Attributes) write(w *writer) {
	if w.layout == Compact {
		w.out = appendCompact(w.out, a.JSON())
		return
	}
	if a.isReformatted || a.raw == nil {
		w.value(a.JSON())
		return
	}
	w.verbatim(a.raw)
}
