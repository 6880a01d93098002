package cf

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"varve/codec"
	"varve/manifest"
)

var (
	int8Type   = codec.Type{Kind: codec.Int, Size: 1}
	int16Type  = codec.Type{Kind: codec.Int, Size: 2}
	uint8Type  = codec.Type{Kind: codec.Uint, Size: 1}
	stringType = codec.Type{Kind: codec.String}
)

// numeric returns an attribute of numbers.
func numeric(name string, t codec.Type, values ...float64) manifest.Attribute {
	a := manifest.Attribute{Name: name, Type: t, Scalar: len(values) == 1}
	for _, f := range values {
		element, ok := Cast(t, float64Type, AppendWord(nil, math.Float64bits(f), 8))
		if !ok {
			panic(fmt.Sprint(f, " is no ", t))
		}
		a.Data = append(a.Data, element...)
	}
	return a
}

func TestPackingOf(t *testing.T) {
	words := func(name, text string) manifest.Attribute {
		return manifest.Attribute{Name: name, Type: stringType, Texts: []string{text}}
	}
	for _, c := range []struct {
		name       string
		typ        codec.Type
		attributes []manifest.Attribute
		want       string // type × scale + offset, masks as numbers of the stored type, float type
	}{
		{"nothing", int16Type, nil, "int16 × 1 + 0 [] float32"},
		{"packed", int16Type, []manifest.Attribute{numeric("scale_factor", float32s, 0.5), numeric("add_offset", float32s, 273), numeric("_FillValue", int16Type, -1)},
			"int16 × 0.5 + 273 [-1] float32"},
		{"offset of float64", int16Type, []manifest.Attribute{numeric("scale_factor", float32s, 0.5), numeric("add_offset", float64Type, 273.15)},
			"int16 × 0.5 + 273.15 [] float64"},
		{"scale of int", int16Type, []manifest.Attribute{numeric("scale_factor", int32Type, 10)}, "int16 × 10 + 0 [] float64"},
		{"wide integers", int32Type, []manifest.Attribute{numeric("scale_factor", float32s, 0.5)}, "int32 × 0.5 + 0 [] float64"},
		{"scale without effect", int16Type, []manifest.Attribute{numeric("scale_factor", float64Type, 1)}, "int16 × 1 + 0 [] float32"},
		{"scale as text", int16Type, []manifest.Attribute{words("scale_factor", " 0.25 ")}, "int16 × 0.25 + 0 [] float64"},
		{"unsigned", int16Type, []manifest.Attribute{words("_Unsigned", "true"), numeric("_FillValue", int16Type, -1)}, "uint16 × 1 + 0 [-1] float32"},
		{"unsigned, _FillValue too", int8Type, []manifest.Attribute{words("_Unsigned", "true"), numeric("_FillValue", uint8Type, 255)}, "uint8 × 1 + 0 [-1] float32"},
		{"signed", uint8Type, []manifest.Attribute{words("_Unsigned", "false"), numeric("_FillValue", int8Type, -1)}, "int8 × 1 + 0 [255] float32"},
		{"unsigned floats", float32s, []manifest.Attribute{words("_Unsigned", "true")}, "float32 × 1 + 0 [] float32"},
		{"several masks", int16Type, []manifest.Attribute{numeric("missing_value", int16Type, -2, -1), numeric("_FillValue", int16Type, -1)},
			"int16 × 1 + 0 [-1 -2] float32"},
		{"a mask of another type", int16Type, []manifest.Attribute{numeric("missing_value", float64Type, -999)}, "int16 × 1 + 0 [-999] float32"},
		{"masks that the type cannot hold", int16Type, []manifest.Attribute{numeric("missing_value", float64Type, 1e20, 0.5, math.NaN())}, "int16 × 1 + 0 [] float32"},
		{"a mask that is rounded", float32s, []manifest.Attribute{numeric("missing_value", float64Type, 0.1)}, "float32 × 1 + 0 [0.10000000149011612] float32"},
		{"NaN", float64Type, []manifest.Attribute{numeric("_FillValue", float64Type, math.NaN())}, "float64 × 1 + 0 [NaN] float64"},
		{"a mask as text", int16Type, []manifest.Attribute{words("missing_value", "none")}, "int16 × 1 + 0 [] float32"},
		{"texts", stringType, []manifest.Attribute{words("_FillValue", "")}, "string × 1 + 0 [] float32"},
	} {
		v := &manifest.Variable{Path: "/x", Type: c.typ, Attributes: c.attributes}
		p, err := PackingOf(v)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		masks := []float64{}
		for _, m := range p.Masks {
			masks = append(masks, Float(c.typ, m))
		}
		scale, offset := p.Affine()
		if got := fmt.Sprintf("%s × %v + %v %v %s", p.Type, scale, offset+0, masks, p.FloatType()); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestPackingErrors checks that a scale or offset that is not one number is an error.
func TestPackingErrors(t *testing.T) {
	for name, a := range map[string]manifest.Attribute{
		"a list": numeric("scale_factor", float32s, 1, 2),
		"text":   {Name: "add_offset", Type: stringType, Texts: []string{"warm"}},
	} {
		if p, err := PackingOf(&manifest.Variable{Type: int16Type, Attributes: []manifest.Attribute{a}}); err == nil {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestHalf converts every binary16 to float64 and back, and checks how other numbers are rounded.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		f := HalfToFloat(uint16(h))
		if back := FloatToHalf(f); back != uint16(h) && f == f {
			t.Fatalf("%04x is %v, which is %04x", h, f, back)
		}
	}
	for want, f := range map[uint16]float64{0x3c00: 1, 0x7bff: 65519.99, 0x7c00: 65520, 0x0001: 0x1p-24, 0: 0x1p-25,
		0x3555: 1. / 3, 0x3c01: 1.0005 + 0.0005, 0x0400: 0x1p-14 - 0x1p-26} {
		if got := FloatToHalf(f); got != want {
			t.Errorf("%v: %04x, want %04x", f, got, want)
		}
	}
}

// TestNegativeZero checks that -0 keeps its sign, except where an add_offset of 0 changes it, as in xarray.
func TestNegativeZero(t *testing.T) {
	typ := codec.Type{Kind: codec.Float, Size: 8}
	element := binary.LittleEndian.AppendUint64(nil, math.Float64bits(math.Copysign(0, -1)))
	for _, c := range []struct {
		scale, offset *Number
		isNegative    bool
	}{{nil, nil, true}, {&Number{typ, 2}, nil, true}, {&Number{typ, 2}, &Number{typ, 0}, false}} {
		p := Packing{Type: typ, Scale: c.scale, Offset: c.offset}
		if got := p.Unpack(typ, element); got != 0 || math.Signbit(got) != c.isNegative {
			t.Errorf("%+v: got %g", c, got)
		}
	}
}
