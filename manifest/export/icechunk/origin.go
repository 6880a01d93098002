package icechunk

import (
	"maps"
	"slices"
)

// origin is varve's entry in the metadata of a snapshot: the exported manifest snapshot.
//
//	"varve": {"snapshot": ID, "padded": true, "others": [PATH, …]}
type origin struct {
	snapshot string          // of the manifest
	padded   bool            // arrays have padded chunks inside
	others   map[string]bool // paths where varve kept another writer's changes
}

const originName = "varve"

func (in *input) origin(others []string) origin {
	o := origin{in.snapshot.ID, in.snapshot.HasPadding(), map[string]bool{}}
	for _, path := range others {
		o.others[path] = true
	}
	return o
}

func (o origin) encode() (item, error) {
	m := map[string]any{"snapshot": o.snapshot}
	if o.padded {
		m["padded"] = true
	}
	if len(o.others) > 0 {
		others := []any{}
		for _, path := range slices.Sorted(maps.Keys(o.others)) {
			others = append(others, path)
		}
		m["others"] = others
	}
	value, err := encodeFlex(m)
	return item{originName, value}, err
}

// readOrigin returns varve's entry in a snapshot's metadata; ok is false if varve did not write it.
func readOrigin(metadata []item) (o origin, ok bool) {
	for _, i := range metadata {
		if i.name != originName {
			continue
		}
		v, err := decodeFlex(i.value)
		m, is := v.(map[string]any)
		if err != nil || !is {
			return origin{}, false
		}
		o.others = map[string]bool{}
		others, _ := m["others"].([]any)
		for _, path := range others {
			if path, is := path.(string); is {
				o.others[path] = true
			}
		}
		o.padded, _ = m["padded"].(bool)
		o.snapshot, ok = m["snapshot"].(string)
	}
	return o, ok && o.snapshot != ""
}
