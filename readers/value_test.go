package readers_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"varve/readers"
)

// TestReplaceWithText: selected parts become texts in members, arrays and sequences; all else is
// unchanged.
func TestReplaceWithText(t *testing.T) {
	number := readers.Int(2, readers.LittleEndian, true)
	ref := &readers.Type{Class: readers.Reference, Size: 8}
	path := &readers.Type{Class: readers.VarLen, IsText: true, Size: 8, Tag: readers.PathTag}
	row := &readers.Type{Class: readers.Compound, Size: 64, Members: []readers.Member{
		{Name: "n", Type: number},
		{Name: "two", Offset: 2, Type: &readers.Type{Class: readers.Array, Size: 16, Dims: []int{2}, Base: ref}},
		{Name: "list", Offset: 18, Type: &readers.Type{Class: readers.VarLen, Size: 16, Base: ref}},
		{Name: "text", Offset: 34, Type: &readers.Type{Class: readers.VarLen, Size: 16, IsText: true}},
	}}
	word := func(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }
	data := bytes.Join([][]byte{{7, 0}, word(1), word(2), word(1), word(3), word(2), []byte("ab")}, nil)
	is := func(t *readers.Type) bool { return t.Class == readers.Reference }
	replaced, got, err := readers.ReplaceWithText(row, data, is, path, func(part []byte) ([]byte, error) { return fmt.Appendf(nil, "/%d", part[0]), nil })
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Join([][]byte{{7, 0}, word(2), []byte("/1"), word(2), []byte("/2"), word(1), word(2), []byte("/3"), word(2), []byte("ab")}, nil)
	if !bytes.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if replaced.Members[1].Type.Base != path || replaced.Members[2].Type.Base != path || replaced.Members[0].Type != number || row.Members[1].Type.Base != ref {
		t.Errorf("type %v of %v", replaced, row)
	}
	for n := range len(data) {
		if _, _, err := readers.ReplaceWithText(row, data[:n], is, path, func([]byte) ([]byte, error) { return nil, nil }); n > 0 && !errors.Is(err, readers.ErrCorrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if replaced, got, err := readers.ReplaceWithText(number, data[:2], is, path, nil); replaced != number || !bytes.Equal(got, data[:2]) || err != nil {
		t.Errorf("%v, %q, %v", replaced, got, err)
	}
}
