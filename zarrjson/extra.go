package zarrjson

import (
	"bytes"
	"slices"
)

// readExtra takes the remaining members, which must be objects with must_understand
// false.
func (o *object) readExtra() ([]ExtraField, error) {
	var fields []ExtraField
	for _, m := range o.members {
		if !isIgnorable(m.raw) {
			return nil, unsupportedError(o.memberValue(m).path, `unknown field; only an object with "must_understand": false may be ignored; found %s`, abbreviate(m.raw))
		}
		fields = append(fields, ExtraField{m.name, bytes.Clone(m.raw)})
	}
	return fields, nil
}

// isIgnorable reports whether a value is an object with must_understand false.
func isIgnorable(raw []byte) bool {
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

// validateExtra checks extra fields, which a program may have added.
func validateExtra(fields []ExtraField, known []string) error {
	var names nameSet
	for _, f := range fields {
		path := abbreviate(f.Name)
		if slices.Contains(known, f.Name) || !names.add(f.Name) {
			return corruptError(path, "the name of an extra field is taken")
		}
		v, err := parseValue(f.JSON)
		if err != nil {
			return atPath(path, err)
		}
		if !isIgnorable(v.raw) {
			return corruptError(path, `%s is not an object with "must_understand": false`, abbreviate(v.raw))
		}
	}
	return nil
}

func writeExtra(w *writer, fields []ExtraField) {
	for _, f := range fields {
		w.name(f.Name)
		// An unknown field keeps its bytes, since their meaning is unknown.
		if w.layout == Compact {
			w.verbatim(compactJSON(f.JSON))
		} else {
			w.verbatim(f.JSON)
		}
	}
}
