package convert

import (
	"encoding/binary"
	"math"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/zarrjson"
)

// packedVariable is a variable of 16-bit integers with a scale_factor, an add_offset and a _FillValue.
func packedVariable(scale, offset float64, fill int16) *manifest.Variable {
	float := func(x float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)) }
	return &manifest.Variable{Path: "/v", Type: codec.Type{Kind: codec.Int, Size: 2}, Attributes: []manifest.Attribute{
		{Name: "scale_factor", Type: float64Type, Data: float(scale), Scalar: true},
		{Name: "add_offset", Type: float64Type, Data: float(offset), Scalar: true},
		{Name: "_FillValue", Type: codec.Type{Kind: codec.Int, Size: 2}, Data: binary.LittleEndian.AppendUint16(nil, uint16(fill)), Scalar: true},
	}}
}

// TestRepack packs values with another scale, and measures how much they change.
func TestRepack(t *testing.T) {
	typ, err := zarrjson.ParseDataType([]byte(`"int16"`))
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := zarrjson.AttributesOf([]zarrjson.Attribute{{Name: "scale_factor", JSON: []byte("0.01")}, {Name: "add_offset", JSON: []byte("10")}, {Name: "_FillValue", JSON: []byte("-32768")}})
	if err != nil {
		t.Fatal(err)
	}
	schema := &zarrjson.Array{DataType: typ, Attributes: attributes}
	for _, c := range []struct {
		name          string
		scale, offset float64
		fill          int16
		stored, want  []int16
		change        float64
		same          bool
	}{
		{"the same packing", 0.01, 10, -32768, []int16{1, -5, -32768}, []int16{1, -5, -32768}, 0, true},
		{"another fill value", 0.01, 10, -1, []int16{1, -5, -1}, []int16{1, -5, -32768}, 0, false},
		{"half of the scale", 0.005, 10, -32768, []int16{0, 2, 4, -32768, -6}, []int16{0, 1, 2, -32768, -3}, 0, false},
		{"half of the scale, rounded", 0.005, 10, -32768, []int16{1, 3}, []int16{1, 2}, 0.005, false},
		{"another offset", 0.01, 0, 0, []int16{1000, 999, 0}, []int16{0, -1, -32768}, 0, false},
		{"values beyond the range", 0.1, 10, -32768, []int16{4000, -4000}, []int16{32767, -32767}, 72.33, false},
		{"a value that would be missing", 0.01, -317.68, -1, []int16{0, 1}, []int16{-32767, -32767}, 0.01, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			conversion, err := New(packedVariable(c.scale, c.offset, c.fill), schema, manifest.Repacked)
			if err != nil {
				t.Fatal(err)
			}
			var src []byte
			for _, n := range c.stored {
				src = binary.LittleEndian.AppendUint16(src, uint16(n))
			}
			dst := make([]byte, len(src))
			if err := conversion.Apply(codec.Elems{Fixed: dst}, codec.Elems{Fixed: src}); err != nil {
				t.Fatal(err)
			}
			for i, want := range c.want {
				if got := int16(binary.LittleEndian.Uint16(dst[2*i:])); got != want {
					t.Errorf("%d becomes %d, want %d", c.stored[i], got, want)
				}
			}
			if conversion.Identity() != c.same {
				t.Errorf("identity is %t", conversion.Identity())
			}
			if got := conversion.Change(codec.Elems{Fixed: src}); math.Abs(got-c.change) > 1e-9 {
				t.Errorf("values change by %v, want %v", got, c.change)
			}
		})
	}
}

// TestUnitsBesideMissing: a converted number that equals the missing value becomes the next number.
func TestUnitsBesideMissing(t *testing.T) {
	typ, err := zarrjson.ParseDataType([]byte(`"float32"`))
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := zarrjson.AttributesOf([]zarrjson.Attribute{{Name: "units", JSON: []byte(`"degC"`)}, {Name: "_FillValue", JSON: []byte("0.0")}})
	if err != nil {
		t.Fatal(err)
	}
	v := &manifest.Variable{Path: "/v", Type: typ.Type(), Attributes: []manifest.Attribute{{Name: "units", Type: codec.Type{Kind: codec.String}, Texts: []string{"mK"}, Scalar: true}}}
	conversion, err := New(v, &zarrjson.Array{DataType: typ, Attributes: attributes}, manifest.InUnits)
	if err != nil {
		t.Fatal(err)
	}
	src, dst := binary.LittleEndian.AppendUint32(nil, math.Float32bits(273150)), make([]byte, 4)
	if err := conversion.Apply(codec.Elems{Fixed: dst}, codec.Elems{Fixed: src}); err != nil {
		t.Fatal(err)
	}
	if got := math.Float32frombits(binary.LittleEndian.Uint32(dst)); got != math.SmallestNonzeroFloat32 {
		t.Errorf("got %v", got)
	}
}
