package readers

import (
	"encoding/binary"
	"slices"
)

// ValueReader splits the elements of Value.Data into numbers, strings and bytes, in order. Elements
// in memory form are encoded as follows:
//
//	numbers     little-endian, with all their bytes
//	strings     of a fixed size: all bytes, including padding
//	references  the 8-byte address of an object; of a region, also a 4-byte index
//	compounds   members by offset, without gaps
//	arrays      element by element
//	sequences   of varying length: an 8-byte count, then the elements
//	texts       of varying length: an 8-byte count, then the bytes
type ValueReader struct {
	Data []byte // the bytes that were not taken yet
	Err  error
}

// Take returns the next n bytes.
func (r *ValueReader) Take(n uint64) []byte {
	if r.Err == nil && n > uint64(len(r.Data)) {
		r.Err = Corruptf("value: an element needs %d bytes, but only %d remain", n, len(r.Data))
	}
	if r.Err != nil {
		return nil
	}
	b := r.Data[:n:n]
	r.Data = r.Data[n:]
	return b
}

// Count returns the next 8-byte count, which precedes data of varying length.
func (r *ValueReader) Count() uint64 {
	b := r.Take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// MemorySize returns the size in bytes of an element in memory form. It holds for types that
// contain no other types.
func (t *Type) MemorySize() uint64 {
	if t.Class != Reference {
		return uint64(t.Size)
	}
	if t.Ref == RegionRef {
		return 12
	}
	return 8
}

// Elements returns the number of base elements in one element of an array type.
func (t *Type) Elements() uint64 {
	n := uint64(1)
	for _, d := range t.Dims {
		n *= uint64(d)
	}
	return n
}

// ReplaceWithText returns elements in memory form in which every part whose type isReplaced reports
// is a string of type as instead. The function text converts the part's bytes (without the count,
// for types of varying length) to the string. If no part is replaced, ReplaceWithText returns t and
// data unchanged.
func ReplaceWithText(t *Type, data []byte, isReplaced func(*Type) bool, as *Type, text func(part []byte) ([]byte, error)) (*Type, []byte, error) {
	replaced := replaceType(t, isReplaced, as)
	if replaced == t {
		return t, data, nil
	}
	r := textReplacer{ValueReader{Data: data}, isReplaced, text, make([]byte, 0, len(data))}
	for len(r.Data) > 0 && r.Err == nil {
		r.element(t)
	}
	return replaced, r.out, r.Err
}

func replaceType(t *Type, isReplaced func(*Type) bool, as *Type) *Type {
	if isReplaced(t) {
		return as
	}
	switch {
	case t.InMemory != nil:
	case t.Base != nil:
		if base := replaceType(t.Base, isReplaced, as); base != t.Base {
			out := *t
			out.Base = base
			return &out
		}
	case t.Class == Compound:
		members := slices.Clone(t.Members)
		for i, m := range members {
			members[i].Type = replaceType(m.Type, isReplaced, as)
		}
		if !slices.Equal(members, t.Members) {
			out := *t
			out.Members = members
			return &out
		}
	}
	return t
}

type textReplacer struct {
	ValueReader
	isReplaced func(*Type) bool
	toText     func(part []byte) ([]byte, error)
	out        []byte
}

func (r *textReplacer) element(t *Type) {
	switch {
	case r.isReplaced(t):
		size := t.MemorySize()
		if t.Class == VarLen {
			size = r.Count()
		}
		part := r.Take(size)
		if r.Err != nil {
			return
		}
		var text []byte
		// A string of varying length is encoded as its length and its bytes.
		text, r.Err = r.toText(part)
		r.out = append(binary.LittleEndian.AppendUint64(r.out, uint64(len(text))), text...)
	case t.InMemory != nil && !t.InMemory.Varies():
		r.out = append(r.out, r.Take(uint64(t.InMemory.Size))...)
	case t.Class == VarLen:
		n := r.Count()
		r.out = binary.LittleEndian.AppendUint64(r.out, n)
		if t.IsText || t.InMemory != nil {
			r.out = append(r.out, r.Take(n)...)
			return
		}
		r.all(n, t.Base)
	case t.Class == Array:
		r.all(t.Elements(), t.Base)
	case t.Class == Complex:
		r.all(2, t.Base)
	case t.Class == Compound:
		for _, m := range t.SortedMembers() {
			r.element(m.Type)
		}
	default:
		r.out = append(r.out, r.Take(t.MemorySize())...)
	}
}

func (r *textReplacer) all(n uint64, t *Type) {
	// Each element takes at least one byte: check before looping over a damaged count.
	if n > uint64(len(r.Data)) {
		r.Err = Corruptf("value: %d elements cannot fit in %d bytes", n, len(r.Data))
	}
	for ; n > 0 && r.Err == nil; n-- {
		r.element(t)
	}
}
