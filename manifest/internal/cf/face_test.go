package cf

import (
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/zarrjson"
)

// TestVariableOf types the attributes of a face; null is no number.
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
	if list := manifest.Lookup(v.Attributes, "range"); list == nil || list.Scalar || len(list.Data) != 16 {
		t.Errorf("range %+v", list)
	}
}
