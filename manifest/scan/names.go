package scan

import (
	"slices"
	"strings"
	"unicode/utf8"

	"varve/codec"
)

// spell replaces what is not UTF-8 in n names that stand beside each other, as JSON has no
// other, and keeps those apart that would become the same.
func spell(n int, name func(i int) *string) {
	var taken map[string]bool
	for i := range n {
		if utf8.ValidString(*name(i)) {
			continue
		}
		if taken == nil {
			taken = make(map[string]bool, n)
			for k := range n {
				taken[*name(k)] = true
			}
		}
		text := strings.ToValidUTF8(*name(i), "\uFFFD")
		for taken[text] {
			text += "\uFFFD"
		}
		taken[text] = true
		*name(i) = text
	}
}

// spelt returns a type whose fields have names that JSON can hold.
func spelt(t codec.Type) codec.Type {
	if t.Kind != codec.Struct {
		return t
	}
	t.Fields = slices.Clone(t.Fields)
	for i := range t.Fields {
		t.Fields[i].Type = spelt(t.Fields[i].Type)
	}
	spell(len(t.Fields), func(i int) *string { return &t.Fields[i].Name })
	return t
}
