package readers

import (
	"bytes"
	"testing"

	"varve/codec"
)

func TestTypeNames(t *testing.T) {
	compound := &Type{Class: Compound, Size: 16, Members: []Member{
		{Name: "b", Offset: 8, Type: IEEEFloat(8, BigEndian)},
		{Name: "é\x80\n", Offset: 0, Type: Int(1, LittleEndian, true)},
	}}
	for _, c := range []struct {
		want string
		t    *Type
	}{
		{"<i4", Int(4, LittleEndian, true)},
		{">u2", Int(2, BigEndian, false)},
		{"|i1", Int(1, BigEndian, true)},
		{"<f4", IEEEFloat(4, LittleEndian)},
		{"<u2{12@4}", &Type{Class: Integer, Size: 2, Precision: 12, BitOffset: 4}},
		{"|S12{spacepad,utf8}", &Type{Class: String, Size: 12, Padding: SpacePadded, UTF8: true}},
		{"vlen-str-ascii", &Type{Class: VarLen, Size: 16, IsText: true}},
		{"vlen<<i4>", &Type{Class: VarLen, Size: 16, Base: Int(4, LittleEndian, true)}},
		{"array[(2,3)]<i4", &Type{Class: Array, Size: 24, Dims: []int{2, 3}, Base: Int(4, LittleEndian, true)}},
		{`compound16{"\u00e9\udc80\n"@0:|i1,"b"@8:>f8}`, compound},
		{"opaque:tag:3", &Type{Class: Opaque, Size: 3, Tag: "tag"}},
		{"ref-region", &Type{Class: Reference, Size: 12, Ref: RegionRef}},
		{`enum<|i1>{"no"=-1,"yes"=1}`, &Type{Class: Enum, Size: 1, Base: Int(1, LittleEndian, true),
			Choices: []Choice{{"yes", []byte{1}}, {"no", []byte{255}}}}},
		{"complex<<f4>", &Type{Class: Complex, Size: 8, Base: IEEEFloat(4, LittleEndian)}},
	} {
		if got := c.t.String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestPlain(t *testing.T) {
	packed := &Type{Class: Compound, Size: 6, Members: []Member{
		{"a", 0, Int(2, BigEndian, true)}, {"b", 2, IEEEFloat(4, BigEndian)},
	}}
	padded := &Type{Class: Compound, Size: 8, Members: []Member{
		{"a", 0, Int(2, LittleEndian, true)}, {"b", 4, IEEEFloat(4, LittleEndian)},
	}}
	mixed := &Type{Class: Compound, Size: 6, Members: []Member{
		{"a", 0, Int(2, BigEndian, true)}, {"b", 2, IEEEFloat(4, LittleEndian)},
	}}
	for _, c := range []struct {
		name   string
		t      *Type
		endian string
		plain  bool
	}{
		{"little", Int(4, LittleEndian, true), "little", true},
		{"big", IEEEFloat(8, BigEndian), "big", true},
		{"one byte", Int(1, BigEndian, true), "", true},
		{"odd bits", &Type{Class: Integer, Size: 4, Precision: 17}, "", false},
		{"VAX", &Type{Class: Float, Size: 4, Order: VAX, Precision: 32}, "", false},
		{"packed compound", packed, "big", true},
		{"padded compound", padded, "", false},
		{"compound of both orders", mixed, "", false},
		{"string of varying length", &Type{Class: VarLen, Size: 16, IsText: true}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			element, endian, plain := c.t.Plain()
			if plain != c.plain || endian != c.endian {
				t.Errorf("%v %q %v, want %q %v", element, endian, plain, c.endian, c.plain)
			}
			if plain && element.Size != c.t.Size {
				t.Errorf("element of %d bytes for a type of %d", element.Size, c.t.Size)
			}
		})
	}
}

func TestAppendMemory(t *testing.T) {
	padded := &Type{Class: Compound, Size: 8, Members: []Member{
		{"b", 4, IEEEFloat(4, BigEndian)}, {"a", 0, Int(2, BigEndian, true)},
	}}
	got, err := padded.AppendMemory(nil, []byte{1, 2, 9, 9, 3, 4, 5, 6})
	if err != nil || !bytes.Equal(got, []byte{2, 1, 6, 5, 4, 3}) {
		t.Errorf("%v, %v", got, err)
	}
	element, ok := padded.Element()
	if !ok || element.Kind != codec.Struct || element.Size != 6 || element.Fields[0].Name != "a" {
		t.Errorf("element %v of %d bytes, %v", element, element.Size, ok)
	}
	if _, err := (&Type{Class: VarLen, Size: 16, IsText: true}).AppendMemory(nil, make([]byte, 16)); err == nil {
		t.Error("strings of varying length have no memory form of their own")
	}
}

// TestListsInCompounds: an array in a compound becomes a struct of its elements, up to a limit.
func TestListsInCompounds(t *testing.T) {
	i2 := Int(2, LittleEndian, true)
	element := codec.Type{Kind: codec.Int, Size: 2}
	list := func(t codec.Type, n int) codec.Type {
		out := codec.Type{Kind: codec.Struct, Size: n * t.Size}
		for i := range n {
			out.Fields = append(out.Fields, codec.Field{Name: string(rune('0' + i)), Type: t})
		}
		return out
	}
	array := func(base *Type, dims ...int) *Type {
		size := base.Size
		for _, n := range dims {
			size *= n
		}
		return &Type{Class: Array, Size: size, Dims: dims, Base: base}
	}
	in := func(of *Type) *Type {
		return &Type{Class: Compound, Size: of.Size, Members: []Member{{Name: "a", Type: of}}}
	}
	for _, c := range []struct {
		name string
		of   *Type
		want codec.Type // zero for none
	}{
		{"a list", array(i2, 3), list(element, 3)},
		{"a matrix", array(i2, 2, 3), list(list(element, 3), 2)},
		{"of compounds", array(in(array(i2, 2)), 3), list(codec.Type{Kind: codec.Struct, Size: 4, Fields: []codec.Field{{Name: "a", Type: list(element, 2)}}}, 3)},
		{"very long", array(i2, maxArrayFields+1), codec.Type{}},
		{"many long ones", array(in(array(i2, 512)), 3), codec.Type{}},
		{"too long to be counted", &Type{Class: Array, Size: 1, Dims: []int{1 << 31, 1 << 31}, Base: i2}, codec.Type{}},
		{"of nothing", array(i2, 3, 0), codec.Type{}},
		{"of references", array(&Type{Class: Reference, Size: 8}, 2), codec.Type{}},
	} {
		got, ok := in(c.of).Element()
		if ok != (c.want.Size > 0) || ok && !got.Fields[0].Type.Equal(c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, ok, c.want)
		}
	}
	if _, ok := array(i2, 3).Element(); ok {
		t.Error("an array outside a compound has an element type")
	}
}

// TestComplex: complex numbers of HDF5 2.0 have the element type of the compounds that earlier
// writers used.
func TestComplex(t *testing.T) {
	for size, want := range map[int]codec.Type{
		2: {Kind: codec.Struct, Size: 4, Fields: []codec.Field{{Name: "r", Type: codec.Type{Kind: codec.Float, Size: 2}}, {Name: "i", Type: codec.Type{Kind: codec.Float, Size: 2}}}},
		4: {Kind: codec.Complex, Size: 8},
		8: {Kind: codec.Complex, Size: 16},
	} {
		for _, order := range []Order{LittleEndian, BigEndian} {
			part := IEEEFloat(size, order)
			for name, of := range map[string]*Type{
				"complex":  {Class: Complex, Size: 2 * size, Base: part},
				"compound": {Class: Compound, Size: 2 * size, Members: []Member{{"r", 0, part}, {"i", size, part}}},
			} {
				got, endian, ok := of.Plain()
				if !ok || !got.Equal(want) || (endian == "big") != (order == BigEndian) {
					t.Errorf("%s of two floats of %d bytes: %+v, %q, %v, want %+v", name, size, got, endian, ok, want)
				}
			}
		}
	}
	if got, ok := (&Type{Class: Complex, Size: 32, Base: IEEEFloat(16, LittleEndian)}).Element(); ok {
		t.Errorf("complex numbers of long doubles: %+v", got)
	}
}
