package scan

import (
	"slices"
	"testing"

	"varve/codec"
	"varve/readers"
)

// TestSpell: names that are no UTF-8 become such, each another.
func TestSpell(t *testing.T) {
	for _, c := range []struct{ names, want []string }{
		{[]string{"a", "é"}, []string{"a", "é"}},
		{[]string{"T_\xb0C", "T_\xb1C", "\uFFFD", "\xff"}, []string{"T_\uFFFDC", "T_\uFFFDC\uFFFD", "\uFFFD", "\uFFFD\uFFFD"}},
	} {
		got := slices.Clone(c.names)
		spell(len(got), func(i int) *string { return &got[i] })
		if !slices.Equal(got, c.want) {
			t.Errorf("%q became %q, want %q", c.names, got, c.want)
		}
	}
}

// TestSpelt: so do the names of attributes and of the members of compounds, at any depth.
func TestSpelt(t *testing.T) {
	i2 := readers.Int(2, readers.LittleEndian, true)
	inner := &readers.Type{Class: readers.Compound, Size: 2, Members: []readers.Member{{Name: "\xfc", Type: i2}}}
	outer := &readers.Type{Class: readers.Compound, Size: 4, Members: []readers.Member{{Name: "\xe4", Type: i2}, {Name: "b", Offset: 2, Type: inner}}}
	i := codec.Type{Kind: codec.Int, Size: 2}
	want := codec.Type{Kind: codec.Struct, Size: 4, Fields: []codec.Field{
		{Name: "\uFFFD", Type: i}, {Name: "b", Type: codec.Type{Kind: codec.Struct, Size: 2, Fields: []codec.Field{{Name: "\uFFFD", Type: i}}}}}}
	if got, _, err := elementOf(outer); err != nil || !got.Equal(want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	got := attributes([]readers.Attribute{{Name: "\xc4", Value: readers.Value{Type: i2, Data: []byte{1, 0}}}})
	if len(got) != 1 || got[0].Name != "\uFFFD" {
		t.Errorf("attributes are %+v", got)
	}
}
