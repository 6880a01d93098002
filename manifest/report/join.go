package report

import (
	"encoding/json"
	"slices"
)

// Join merges findings that differ only in their array. It keeps the order.
func Join(findings []Finding) []Finding {
	var out []Finding
	at := map[string]int{}
	arrays := map[string][]string{}
	for _, f := range findings {
		key := f.joinKey()
		if _, ok := at[key]; !ok {
			at[key] = len(out)
			out = append(out, f)
		}
		if f.Array != "" {
			arrays[key] = append(arrays[key], f.Array)
		}
	}
	for key, i := range at {
		slices.Sort(arrays[key])
		if paths := slices.Compact(arrays[key]); len(paths) > 1 {
			out[i].Array, out[i].Arrays = "", paths
		}
	}
	return out
}

// joinKey returns a key that is equal for findings that differ only in their array.
func (f Finding) joinKey() string {
	ranges := f.Files.ranges
	// Ranges are much shorter than the names of a million files.
	f.Array, f.Files = "", Files{}
	key, err := json.Marshal(struct {
		Finding
		Ranges []Range
	}{f, ranges})
	if err != nil {
		panic(err) // Args has only types that JSON can represent
	}
	return string(key)
}
