package cf

import (
	"fmt"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/zarrjson"
)

// TestVariableOf checks the typed attributes of a schema. null is not a number.
func TestVariableOf(t *testing.T) {
	attributes, err := zarrjson.ParseAttributes([]byte(`{"units":"K","scale_factor":0.5,"range":[1,2],"nothing":null,"object":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	typ, err := zarrjson.DataTypeOf(codec.Type{Kind: codec.Int, Size: 2})
	if err != nil {
		t.Fatal(err)
	}
	v := VariableOf("/x", &zarrjson.Array{Shape: []int64{3}, DataType: typ, Attributes: attributes})
	if v.Path != "/x" || len(v.Attributes) != 3 {
		t.Fatalf("%+v", v)
	}
	if units, ok := Text(v.Attributes, "units"); !ok || units != "K" {
		t.Errorf("units %q", units)
	}
	p, err := PackingOf(v)
	if scale, _ := p.Affine(); err != nil || scale != 0.5 {
		t.Errorf("scale %v, %v", scale, err)
	}
	for text, want := range map[string]string{
		`-9223372036854775807`:      "int64 0100000000000080",
		`[1,18446744073709551615]`:  "uint64 0100000000000000ffffffffffffffff",
		`[1,0.5]`:                   "float64 000000000000f03f000000000000e03f",
		`[-1,18446744073709551615]`: "float64 000000000000f0bf000000000000f043",
		`null`:                      "none",
		`[1,null]`:                  "none",
		`["1"]`:                     "none",
		`{}`:                        "none",
		`1e999`:                     "none",
	} {
		attributes, err := zarrjson.ParseAttributes([]byte(`{"missing_value":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		v := VariableOf("/x", &zarrjson.Array{DataType: typ, Attributes: attributes})
		if a := manifest.Lookup(v.Attributes, MissingValue); a != nil {
			got = fmt.Sprintf("%v %x", a.Type, a.Data)
		}
		if left, _ := attributes.Get(MissingValue); string(left) != text {
			t.Errorf("missing_value %s became %s", text, left)
		}
		if got != want {
			t.Errorf("missing_value %s: got %s, want %s", text, got, want)
		}
	}
	if list := manifest.Lookup(v.Attributes, "range"); list == nil || list.Scalar || len(list.Data) != 16 {
		t.Errorf("range %+v", list)
	}
}
