package zarrjson

import (
	"bytes"
	"iter"
	"math"
	"strconv"
)

// value is one JSON value of a document that passed check, and where it is. It is
// read only as deep as somebody asks.
type value struct {
	raw  []byte // without white space around it
	path string
}

// document returns the value of a whole document.
func document(doc []byte) (value, error) {
	if err := check(doc); err != nil {
		return value{}, err
	}
	start := skipSpace(doc, 0)
	return value{raw: doc[start:skipValue(doc, start)]}, nil
}

// is returns the first byte, which tells the kinds of values apart.
func (v value) is(first byte) bool { return v.raw[0] == first }

func (v value) isNull() bool { return string(v.raw) == "null" }

// refuse says that the value is not what is allowed there.
func (v value) refuse(allowed string) error {
	return wrong(v.path, "%s is not %s", abbreviate(v.raw), allowed)
}

// elements yields the elements of an array. They have no paths, which would cost more
// than the elements of a long list; whoever descends into one gives it its path.
func (v value) elements() iter.Seq2[int, value] {
	return func(yield func(int, value) bool) {
		i := skipSpace(v.raw, 1)
		for n := 0; v.raw[i] != ']'; n++ {
			end := skipValue(v.raw, i)
			if !yield(n, value{raw: v.raw[i:end]}) {
				return
			}
			if i = skipSpace(v.raw, end); v.raw[i] == ',' {
				i = skipSpace(v.raw, i+1)
			}
		}
	}
}

// list returns the elements of an array, each with its path.
func (v value) list(allowed string) ([]value, error) {
	if !v.is('[') {
		return nil, v.refuse(allowed)
	}
	var list []value
	for i, e := range v.elements() {
		e.path = index(v.path, i)
		list = append(list, e)
	}
	return list, nil
}

// span is where a member of an object lies in its text: its name, in quotes, and its value.
type span struct{ name, named, value, end int }

// spans yields the members of an object.
func spans(object []byte) iter.Seq[span] {
	return func(yield func(span) bool) {
		i := skipSpace(object, 1)
		for object[i] != '}' {
			m := span{name: i}
			m.named = skipString(object, i)
			m.value = skipSpace(object, skipSpace(object, m.named)+1)
			m.end = skipValue(object, m.value)
			if !yield(m) {
				return
			}
			if i = skipSpace(object, m.end); object[i] == ',' {
				i = skipSpace(object, i+1)
			}
		}
	}
}

// key returns the name of the member at a span.
func (m span) key(object []byte) string {
	name, _ := unquote(object[m.name:m.named])
	return name
}

// isNamed reports whether that name is one. What is escaped is longer for it.
func (m span) isNamed(object []byte, name string) bool {
	text := object[m.name+1 : m.named-1]
	if len(text) < len(name) {
		return false
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text) == name
	}
	return m.key(object) == name
}

// text reads a string.
func (v value) text() (string, error) {
	if !v.is('"') {
		return "", v.refuse("a string")
	}
	s, ok := unquote(v.raw)
	if !ok {
		return "", v.refuse("text: it has half of a surrogate pair")
	}
	return s, nil
}

// whole reads an integer of at least lo that is spelt as one.
func (v value) whole(lo int64) (int64, error) {
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil || n < lo {
		return 0, wrong(v.path, "%s is not an integer from %d to %d", abbreviate(v.raw), lo, int64(math.MaxInt64))
	}
	return n, nil
}

// named reads a string or an object of name and configuration, the two ways in which
// Zarr v3 refers to an extension.
func (v value) named() (name string, config *object, err error) {
	if v.is('"') {
		name, err = v.text()
		return name, noConfig(v), err
	}
	o, err := v.object("a name, or an object of name and configuration")
	if err != nil {
		return "", nil, err
	}
	if name, err = o.text("name"); err != nil {
		return "", nil, err
	}
	config = noConfig(v)
	if c, ok := o.take("configuration"); ok {
		if config, err = c.object("an object"); err != nil {
			return "", nil, err
		}
	}
	if m, ok := o.take("must_understand"); ok && !m.is('t') && !m.is('f') {
		return "", nil, m.refuse("true or false")
	}
	return name, config, o.rest("name, configuration, must_understand")
}

func noConfig(v value) *object { return &object{path: join(v.path, "configuration")} }
