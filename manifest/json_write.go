package manifest

import (
	"encoding/json"
	"fmt"
	"slices"

	"varve/codec"
)

// MarshalJSON implements json.Marshaler. It leaves the ID out.
func (h *Header) MarshalJSON() ([]byte, error) {
	w := jsonWriter{known: map[string]string{}}
	w.b = append(w.b, `{"dimensions":`...)
	dimensions := make([]dimensionDocument, len(h.Dimensions))
	for i, d := range h.Dimensions {
		dimensions[i] = dimensionDocument{label(d.Path), d.Length, d.Unlimited, d.Anonymous, labels[string, label](d.Like)}
	}
	w.value(dimensions)
	w.b = append(w.b, `,"variables":[`...)
	for i, at := 0, len(w.b); i < len(h.Variables); i++ {
		w.b = roomFor(w.b, at, i, len(h.Variables))
		w.comma(i)
		w.variable(h.Variables[i])
	}
	w.b = append(w.b, "]}"...)
	return w.b, w.err
}

// MarshalJSON implements json.Marshaler. It leaves the ID out.
func (g *GroupAttributes) MarshalJSON() ([]byte, error) {
	w := jsonWriter{known: map[string]string{}}
	w.b = append(w.b, `{"groups":[`...)
	for i, x := range g.Groups {
		w.comma(i)
		w.b = append(w.b, `{"path":`...)
		w.label(x.Path)
		w.attributes(x.Attributes)
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, "]}"...)
	return w.b, w.err
}

// MarshalJSON implements json.Marshaler.
func (v Variable) MarshalJSON() ([]byte, error) {
	w := jsonWriter{known: map[string]string{}}
	w.variable(&v)
	return w.b, w.err
}

// MarshalJSON implements json.Marshaler. A scalar is stored under the key "value"; a list, even of one
// value or none, under the key "values".
func (a Attribute) MarshalJSON() ([]byte, error) { return json.Marshal(a.document(jsonTypeOf(a.Type))) }

// jsonWriter writes the same bytes as encoding/json, but faster. encoding/json checks nested documents
// again at each level. jsonWriter does not, and it encodes equal parts of the variables of a source
// only once.
type jsonWriter struct {
	b     []byte
	key   []byte
	known map[string]string // encoded parts by their keys
	types []jsonType
	err   error // the first error
}

// maxKnown limits the number of encoded parts that are remembered.
const maxKnown = 1 << 14

// maxRoom limits the bytes that are allocated ahead.
const maxRoom = 4 << 20

// roomFor returns b with enough capacity for the rest of a list that starts at offset at, of which the first
// items were written. It assumes that all items are about as long as these. append grows a long slice by
// only a quarter at a time, which would copy it often.
func roomFor(b []byte, at, first, all int) []byte {
	if first == 0 {
		return b
	}
	each := (len(b) - at) / first
	if cap(b)-len(b) > 2*each {
		return b
	}
	return slices.Grow(b, min((all-first+1)*(each+each/8), maxRoom))
}

func (w *jsonWriter) comma(i int) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
}

func (w *jsonWriter) value(doc any) {
	text, err := json.Marshal(doc)
	if w.err == nil {
		w.err = err
	}
	w.b = append(w.b, text...)
}

// fields writes the fields of a document without the braces. There must be at least one field. The caller
// sets w.key, and documents with the same key must be equal. The first byte of the key distinguishes kinds
// of documents.
func (w *jsonWriter) fields(document func() (any, error)) {
	if text, ok := w.known[string(w.key)]; ok {
		w.b = append(w.b, text...)
		return
	}
	doc, err := document()
	if w.err == nil {
		w.err = err
	}
	at := len(w.b)
	w.value(doc)
	if w.err != nil {
		return
	}
	// Remove the braces that value wrote.
	copy(w.b[at:], w.b[at+1:])
	w.b = w.b[:len(w.b)-2]
	if len(w.known) < maxKnown {
		w.known[string(w.key)] = string(w.b[at:])
	}
}

// label writes a text from a source.
func (w *jsonWriter) label(text string) {
	if isPlain(text) {
		w.plain(text)
		return
	}
	w.value(label(text))
}

// isPlain reports whether the JSON of a text is the text itself between quotes.
func isPlain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		// encoding/json escapes <, > and & too.
		case c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&':
			return false
		}
	}
	return true
}

func (w *jsonWriter) plain(text string) { w.b = append(append(append(w.b, '"'), text...), '"') }

// maxJSONTypes limits the number of types whose JSON is remembered.
const maxJSONTypes = 16

// jsonType returns the form of a type in JSON.
func (w *jsonWriter) jsonType(t codec.Type) jsonType {
	for i := range w.types {
		if w.types[i].typ.Equal(t) {
			return w.types[i]
		}
	}
	s := jsonTypeOf(t)
	w.types = append(w.types[:min(len(w.types), maxJSONTypes-1)], s)
	return s
}

func (w *jsonWriter) variable(v *Variable) {
	w.b = append(w.b, `{"path":`...)
	w.label(v.Path)
	w.b = append(w.b, ',')
	w.key = v.appendElements(append(w.key[:0], 'e'))
	w.fields(func() (any, error) { return v.elements(w.jsonType(v.Type)), nil })
	w.attributes(v.Attributes)
	w.b = append(w.b, ',')
	w.key = v.appendStored(append(w.key[:0], 's'))
	w.fields(func() (any, error) {
		doc, err := v.stored()
		if err != nil {
			err = fmt.Errorf("%s: %w", v.Path, err)
		}
		return doc, err
	})
	w.b = append(w.b, '}')
}

func (w *jsonWriter) attributes(list []Attribute) {
	w.b = append(w.b, `,"attributes":[`...)
	for i := range list {
		w.comma(i)
		w.b = append(w.b, '{')
		w.attribute(&list[i])
		w.b = append(w.b, '}')
	}
	w.b = append(w.b, ']')
}

// attribute writes the fields of an attribute.
func (w *jsonWriter) attribute(a *Attribute) {
	s := w.jsonType(a.Type)
	// Most attributes are a plain text: write these without the detour over encoding/json.
	if a.Scalar && a.Type.Kind == codec.String && s.zarr != nil && len(a.Texts) == 1 && len(a.Data) == 0 && isPlain(a.Texts[0]) && isPlain(a.Name) {
		w.b = append(w.b, `"name":`...)
		w.plain(a.Name)
		w.b = append(append(append(w.b, `,"data_type":`...), s.json...), `,"value":`...)
		w.plain(a.Texts[0])
		return
	}
	w.key = appendAttribute(append(w.key[:0], 'a'), *a)
	w.fields(func() (any, error) { return a.document(s), nil })
}

func (v *Variable) elements(s jsonType) elementDocument {
	doc := elementDocument{Dims: labels[string, label](v.Dims), Shape: v.Shape, Chosen: v.Fill.User}
	if doc.Shape == nil {
		doc.Shape = []int64{}
	}
	doc.DataType, doc.Type = s.json, s.raw
	if v.Fill.Value != nil {
		if doc.Fill = s.element(v.Fill.Value); doc.Fill == nil {
			doc.RawFill = &v.Fill.Value
		}
	}
	return doc
}

func (v *Variable) stored() (doc storedDocument, err error) {
	doc.Unreadable, doc.Elsewhere, doc.Damaged = label(v.Unreadable), label(v.Elsewhere), v.Damaged
	for _, c := range v.Enum {
		doc.Enum = append(doc.Enum, enumDocument{label(c.Name), c.Value})
	}
	doc.Storage, err = v.Storage.document()
	return doc, err
}

func (a *Attribute) document(s jsonType) attributeDocument {
	doc := attributeDocument{Name: label(a.Name), DataType: s.json, Type: s.raw}
	if a.JSON != "" || a.Unreadable != "" {
		doc.Document, doc.Unreadable = label(a.JSON), label(a.Unreadable)
		return doc
	}
	values, ok := s.elements(a)
	switch {
	case !ok || a.Scalar && len(values) != 1:
		doc.Raw = &rawValues{Data: a.Data, Scalar: a.Scalar}
		for _, t := range a.Texts {
			doc.Raw.Texts = append(doc.Raw.Texts, []byte(t))
		}
	case a.Scalar:
		doc.Value = values[0]
	default:
		doc.Values = values
	}
	return doc
}
