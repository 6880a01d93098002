package zarrjson

import (
	"bytes"
	"slices"
)

// extra takes what is left: objects that say that they need not be understood.
func (o *object) extra() ([]ExtraField, error) {
	var fields []ExtraField
	for _, m := range o.members {
		if !ignorable(m.raw) {
			return nil, unsupported(o.at(m).path, `unknown field; only an object with "must_understand": false may be ignored; found %s`, abbreviate(m.raw))
		}
		fields = append(fields, ExtraField{m.name, bytes.Clone(m.raw)})
	}
	return fields, nil
}

func ignorable(raw []byte) bool {
	if raw[0] != '{' {
		return false
	}
	for m := range spans(raw) {
		if m.key(raw) == "must_understand" {
			return string(raw[m.value:m.end]) == "false"
		}
	}
	return false
}

// validateExtra checks extra fields that a program may have added.
func validateExtra(fields []ExtraField, known []string) error {
	var names nameSet
	for _, f := range fields {
		path := abbreviate(f.Name)
		if slices.Contains(known, f.Name) || !names.add(f.Name) {
			return wrong(path, "the name of an extra field is taken")
		}
		v, err := document(f.JSON)
		if err != nil {
			return at(path, err)
		}
		if !ignorable(v.raw) {
			return wrong(path, `%s is not an object with "must_understand": false`, abbreviate(v.raw))
		}
	}
	return nil
}

func writeExtra(w *writer, fields []ExtraField) {
	for _, f := range fields {
		w.name(f.Name)
		if w.layout == Compact {
			w.verbatim(compacted(f.JSON))
		} else {
			w.verbatim(f.JSON)
		}
	}
}
