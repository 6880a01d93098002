package readers

import (
	"encoding/binary"
	"slices"
)

// ValueReader takes the elements of Value.Data apart: the numbers, texts and bytes that they
// are made of, one after the other. Their memory form is
//
//	numbers     little-endian, with all their bytes
//	strings     of a fixed size: all bytes, padding and all
//	references  the 8-byte address of an object; of a region, that and a 4-byte index
//	compounds   members by offset, without gaps
//	arrays      element by element
//	sequences   of varying length: an 8-byte count, and so many elements
//	texts       of varying length: an 8-byte count, and so many bytes
type ValueReader struct {
	Data []byte // what is left
	Err  error
}

// Take takes n bytes.
func (r *ValueReader) Take(n uint64) []byte {
	if r.Err == nil && n > uint64(len(r.Data)) {
		r.Err = Corruptf("an element takes %d bytes of %d that are left", n, len(r.Data))
	}
	if r.Err != nil {
		return nil
	}
	b := r.Data[:n:n]
	r.Data = r.Data[n:]
	return b
}

// Count takes the count that precedes what varies in length.
func (r *ValueReader) Count() uint64 {
	b := r.Take(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// MemorySize is how many bytes an element of a type takes in memory form that is neither a
// compound nor made of others.
func (t *Type) MemorySize() uint64 {
	if t.Class != Reference {
		return uint64(t.Size)
	}
	if t.Ref == RegionRef {
		return 12
	}
	return 8
}

// Elements is how many of its base an array is made of.
func (t *Type) Elements() uint64 {
	n := uint64(1)
	for _, d := range t.Dims {
		n *= uint64(d)
	}
	return n
}

// Retold returns elements in memory form, and their type, in which every part of a kind of type is
// the text that tell makes of its bytes; of a text, of those behind its count. What holds none is
// returned as it is.
func Retold(t *Type, data []byte, is func(*Type) bool, as *Type, tell func(part []byte) ([]byte, error)) (*Type, []byte, error) {
	told := retoldType(t, is, as)
	if told == t {
		return t, data, nil
	}
	r := reteller{ValueReader{Data: data}, is, tell, make([]byte, 0, len(data))}
	for len(r.Data) > 0 && r.Err == nil {
		r.element(t)
	}
	return told, r.out, r.Err
}

func retoldType(t *Type, is func(*Type) bool, as *Type) *Type {
	if is(t) {
		return as
	}
	switch {
	case t.InMemory != nil:
	case t.Base != nil:
		if base := retoldType(t.Base, is, as); base != t.Base {
			out := *t
			out.Base = base
			return &out
		}
	case t.Class == Compound:
		members := slices.Clone(t.Members)
		for i, m := range members {
			members[i].Type = retoldType(m.Type, is, as)
		}
		if !slices.Equal(members, t.Members) {
			out := *t
			out.Members = members
			return &out
		}
	}
	return t
}

type reteller struct {
	ValueReader
	is   func(*Type) bool
	tell func(part []byte) ([]byte, error)
	out  []byte
}

func (r *reteller) element(t *Type) {
	switch {
	case r.is(t):
		size := t.MemorySize()
		if t.Class == VarLen {
			size = r.Count()
		}
		part := r.Take(size)
		if r.Err != nil {
			return
		}
		var text []byte
		text, r.Err = r.tell(part)
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

func (r *reteller) all(n uint64, t *Type) {
	if n > uint64(len(r.Data)) {
		r.Err = Corruptf("%d elements in %d bytes", n, len(r.Data))
	}
	for ; n > 0 && r.Err == nil; n-- {
		r.element(t)
	}
}
