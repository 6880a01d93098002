package zarrjson

import "slices"

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
