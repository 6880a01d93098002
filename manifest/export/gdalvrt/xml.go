package gdalvrt

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strconv"
	"strings"

	"varve/manifest/internal/cf"
)

func (w *writer) text(text string) {
	if w.err == nil {
		_, w.err = w.out.WriteString(text)
	}
}

func (w *writer) escaped(text string) {
	if w.err == nil {
		w.err = xml.EscapeText(w.out, []byte(text))
	}
}

// open writes the beginning of an element, with names and values of attributes.
func (w *writer) open(depth int, name string, attributes ...string) {
	w.start(depth, name, attributes)
	w.text(">\n")
}

func (w *writer) start(depth int, name string, attributes []string) {
	w.text(strings.Repeat("  ", depth) + "<" + name)
	for i := 0; i < len(attributes); i += 2 {
		w.text(" " + attributes[i] + `="`)
		w.escaped(attributes[i+1])
		w.text(`"`)
	}
}

func (w *writer) close(depth int, name string) {
	w.text(strings.Repeat("  ", depth) + "</" + name + ">\n")
}

// element writes an element with a text, which may be empty.
func (w *writer) element(depth int, name, text string, attributes ...string) {
	w.start(depth, name, attributes)
	if text == "" {
		w.text("/>\n")
		return
	}
	w.text(">")
	w.escaped(text)
	w.text("</" + name + ">\n")
}

// attribute writes an attribute of a group or an array: numbers, or texts. Other JSON is a text.
func (w *writer) attribute(depth int, name string, value []byte) {
	kind, values := attributeValues(value)
	w.open(depth, "Attribute", "name", name)
	w.element(depth+1, "DataType", kind)
	for _, v := range values {
		w.start(depth+1, "Value", nil)
		w.text(">")
		w.escaped(v)
		w.text("</Value>\n")
	}
	w.close(depth, "Attribute")
}

// attributeValues returns the type and the values of an attribute.
func attributeValues(value []byte) (kind string, values []string) {
	if text, ok := cf.TextOf(value); ok {
		return "String", []string{text}
	}
	items := []json.RawMessage{value}
	if bytes.HasPrefix(value, []byte("[")) && json.Unmarshal(value, &items) != nil {
		return "String", []string{string(value)} // such as bare NaN in a list
	}
	kind = "Int32"
	for _, item := range items {
		if text, ok := cf.TextOf(item); ok {
			kind, values = "String", append(values, text)
			continue
		}
		if _, err := strconv.ParseFloat(string(item), 64); err != nil {
			return "String", []string{string(value)}
		}
		if _, err := strconv.ParseInt(string(item), 10, 32); err != nil && kind == "Int32" {
			kind = "Float64"
		}
		values = append(values, string(item))
	}
	if len(values) == 0 {
		return "String", []string{string(value)}
	}
	return kind, values
}
