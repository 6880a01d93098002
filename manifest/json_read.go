package manifest

import (
	"bytes"
	"encoding/json"
	"strings"
)

// HeaderDecoder decodes the JSON of many headers. Headers of an archive mostly differ in values of attributes, so the
// decoder remembers the texts of all other parts with their results: it decodes each only once, and the headers share
// them in memory. The zero value is ready. It is not safe for concurrent use.
type HeaderDecoder struct {
	dimensions map[string][]Dimension
	variables  map[string]*Variable     // without attributes, by the text without attributes
	attributes map[string]*Attribute    // by their whole text
	heads      map[string]attributeHead // by the text before the value
	remembered int                      // the bytes of these texts
	scratch    []byte
}

// attributeHead is all of an attribute but its value.
type attributeHead struct {
	name string
	typ  jsonType
}

// Decode returns the header with a JSON text, without an ID. It gives the same header as encoding/json. Headers that
// it returns share memory, so they must not be changed.
func (d *HeaderDecoder) Decode(text []byte) (*Header, error) {
	if h := d.header(text); h != nil {
		return h, nil
	}
	// Another program may have written another form of JSON; and this finds errors.
	h := &Header{}
	return h, json.Unmarshal(text, h)
}

// header returns nil if the text has another form than MarshalJSON gives.
func (d *HeaderDecoder) header(text []byte) *Header {
	c := cutter{text: text, ok: true}
	c.skip(`{"dimensions":`)
	dimensions := c.value()
	c.skip(`,"variables":`)
	h := &Header{Variables: []*Variable{}}
	for variable := range c.list() {
		v := d.variable(variable)
		if v == nil {
			return nil
		}
		h.Variables = append(h.Variables, v)
	}
	c.skip("}")
	if !c.ok || len(c.text) > 0 {
		return nil
	}
	known, ok := d.dimensions[string(dimensions)]
	if !ok {
		other := &Header{}
		if json.Unmarshal(append(append([]byte(`{"dimensions":`), dimensions...), '}'), other) != nil {
			return nil
		}
		known = other.Dimensions
		remember(d, &d.dimensions, dimensions, known)
	}
	h.Dimensions = known
	return h
}

// variable returns nil if the text has another form than MarshalJSON gives.
func (d *HeaderDecoder) variable(text []byte) *Variable {
	before, list, after, ok := cutAttributes(text)
	if !ok {
		return nil
	}
	d.scratch = append(append(append(d.scratch[:0], before...), "[]"...), after...)
	bare := d.variables[string(d.scratch)]
	if bare == nil {
		bare = &Variable{}
		if json.Unmarshal(d.scratch, bare) != nil || len(bare.Attributes) > 0 {
			return nil
		}
		remember(d, &d.variables, d.scratch, bare)
	}
	v := *bare
	v.Attributes = make([]Attribute, 0, bytes.Count(list, []byte(`{"name":`)))
	c := cutter{text: list, ok: true}
	for attribute := range c.list() {
		a, ok := d.attribute(attribute)
		if !ok {
			return nil
		}
		v.Attributes = append(v.Attributes, a)
	}
	if !c.ok || len(c.text) > 0 {
		return nil
	}
	return &v
}

// cutAttributes cuts the text of a variable before and after the list of its attributes. ok is false unless there is
// exactly one list.
func cutAttributes(text []byte) (before, list, after []byte, ok bool) {
	c := cutter{text: text, ok: true}
	c.skip("{")
	for c.ok {
		key := c.value()
		c.skip(":")
		value := c.value()
		if strings.EqualFold(string(key), `"attributes"`) {
			if list != nil || !c.ok {
				return nil, nil, nil, false
			}
			end := len(text) - len(c.text)
			before, list, after = text[:end-len(value)], value, text[end:]
		}
		if bytes.Equal(c.text, []byte("}")) {
			break
		}
		c.skip(",")
	}
	return before, list, after, c.ok && list != nil
}

// attribute reports false if the text is not valid.
func (d *HeaderDecoder) attribute(text []byte) (a Attribute, ok bool) {
	if known := d.attributes[string(text)]; known != nil {
		return *known, true
	}
	head, values, ok := cutValues(text)
	if ok {
		if at, known := d.heads[string(head)]; known {
			a := Attribute{Name: at.name, Type: at.typ.typ, Scalar: values[0] != '['}
			if a.addValues(&at.typ, values) {
				// Numbers are often different in each file, and texts rarely.
				if values[0] == '"' {
					remember(d, &d.attributes, text, &a)
				}
				return a, true
			}
		}
	}
	var doc attributeDocument
	if json.Unmarshal(text, &a) != nil || json.Unmarshal(text, &doc) != nil {
		return a, false
	}
	if typ, err := parseJSONType(doc.DataType, nil); ok && err == nil && doc.Type == nil && doc.Raw == nil {
		remember(d, &d.heads, head, attributeHead{string(doc.Name), typ})
	}
	remember(d, &d.attributes, text, &a)
	return a, true
}

// cutValues cuts the text of an attribute before its value, or before its list of values.
func cutValues(text []byte) (head, values []byte, ok bool) {
	c := cutter{text: text, ok: true}
	c.skip(`{"name":`)
	c.value()
	c.skip(`,"data_type":`)
	c.value()
	isList := bytes.HasPrefix(c.text, []byte(`,"values":[`))
	if isList {
		c.skip(`,"values":`)
	} else {
		c.skip(`,"value":`)
	}
	head = text[:len(text)-len(c.text)]
	values = c.value()
	c.skip("}")
	// A value that is a list has no data type that this way of reading knows.
	return head, values, c.ok && len(c.text) == 0 && len(values) > 0 && isList == (values[0] == '[')
}

// addValues parses a value or a list of values. It reports whether all are valid.
func (a *Attribute) addValues(s *jsonType, text []byte) bool {
	if a.Scalar {
		return json.Valid(text) && a.addValue(*s, text) == nil
	}
	c := cutter{text: text, ok: true}
	for value := range c.list() {
		if !json.Valid(value) || a.addValue(*s, value) != nil {
			return false
		}
	}
	return c.ok && len(c.text) == 0
}

// maxRemembered limits the bytes of the texts that a decoder remembers.
const maxRemembered = 4 << 20

// remember keeps the result of a text, unless the decoder remembers many texts already.
func remember[T any](d *HeaderDecoder, known *map[string]T, text []byte, v T) {
	if d.remembered += len(text); d.remembered > maxRemembered {
		return
	}
	if *known == nil {
		*known = map[string]T{}
	}
	(*known)[string(text)] = v
}

// cutter cuts JSON without white space into its parts. It does not check that values are valid.
type cutter struct {
	text []byte // the rest
	ok   bool   // the text had all expected parts so far
}

// skip skips an expected text.
func (c *cutter) skip(expected string) {
	if c.ok = c.ok && len(c.text) >= len(expected) && string(c.text[:len(expected)]) == expected; c.ok {
		c.text = c.text[len(expected):]
	}
}

// value returns the next value.
func (c *cutter) value() []byte {
	n := 0
	if c.ok {
		n = valueLength(c.text)
	}
	c.ok = n > 0
	value := c.text[:n]
	c.text = c.text[n:]
	return value
}

// list yields the values of a list.
func (c *cutter) list() func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		c.skip("[")
		for c.ok && !bytes.HasPrefix(c.text, []byte("]")) {
			value := c.value()
			if !c.ok || !yield(value) {
				return
			}
			if !bytes.HasPrefix(c.text, []byte("]")) {
				if c.skip(","); bytes.HasPrefix(c.text, []byte("]")) {
					c.ok = false
				}
			}
		}
		c.skip("]")
	}
}

// valueLength returns the length of the value at the beginning of a text, or 0 if there is none.
func valueLength(text []byte) int {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case inText && b == '\\':
			i++
		case b == '"':
			if inText = !inText; !inText && depth == 0 {
				return i + 1
			}
		case inText:
		case b == '{' || b == '[':
			depth++
		case b == '}' || b == ']':
			if depth == 0 {
				return i // the end of the list or object around a number
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && (b == ',' || b == ':'):
			return i
		}
	}
	return 0
}
