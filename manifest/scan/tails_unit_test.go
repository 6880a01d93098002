package scan

import (
	"testing"

	"varve/readers"
)

// TestCutTails checks that exactly the tails of strings are cleared, anywhere in an element.
func TestCutTails(t *testing.T) {
	text := &readers.Type{Class: readers.String, Size: 4, Padding: readers.NullTerminated}
	padded := &readers.Type{Class: readers.String, Size: 4, Padding: readers.NullPadded}
	blanks := &readers.Type{Class: readers.String, Size: 4, Padding: readers.SpacePadded}
	row := &readers.Type{Class: readers.Compound, Size: 6, Members: []readers.Member{
		{Name: "n", Offset: 0, Type: &readers.Type{Class: readers.Integer, Size: 2, Precision: 16}}, {Name: "b", Offset: 2, Type: blanks},
	}}
	number := &readers.Type{Class: readers.Integer, Size: 2, Precision: 16}
	compound := &readers.Type{Class: readers.Compound, Size: 10, Members: []readers.Member{
		{Name: "b", Offset: 6, Type: text}, {Name: "a", Offset: 2, Type: padded}, {Name: "n", Offset: 0, Type: number},
	}}
	list := &readers.Type{Class: readers.Array, Size: 20, Dims: []int{2}, Base: compound}
	for _, c := range []struct {
		name         string
		t            *readers.Type
		stored, want string
		ends, cut    bool
	}{
		{"clean", text, "ab\x00\x00abcd", "ab\x00\x00abcd", true, false},
		{"a tail", text, "ab\x00\x00a\x00cd", "ab\x00\x00a\x00\x00\x00", true, true},
		{"a tail of the first string", text, "a\x00cdabcd", "a\x00\x00\x00abcd", true, true},
		{"padded", padded, "a\x00cd", "a\x00cd", false, false},
		{"numbers", number, "\x00a", "\x00a", false, false},
		{"in a compound", compound, "\x00aa\x00cdb\x00cd", "\x00aa\x00cdb\x00\x00\x00", true, true},
		{"in an array", list, "\x00aa\x00cdb\x00\x00\x00\x00aa\x00cdb\x00cd", "\x00aa\x00cdb\x00\x00\x00\x00aa\x00cdb\x00\x00\x00", true, true},
		{"blanks", blanks, "a b abcd", "a b\x00abcd", false, true},
		{"blanks in a compound", row, "  a   ", "  a\x00\x00\x00", false, true},
		{"truncated", text, "a\x00cda\x00", "a\x00\x00\x00a\x00", true, true},
	} {
		data := []byte(c.stored)
		if got := endsAtNUL(c.t); got != c.ends {
			t.Errorf("%s: endsAtNUL is %v", c.name, got)
		}
		if cut := cutTails(c.t, data); cut != c.cut || string(data) != c.want {
			t.Errorf("%s: %v, %q, want %v, %q", c.name, cut, data, c.cut, c.want)
		}
	}
}

// TestBlanksInCompounds checks that padding with blanks is removed, in compounds too, because clients of the
// stored bytes would show it.
func TestBlanksInCompounds(t *testing.T) {
	for padding, want := range map[readers.Padding]way{readers.SpacePadded: throughReader, readers.NullPadded: byCodecs} {
		text := &readers.Type{Class: readers.String, Size: 4, Padding: padding}
		row := &readers.Type{Class: readers.Compound, Size: 4, Members: []readers.Member{{Name: "b", Type: text}}}
		if _, got, err := elementOf(row); got != want || err != nil {
			t.Errorf("padding %v: way %v, %v, want %v", padding, got, err, want)
		}
	}
}
