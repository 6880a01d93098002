package manifest

import (
	"encoding/json"
	"fmt"
	"slices"

	"varve/codec"
)

// MarshalJSON implements json.Marshaler. The ID is left out.
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

// MarshalJSON implements json.Marshaler. The ID is left out.
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

// MarshalJSON implements json.Marshaler: one value is under value, a list of them, which may
// hold one or none, under values.
func (a Attribute) MarshalJSON() ([]byte, error) { return json.Marshal(a.document(spell(a.Type))) }

// jsonWriter writes documents as encoding/json does, which has to look at each value again
// for every document that it is nested in. The variables of a source have much in common, and
// what is equal is spelt once.
type jsonWriter struct {
	b     []byte
	key   []byte
	known map[string]string // texts by their keys
	types []spelling
	err   error // the first
}

// maxKnown bounds what is kept of texts.
const maxKnown = 1 << 14

// maxRoom bounds the room that is made for what is not there yet.
const maxRoom = 4 << 20

// roomFor makes room for all things of a list, which are about as long as the first of them
// were, if there is little left. Those begin at an offset. Append would give a long slice a
// quarter more at a time, and so copy it often.
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

// fields writes a document's fields, which are more than none, without the braces. What is
// equal has the same key in w.key, the first byte of which tells kinds apart.
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
	copy(w.b[at:], w.b[at+1:])
	w.b = w.b[:len(w.b)-2]
	if len(w.known) < maxKnown {
		w.known[string(w.key)] = string(w.b[at:])
	}
}

// label writes a text.
func (w *jsonWriter) label(text string) {
	if isPlain(text) {
		w.plain(text)
		return
	}
	w.value(label(text))
}

// isPlain reports whether a text is spelt as it is.
func isPlain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&':
			return false
		}
	}
	return true
}

func (w *jsonWriter) plain(text string) { w.b = append(append(append(w.b, '"'), text...), '"') }

// maxSpelt bounds the types whose spelling is kept.
const maxSpelt = 16

// spell is how a type is spelt.
func (w *jsonWriter) spell(t codec.Type) spelling {
	for i := range w.types {
		if w.types[i].of.Equal(t) {
			return w.types[i]
		}
	}
	s := spell(t)
	w.types = append(w.types[:min(len(w.types), maxSpelt-1)], s)
	return s
}

func (w *jsonWriter) variable(v *Variable) {
	w.b = append(w.b, `{"path":`...)
	w.label(v.Path)
	w.b = append(w.b, ',')
	w.key = v.appendElements(append(w.key[:0], 'e'))
	w.fields(func() (any, error) { return v.elements(w.spell(v.Type)), nil })
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

// attribute writes the fields of an attribute. Most are a text that is spelt as it is.
func (w *jsonWriter) attribute(a *Attribute) {
	s := w.spell(a.Type)
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

func (v *Variable) elements(s spelling) elementDocument {
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

func (a *Attribute) document(s spelling) attributeDocument {
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
