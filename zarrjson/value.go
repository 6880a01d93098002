package zarrjson

import (
	"bytes"
	"iter"
	"math"
	"strconv"
)

// value is one JSON value of an accepted document, and its path. It is parsed only as
// deep as needed.
type value struct {
	raw  []byte // without white space around it
	path string
}

// parseValue checks a document and returns its value.
func parseValue(doc []byte) (value, error) {
	if err := check(doc); err != nil {
		return value{}, err
	}
	start := skipSpace(doc, 0)
	return value{raw: doc[start:skipValue(doc, start)]}, nil
}

// startsWith reports whether the text begins with a byte, which determines the
// kind of the value.
func (v value) startsWith(first byte) bool { return v.raw[0] == first }

func (v value) isNull() bool { return string(v.raw) == "null" }

// refuse returns the error that the value is not one of the allowed ones.
func (v value) refuse(allowed string) error {
	return corruptError(v.path, "%s is not %s", abbreviate(v.raw), allowed)
}

// elements yields the elements of an array. They have no paths, which would cost more
// than the elements of a long list; a caller that reads deeper sets the path.
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

// readList returns the elements of an array, each with its path.
func (v value) readList(allowed string) ([]value, error) {
	if !v.startsWith('[') {
		return nil, v.refuse(allowed)
	}
	var list []value
	for i, e := range v.elements() {
		e.path = indexPath(v.path, i)
		list = append(list, e)
	}
	return list, nil
}

// span is the position of an object's member in its text: the name in quotes, and the
// value.
type span struct{ name, nameEnd, value, end int }

// spans yields the members of an object.
func spans(object []byte) iter.Seq[span] {
	return func(yield func(span) bool) {
		i := skipSpace(object, 1)
		for object[i] != '}' {
			m := span{name: i}
			m.nameEnd = skipString(object, i)
			m.value = skipSpace(object, skipSpace(object, m.nameEnd)+1)
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

// key returns the name of the member.
func (m span) key(object []byte) string {
	name, _ := unquote(object[m.name:m.nameEnd])
	return name
}

// isNamed reports whether the member has a name. An escaped name is longer than the name.
func (m span) isNamed(object []byte, name string) bool {
	text := object[m.name+1 : m.nameEnd-1]
	if len(text) < len(name) {
		return false
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text) == name
	}
	return m.key(object) == name
}

// readText reads a string.
func (v value) readText() (string, error) {
	if !v.startsWith('"') {
		return "", v.refuse("a string")
	}
	s, ok := unquote(v.raw)
	if !ok {
		return "", v.refuse("text: it has half of a surrogate pair")
	}
	return s, nil
}

// readInteger reads an integer of at least lo. It does not accept 1.0.
func (v value) readInteger(lo int64) (int64, error) {
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil || n < lo {
		return 0, corruptError(v.path, "%s is not an integer from %d to %d", abbreviate(v.raw), lo, int64(math.MaxInt64))
	}
	return n, nil
}

// readExtension reads a string, or an object of name and configuration: the two ways in
// which Zarr v3 refers to an extension.
func (v value) readExtension() (name string, config *object, err error) {
	if v.startsWith('"') {
		name, err = v.readText()
		return name, noConfig(v), err
	}
	o, err := v.readObject("a name, or an object of name and configuration")
	if err != nil {
		return "", nil, err
	}
	if name, err = o.needText("name"); err != nil {
		return "", nil, err
	}
	config = noConfig(v)
	if c, ok := o.take("configuration"); ok {
		if config, err = c.readObject("an object"); err != nil {
			return "", nil, err
		}
	}
	// varve understands what it accepts, so either value is fine.
	if m, ok := o.take("must_understand"); ok && !m.startsWith('t') && !m.startsWith('f') {
		return "", nil, m.refuse("true or false")
	}
	return name, config, o.refuseRest("name, configuration, must_understand")
}

func noConfig(v value) *object { return &object{path: joinPath(v.path, "configuration")} }
