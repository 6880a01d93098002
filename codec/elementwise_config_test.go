package codec

import (
	"errors"
	"strings"
	"testing"
)

// elementForm returns the form of six elements of a type.
func elementForm(t testing.TB, typ string) Form {
	return Form{Type: typeNamed(t, typ), Shape: []int64{2, 3}}
}

const littleEnd = `{"name":"bytes","configuration":{"endian":"little"}}`

func TestElementwiseRefusesConfigurations(t *testing.T) {
	for _, tt := range []struct{ typ, name, config string }{
		{"int32", "numcodecs.delta", `{}`},
		{"int32", "numcodecs.delta", `{"dtype":"<i2"}`},
		{"int32", "numcodecs.delta", `{"dtype":"<x4"}`},
		{"int32", "numcodecs.delta", `{"dtype":">i4"}`},
		{"int32", "numcodecs.delta", `{"dtype":">i4","astype":null}`},
		{"float32", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":1,"dtype":">f4"}`},
		{"float32", "numcodecs.quantize", `{"digits":1,"dtype":">f4"}`},
		{"float32", "numcodecs.quantize", `{"digits":1,"dtype":"<f4","astype":">f4"}`},
		{"int32", "numcodecs.delta", `{"dtype":4}`},
		{"int32", "numcodecs.delta", `{"dtype":"<i4","astype":"|b1"}`},
		{"int32", "numcodecs.delta", `{"dtype":"<i4","order":"C"}`},
		{"int32", "numcodecs.fixedscaleoffset", `{"offset":0,"dtype":"<i4"}`},
		{"int32", "numcodecs.fixedscaleoffset", `{"scale":1}`},
		{"int32", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":0}`},
		{"int32", "numcodecs.fixedscaleoffset", `{"offset":"0","scale":1}`},
		{"int32", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":1,"dtype":"<f4"}`},
		{"bool", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":1}`},
		{"float32", "numcodecs.quantize", `{}`},
		{"float32", "numcodecs.quantize", `{"digits":301}`},
		{"float32", "numcodecs.quantize", `{"digits":1.5}`},
		{"float32", "numcodecs.bitround", `{}`},
		{"float32", "numcodecs.bitround", `{"keepbits":24}`},
		{"float64", "numcodecs.astype", `{"decode_dtype":"<f8"}`},
		{"float64", "numcodecs.astype", `{"encode_dtype":"<f4","decode_dtype":"<f4"}`},
		{"bool", "numcodecs.packbits", `{"padding_encoding":"none"}`},
		{"int16", "scale_offset", `{"offset":5.5}`},
		{"int8", "scale_offset", `{"offset":300}`},
		{"float32", "scale_offset", `{"scale":-0.0}`},
		{"float32", "scale_offset", `{"scale":true}`},
		{"float32", "scale_offset", `{"ofset":1}`},
		{"uint8", "scale_offset", `{"offset":1}`},
		{"float32", "cast_value", `{}`},
		{"float32", "cast_value", `{"data_type":"bool"}`},
		{"float32", "cast_value", `{"data_type":"int8","rounding":"up"}`},
		{"float32", "cast_value", `{"data_type":"int8","out_of_range":"error"}`},
		{"float64", "cast_value", `{"data_type":"float32","out_of_range":"wrap"}`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":[1]}`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"both":[]}}`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"encode":[["NaN"]]}}`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"encode":[["NaN",300]]}}`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"decode":[["NaN",0]]}}`},
		{"float32", "cast_value", `{"data_type":"int8","scalar_map":{"decode":[` + strings.Repeat("[1,1],", 256) + `[1,1]]}}`},
	} {
		_, err := New(specs(t, `[{"name":"`+tt.name+`","configuration":`+tt.config+`},`+littleEnd+`]`), elementForm(t, tt.typ))
		if err == nil || !strings.Contains(err.Error(), `codec "`+tt.name+`": `) {
			t.Errorf("%s of %s with %s: error is %v, want it to name the codec", tt.name, tt.typ, tt.config, err)
		}
		checkMessage(t, tt.typ+" "+tt.name+" "+abbreviate([]byte(tt.config)), err)
	}
}

// TestElementwiseRefusesTypes checks that each codec refuses other types of elements.
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

// TestElementwiseRefusesElements encodes elements that the stored type cannot hold. NumPy
// stores other values in all cases except one.
func TestElementwiseRefusesElements(t *testing.T) {
	for _, tt := range []struct{ typ, name, config, elements string }{
		{"int16", "numcodecs.delta", `{"dtype":"<i2","astype":"|i1"}`, "0100 0200 0003"},
		{"int16", "numcodecs.delta", `{"dtype":"<i2","astype":"|u1"}`, "ffff"},
		{"float32", "numcodecs.delta", `{"dtype":"<f4","astype":"|i1"}`, "00000000 00007a44"},
		{"int8", "numcodecs.delta", `{"dtype":"|i1","astype":"<u8"}`, "00"},
		{"float64", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":10,"astype":"|u1"}`, "000000000000f03f 0000000000003a40"},
		{"float64", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":10,"astype":"<i2"}`, "000000000000f87f"},
		{"float32", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":10}`, "ffff7f7f"},
		{"uint8", "numcodecs.fixedscaleoffset", `{"offset":5,"scale":1}`, "0504"},
		{"uint8", "numcodecs.fixedscaleoffset", `{"offset":5,"scale":0.5}`, "0501"},
		{"int16", "numcodecs.fixedscaleoffset", `{"offset":0,"scale":2,"astype":"|i1"}`, "3f00 4000"},
		{"float16", "numcodecs.quantize", `{"digits":3}`, "0054"},
		{"float64", "numcodecs.quantize", `{"digits":1,"astype":"<f2"}`, "0000000000006940 00000000d012f340"},
		{"float64", "numcodecs.astype", `{"encode_dtype":"<f4"}`, "9c7500883ce4377e"},
		{"int64", "numcodecs.astype", `{"encode_dtype":"<u4"}`, "ffffffff00000000 ffffffffffffffff"},
		{"uint64", "numcodecs.astype", `{"encode_dtype":"<i8"}`, "0000000000000080"},
		{"int8", "numcodecs.astype", `{"encode_dtype":"|b1"}`, "000102"},
		{"int16", "scale_offset", `{"scale":2}`, "0040"},
		{"float32", "scale_offset", `{"scale":2}`, "ffff7f7f"},
		{"float64", "cast_value", `{"data_type":"int16"}`, "0000000000000000 000000000000f87f"},
		{"float64", "cast_value", `{"data_type":"int8"}`, "0000000000006040"},
		{"float64", "cast_value", `{"data_type":"float32"}`, "9c7500883ce4377e"},
	} {
		form := elementForm(t, tt.typ)
		elements := unhex(t, tt.elements)
		form.Shape = []int64{int64(len(elements) / form.Type.Size)}
		p := mustNew(t, `[{"name":"`+tt.name+`","configuration":`+tt.config+`},`+littleEnd+`]`, form)
		_, err := p.Encode(nil, Elems{Fixed: elements})
		if err == nil || errors.Is(err, ErrCorrupt) {
			t.Errorf("%s of %s with %s: error is %v, want one that is not ErrCorrupt", tt.name, tt.typ, tt.config, err)
		}
		checkMessage(t, tt.typ+" "+tt.name+" "+tt.config+" "+tt.elements, err)
	}
}

// TestElementwiseRefusesStored decodes bytes that no encoder writes.
func TestElementwiseRefusesStored(t *testing.T) {
	for _, tt := range []struct{ typ, name, config, stored string }{
		{"int16", "scale_offset", `{"scale":2}`, "0400 0300"},
		{"uint8", "cast_value", `{"data_type":"int16"}`, "0000 0001"},
		{"int8", "cast_value", `{"data_type":"float32"}`, "0000c07f"},
	} {
		form := elementForm(t, tt.typ)
		stored := unhex(t, tt.stored)
		form.Shape = []int64{int64(strings.Count(tt.stored, " ") + 1)}
		p := mustNew(t, `[{"name":"`+tt.name+`","configuration":`+tt.config+`},`+littleEnd+`]`, form)
		err := p.Decode(NewElems(p.Form()), stored)
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s of %s with %s: error is %v, want ErrCorrupt", tt.name, tt.typ, tt.config, err)
		}
		checkMessage(t, tt.typ+" "+tt.name+" "+tt.config, err)
	}
}
