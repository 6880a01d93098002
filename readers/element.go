package readers

import (
	"slices"
	"strconv"

	"varve/codec"
)

// Row returns the type of a compound that has strings of varying length in addition to other members: a
// struct in which these strings are UTF-32 without a length. Element has no type for such
// compounds. Row returns false for members of any other type of varying length.
func (t *Type) Row() (codec.Type, bool) {
	out, texts := codec.Type{Kind: codec.Struct}, false
	if t.Class != Compound || t.InMemory != nil {
		return out, false
	}
	for _, m := range t.SortedMembers() {
		field, ok := codec.Type{Kind: codec.FixedUTF32}, true
		if isText := m.Type.Class == VarLen && m.Type.IsText; isText {
			texts = true
		} else if field, ok = m.Type.memberElement(); !ok || field.Varies() {
			return out, false
		}
		out.Fields = append(out.Fields, codec.Field{Name: m.Name, Type: field})
	}
	return out, texts
}

// Element returns the type of the elements in memory, packed and little-endian. It returns false
// for types without one: integers and floats with unused bits, references, sequences of varying
// length (strings have one), and arrays outside compounds.
func (t *Type) Element() (codec.Type, bool) {
	if t.InMemory != nil {
		return *t.InMemory, true
	}
	switch t.Class {
	case Integer:
		kind := codec.Uint
		if t.Signed {
			kind = codec.Int
		}
		return codec.Type{Kind: kind, Size: t.Size}, t.isWhole() && t.isMachineWord()
	case Bitfield:
		return codec.Type{Kind: codec.Uint, Size: t.Size}, t.isWhole() && t.isMachineWord()
	case Float:
		return codec.Type{Kind: codec.Float, Size: t.Size}, t.IsIEEE() && t.Size <= 8
	case Enum:
		if t.isBoolean() {
			return codec.Type{Kind: codec.Bool, Size: 1}, true
		}
		return t.Base.Element()
	case Complex:
		return t.complexElement()
	case Opaque:
		return codec.Type{Kind: codec.Raw, Size: t.Size}, true
	case String:
		return codec.Type{Kind: codec.FixedBytes, Size: t.Size}, true
	case VarLen:
		return codec.Type{Kind: codec.String}, t.IsText
	case Compound:
		if part, ok := t.complexPart(); ok {
			return codec.Type{Kind: codec.Complex, Size: 2 * part.Size}, true
		}
		return t.structElement()
	}
	return codec.Type{}, false
}

// PathTag is the Type.Tag of strings that are paths of objects.
const PathTag = "path"

// IsPath reports whether the elements are paths of objects of the source.
func (t *Type) IsPath() bool { return t.Class == VarLen && t.IsText && t.Tag == PathTag }

// isBoolean reports whether an enumeration is a boolean as h5py writes it, because HDF5 has no
// boolean type: one byte with FALSE = 0 and TRUE = 1. Most other writers follow h5py.
func (t *Type) isBoolean() bool {
	if t.Size != 1 || len(t.Choices) != 2 {
		return false
	}
	for _, c := range t.Choices {
		if v := c.Value[0]; v > 1 || c.Name != [...]string{"FALSE", "TRUE"}[v] {
			return false
		}
	}
	return t.Choices[0].Name != t.Choices[1].Name
}

// complexElement returns the element type of complex numbers. No Zarr client has complex numbers of
// two float16, so these become structs, as compounds of two float16 do.
func (t *Type) complexElement() (codec.Type, bool) {
	part, ok := t.Base.Element()
	ok = ok && part.Kind == codec.Float
	if part.Size < 4 {
		return codec.Type{Kind: codec.Struct, Size: 2 * part.Size, Fields: []codec.Field{{Name: "r", Type: part}, {Name: "i", Type: part}}}, ok
	}
	return codec.Type{Kind: codec.Complex, Size: 2 * part.Size}, ok
}

// complexPart returns the type of both members of a compound if the compound is a complex number as
// h5py and PyTables write it to HDF5: adjacent floats r and i.
func (t *Type) complexPart() (codec.Type, bool) {
	if len(t.Members) != 2 || t.Members[0].Name != "r" || t.Members[1].Name != "i" {
		return codec.Type{}, false
	}
	r, i := t.Members[0], t.Members[1]
	part, ok := r.Type.Element()
	ok = ok && part.Kind == codec.Float && part.Size >= 4 && r.Type.Equal(i.Type)
	return part, ok && r.Offset == 0 && i.Offset == part.Size && t.Size == 2*part.Size
}

func (t *Type) isMachineWord() bool {
	return t.Order != VAX && (t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8)
}

func (t *Type) structElement() (codec.Type, bool) {
	out := codec.Type{Kind: codec.Struct}
	for _, m := range t.SortedMembers() {
		field, ok := m.Type.memberElement()
		if !ok || field.Varies() {
			return codec.Type{}, false
		}
		out.Fields = append(out.Fields, codec.Field{Name: m.Name, Type: field})
		out.Size += field.Size
	}
	return out, true
}

// maxArrayFields limits the number of fields that the arrays in a compound can become.
const maxArrayFields = 1024

// memberElement returns the element type of a member of a compound. Zarr has no arrays inside
// structs: an array becomes a struct of its elements in C order, named "0", "1", and so on.
func (t *Type) memberElement() (codec.Type, bool) {
	if t.Class != Array || t.InMemory != nil {
		return t.Element()
	}
	element, ok := t.Base.memberElement()
	if !ok || element.Varies() {
		return codec.Type{}, false
	}
	fields := leaves(element)
	// Build the nested structs from the last dimension outwards, so that each level repeats the
	// finished level below it.
	for _, n := range slices.Backward(t.Dims) {
		if n < 1 || fields > maxArrayFields/n {
			return codec.Type{}, false
		}
		fields *= n
		list := codec.Type{Kind: codec.Struct, Size: n * element.Size}
		for i := range n {
			list.Fields = append(list.Fields, codec.Field{Name: strconv.Itoa(i), Type: element})
		}
		element = list
	}
	return element, true
}

// leaves returns the number of fields of a type that are not structs themselves.
func leaves(t codec.Type) int {
	if t.Kind != codec.Struct {
		return 1
	}
	n := 0
	for _, f := range t.Fields {
		n += leaves(f.Type)
	}
	return n
}
