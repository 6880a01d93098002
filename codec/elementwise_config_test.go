package codec

import (
	"errors"
	"strings"
	"testing"
)

// elementForm returns the form of a few elements of a type.
func elementForm(t testing.TB, typ string) Form {
	return Form{Type: typeNamed(t, typ), Shape: []int64{2, 3}}
}

const littleEnd = `{"name":"bytes","configuration":{"endian":"little"}}`

func TestElementwiseRefusesConfigurations(t *testing.T) {
	for _, tt := range []struct{ typ, name, config, says string }{
		{"int32", "numcodecs.delta", `{}`, `dtype: missing; want a type string such as "<f4"`},
		{"int32", "numcodecs.delta", `{"dtype":"<i2"}`, "dtype: int16 has 2 bytes, an element of int32 has 4"},
		{"int32", "numcodecs.delta", `{"dtype":"<x4"}`, `dtype: "<x4" is not one of bool, int8`},
		{"int32", "numcodecs.delta", `{"dtype":">i4"}`, `dtype: ">i4" turns the bytes of elements that "bytes" has put in order; spell it "<i4"`},
		{"int32", "numcodecs.delta", `{"dtype":">i4","astype":null}`, `dtype: ">i4" turns the bytes`},
		{"float32", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":1,"dtype":">f4"}`, `dtype: ">f4" turns the bytes`},
		{"float32", "numcodecs.quantize", `{"digits":1,"dtype":">f4"}`, `dtype: ">f4" turns the bytes`},
		{"float32", "numcodecs.quantize", `{"digits":1,"dtype":"<f4","astype":">f4"}`, `astype: ">f4" turns the bytes`},
		{"int32", "numcodecs.delta", `{"dtype":4}`, "dtype: 4 is not a string"},
		{"int32", "numcodecs.delta", `{"dtype":"<i4","astype":"|b1"}`, "astype: bool is not a type to calculate with"},
		{"int32", "numcodecs.delta", `{"dtype":"<i4","order":"C"}`, "order: unknown configuration"},
		{"int32", "numcodecs.fixedscaleoffset", `{"offset":0,"dtype":"<i4"}`, "scale: missing; want a number"},
		{"int32", "numcodecs.fixedscaleoffset", `{"scale":1}`, "offset: missing; want a number"},
		{"int32", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":0}`, "scale: 0 cannot be divided by"},
		{"int32", "numcodecs.fixedscaleoffset", `{"offset":"0","scale":1}`, `offset: "0" is not a number`},
		{"int32", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":1,"dtype":"<f4"}`, "dtype: float32 is not the type of the elements, int32"},
		{"bool", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":1}`, "dtype: bool is not a type to calculate with"},
		{"float32", "numcodecs.quantize", `{}`, "digits: missing; want an integer from -300 to 300"},
		{"float32", "numcodecs.quantize", `{"digits":301}`, "digits: 301 is not an integer from -300 to 300"},
		{"float32", "numcodecs.quantize", `{"digits":1.5}`, "digits: 1.5 is not an integer"},
		{"float32", "numcodecs.bitround", `{}`, "keepbits: missing; want an integer from 0 to 23"},
		{"float32", "numcodecs.bitround", `{"keepbits":24}`, "keepbits: 24 is not an integer from 0 to 23"},
		{"float64", "numcodecs.astype", `{"decode_dtype":"<f8"}`, "encode_dtype: missing"},
		{"float64", "numcodecs.astype", `{"encode_dtype":"<f4","decode_dtype":"<f4"}`, "decode_dtype: float32 is not the type of the elements, float64"},
		{"bool", "numcodecs.packbits", `{"padding_encoding":"none"}`, "padding_encoding: unknown configuration"},
		{"int16", "scale_offset", `{"offset":5.5}`, "offset: 5.5 is not a value of int16: it is not an integer"},
		{"int8", "scale_offset", `{"offset":300}`, "offset: 300 is not a value of int8: int8 holds integers from -128 to 127"},
		{"float32", "scale_offset", `{"scale":-0.0}`, "scale: 0 cannot be divided by"},
		{"float32", "scale_offset", `{"scale":true}`, "scale: true is not a value of float32: it is not a number"},
		{"float32", "scale_offset", `{"ofset":1}`, "ofset: unknown configuration"},
		{"uint8", "scale_offset", `{"offset":1}`, "fill value: element 0 is 0; what it is encoded as fits only for uint8 from 1 to 255"},
		{"float32", "cast_value", `{}`, "data_type: nothing is not one of int8 … int64"},
		{"float32", "cast_value", `{"data_type":"bool"}`, `data_type: "bool" is not one of int8 … int64`},
		{"float32", "cast_value", `{"data_type":"int8","rounding":"up"}`, `rounding: "up" is not one of nearest-even, towards-zero`},
		{"float32", "cast_value", `{"data_type":"int8","out_of_range":"error"}`, `out_of_range: "error" is not one of clamp, wrap`},
		{"float64", "cast_value", `{"data_type":"float32","out_of_range":"wrap"}`, `out_of_range: "wrap" is for integers, and data_type is float32`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":[1]}`, `scalar_map: [1] is not an object`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"both":[]}}`, `scalar_map.both: unknown configuration; want "encode" or "decode"`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"encode":[["NaN"]]}}`, "scalar_map.encode: entry 0 has 1 values; want 2"},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"encode":[["NaN",300]]}}`, "scalar_map.encode: 300 is not a value of int8"},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"decode":[["NaN",0]]}}`, `scalar_map.decode: "NaN" is not a value of int8`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"decode":[` + strings.Repeat("[1,1],", 256) + `[1,1]]}}`, "scalar_map.decode: 257 pairs are more than 256"},
	} {
		_, err := New(specs(t, `[{"name":"`+tt.name+`","configuration":`+tt.config+`},`+littleEnd+`]`), elementForm(t, tt.typ))
		if err == nil || !strings.Contains(err.Error(), `codec "`+tt.name+`": `+tt.says) {
			t.Errorf("%s of %s with %s: error is %v, want it to say %q", tt.name, tt.typ, tt.config, err, tt.says)
		}
	}
}

// TestElementwiseRefusesTypes has every codec refuse elements that it is not for.
func TestElementwiseRefusesTypes(t *testing.T) {
	for _, tt := range []struct {
		name, config string
		typ          Type
	}{
		{"numcodecs.fixedscaleoffset", `{"offset":0,"scale":1}`, Type{Kind: Complex, Size: 8}},
		{"numcodecs.quantize", `{"digits":1}`, Type{Kind: Int, Size: 4}},
		{"numcodecs.bitround", `{"keepbits":1}`, Type{Kind: Int, Size: 4}},
		{"numcodecs.bitround", `{"keepbits":1}`, Type{Kind: Raw, Size: 4}},
		{"numcodecs.astype", `{"encode_dtype":"<f4"}`, Type{Kind: FixedBytes, Size: 4}},
		{"numcodecs.packbits", `{}`, Type{Kind: Uint, Size: 1}},
		{"scale_offset", `{}`, Type{Kind: Bool, Size: 1}},
		{"scale_offset", `{}`, Type{Kind: DateTime, Size: 8, Unit: "s", Ticks: 1}},
		{"cast_value", `{"data_type":"int8"}`, Type{Kind: Bool, Size: 1}},
		{"cast_value", `{"data_type":"int8"}`, Type{Kind: String}},
	} {
		_, err := New(specs(t, `[{"name":"`+tt.name+`","configuration":`+tt.config+`},`+littleEnd+`]`), Form{Type: tt.typ, Shape: []int64{4}})
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), `codec "`+tt.name+`"`) {
			t.Errorf("%s of %v: error is %v, want it marked as unsupported", tt.name, tt.typ, err)
		}
	}
}

// TestElementwiseRefusesElements encodes what the encoded type has no place for. NumPy
// would wrap around, all but once.
func TestElementwiseRefusesElements(t *testing.T) {
	for _, tt := range []struct{ typ, name, config, elements, says string }{
		{"int16", "numcodecs.delta", `{"dtype":"<i2","astype":"|i1"}`, "0100 0200 0003", "element 2 differs from the one before by more than int8 holds; store the differences as int16"},
		{"int16", "numcodecs.delta", `{"dtype":"<i2","astype":"|u1"}`, "ffff", "element 0 differs"},
		{"float32", "numcodecs.delta", `{"dtype":"<f4","astype":"|i1"}`, "00000000 00007a44", "element 1 becomes 1000, which int8, from -128 to 127, does not hold"},
		{"int8", "numcodecs.delta", `{"dtype":"|i1","astype":"<u8"}`, "00", "numcodecs adds int8 and uint64 as float64"},
		{"float64", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":10,"astype":"|u1"}`, "000000000000f03f 0000000000003a40", "element 1 becomes 260, which uint8, from 0 to 255, does not hold"},
		{"float64", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":10,"astype":"<i2"}`, "000000000000f87f", "element 0 becomes NaN, which int16"},
		{"float32", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":10}`, "ffff7f7f", "element 0 becomes +Inf, which float32"},
		{"uint8", "numcodecs.fixedscaleoffset", `{"offset":5,"scale":1}`, "0504", "element 1 is 4; what it is encoded as fits only for uint8 from 5 to 255"},
		{"uint8", "numcodecs.fixedscaleoffset", `{"offset":5,"scale":0.5}`, "0501", "element 1 becomes -2, which uint8"},
		{"int16", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":2,"astype":"|i1"}`, "3f00 4000", "element 1 becomes 128, which int8"},
		{"float16", "numcodecs.quantize", `{"digits":3}`, "0054", "10 bits behind the point: element 0 becomes +Inf, which float16"},
		{"float64", "numcodecs.quantize", `{"digits":1,"astype":"<f2"}`, "0000000000006940 00000000d012f340", "element 1 becomes 78125, which float16, from -65504 to 65504, does not hold"},
		{"float64", "numcodecs.astype", `{"encode_dtype":"<f4"}`, "9c7500883ce4377e", "element 0 becomes 1e+300, which float32"},
		{"int64", "numcodecs.astype", `{"encode_dtype":"<u4"}`, "ffffffff00000000 ffffffffffffffff", "element 1 becomes -1, which uint32, from 0 to 4294967295, does not hold"},
		{"uint64", "numcodecs.astype", `{"encode_dtype":"<i8"}`, "0000000000000080", "element 0 becomes 9223372036854775808, which int64"},
		{"int8", "numcodecs.astype", `{"encode_dtype":"|b1"}`, "000102", "element 2 becomes 2, which bool, from 0 to 1, does not hold"},
		{"int16", "scale_offset", `{"scale":2}`, "0040", "element 0 is 16384; what it is encoded as fits only for int16 from -16384 to 16383"},
		{"float32", "scale_offset", `{"scale":2}`, "ffff7f7f", "element 0 becomes +Inf, which float32"},
		{"float64", "cast_value", `{"data_type":"int16"}`, "0000000000000000 000000000000f87f", "element 1 is NaN, which int16 has no value for; name one in scalar_map"},
		{"float64", "cast_value", `{"data_type":"int8"}`, "0000000000006040", `element 0 is 128, which is out of the range of int8, -128 to 127; out_of_range may be "clamp"`},
		{"float64", "cast_value", `{"data_type":"float32"}`, "9c7500883ce4377e", "element 0 becomes 1e+300, which float32"},
	} {
		form := elementForm(t, tt.typ)
		elements := unhex(t, tt.elements)
		form.Shape = []int64{int64(len(elements) / form.Type.Size)}
		p := mustNew(t, `[{"name":"`+tt.name+`","configuration":`+tt.config+`},`+littleEnd+`]`, form)
		_, err := p.Encode(nil, Elems{Fixed: elements})
		if err == nil || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s of %s with %s: error is %v, want it to say %q", tt.name, tt.typ, tt.config, err, tt.says)
		}
	}
}

// TestElementwiseRefusesStored decodes what no encoder makes.
func TestElementwiseRefusesStored(t *testing.T) {
	for _, tt := range []struct{ typ, name, config, stored, says string }{
		{"int16", "scale_offset", `{"scale":2}`, "0400 0300", "element 1 is 3, which the scale 2 does not divide"},
		{"uint8", "cast_value", `{"data_type":"int16"}`, "0000 0001", "element 1 is 256, which is out of the range of uint8"},
		{"int8", "cast_value", `{"data_type":"float32"}`, "0000c07f", "element 0 is NaN, which int8 has no value for"},
	} {
		form := elementForm(t, tt.typ)
		stored := unhex(t, tt.stored)
		form.Shape = []int64{int64(strings.Count(tt.stored, " ") + 1)}
		p := mustNew(t, `[{"name":"`+tt.name+`","configuration":`+tt.config+`},`+littleEnd+`]`, form)
		err := p.Decode(NewElems(p.Form()), stored)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s of %s with %s: error is %v, want it to say %q", tt.name, tt.typ, tt.config, err, tt.says)
		}
	}
}
