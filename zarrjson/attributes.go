package zarrjson

import (
	"bytes"
	"iter"
	"slices"
	"unicode/utf8"
)

// Attributes are the attributes of an array or a group: a JSON object, kept as it was
// written. Changing one leaves every byte of the others alone. The zero value holds
// none.
type Attributes struct {
	raw []byte // the object; nil for {}
	own bool   // the white space is this package's, to be laid out anew when written
}

// ParseAttributes reads a JSON object, such as a .zattrs document. Bare NaN and
// Infinity, which Python writes, are accepted; a name that occurs twice is not.
func ParseAttributes(doc []byte) (Attributes, error) {
	v, err := document(doc)
	if err != nil {
		return Attributes{}, err
	}
	return attributes(v)
}

// Attribute is a name with its JSON value.
type Attribute struct {
	Name string
	JSON []byte
}

// AttributesOf returns attributes in the order of a list, in which each name occurs once.
func AttributesOf(list []Attribute) (Attributes, error) {
	if len(list) == 0 {
		return Attributes{}, nil
	}
	const marks = 4 // quotes, a colon, a comma or a brace
	size := 1
	for _, a := range list {
		size += len(a.Name) + len(a.JSON) + marks
	}
	if name, found := repeated(list); found {
		return Attributes{}, wrong("", "the name %q occurs twice", abbreviate(name))
	}
	raw := append(make([]byte, 0, size), '{')
	for i, a := range list {
		v, err := attributeValue(a.Name, a.JSON)
		if err != nil {
			return Attributes{}, err
		}
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(append(quote(raw, a.Name), ':'), v.raw...)
	}
	return Attributes{raw: append(raw, '}'), own: true}, nil
}

// fewAttributes are compared with each other sooner than kept in a map.
const fewAttributes = 32

// repeated finds a name that occurs twice.
func repeated(list []Attribute) (name string, found bool) {
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

// attributeValue reads the value of an attribute that is to be.
func attributeValue(name string, json []byte) (value, error) {
	v, err := document(json)
	if err != nil {
		return value{}, at(abbreviate(name), err)
	}
	if !utf8.ValidString(name) {
		return value{}, wrong("", "the name %q is not UTF-8", abbreviate(name))
	}
	return v, nil
}

// attributesOrNull also reads null, which zarr-python takes for none.
func attributesOrNull(v value) (Attributes, error) {
	if v.isNull() {
		return Attributes{}, nil
	}
	return attributes(v)
}

func attributes(v value) (Attributes, error) {
	if !v.is('{') {
		return Attributes{}, v.refuse("an object")
	}
	if string(v.raw) == "{}" {
		return Attributes{}, nil
	}
	return Attributes{raw: bytes.Clone(v.raw)}, nil
}

// JSON returns the object as it is kept. It must not be changed.
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

// Named yields those of some names, in order.
func (a Attributes) Named(names ...string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		raw := a.JSON()
		for m := range spans(raw) {
			key := raw[m.name+1 : m.named-1]
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

// Len counts the attributes.
func (a Attributes) Len() int {
	n := 0
	for range spans(a.JSON()) {
		n++
	}
	return n
}

// Get returns the JSON value of a name.
func (a Attributes) Get(name string) ([]byte, bool) {
	raw := a.JSON()
	for m := range spans(raw) {
		if m.isNamed(raw, name) {
			return raw[m.value:m.end:m.end], true
		}
	}
	return nil, false
}

// Set gives a name a JSON value: in its place if there is one of that name, else
// behind the others.
func (a *Attributes) Set(name string, json []byte) error {
	v, err := attributeValue(name, json)
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
		*a = Attributes{raw: slices.Concat(quote([]byte("{"), name), []byte(":"), v.raw, []byte("}")), own: true}
		return nil
	}
	space, colon := a.space(last), a.colon(last)
	const quotes = 3 // and a comma
	out := make([]byte, 0, len(raw)+len(space)+len(name)+len(colon)+len(v.raw)+quotes)
	out = append(append(append(out, raw[:last.end]...), ','), space...)
	out = append(append(quote(out, name), colon...), v.raw...)
	a.raw = append(out, raw[last.end:]...)
	return nil
}

// space returns the white space that stands before the last member.
func (a *Attributes) space(last span) []byte {
	start := last.name
	for start > 1 && skipSpace(a.raw, start-1) == last.name {
		start--
	}
	return a.raw[start:last.name]
}

// colon returns the colon of the last member and the white space around it.
func (a *Attributes) colon(last span) []byte {
	return a.raw[last.named:last.value]
}

// Delete removes a name and reports whether it was there.
func (a *Attributes) Delete(name string) bool {
	raw := a.JSON()
	previous := -1
	for m := range spans(raw) {
		if m.key(raw) != name {
			previous = m.end
			continue
		}
		from, to := m.name, m.end
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

// Relaid returns the attributes with values spelt as they are and white space as this
// package puts it, for a document that is not the one they came from.
func (a Attributes) Relaid() Attributes {
	if a.raw == nil {
		return a
	}
	return Attributes{raw: compacted(a.raw), own: true}
}

func (a Attributes) write(w *writer) {
	if w.layout == Compact {
		w.out = appendCompacted(w.out, a.JSON())
		return
	}
	if a.own || a.raw == nil {
		w.value(a.JSON())
		return
	}
	w.verbatim(a.raw)
}
