package zarrtree

import (
	"encoding/binary"
	"math"
	"testing"

	"varve/readers"
)

// TestAttributeTypes reads numbers of float32, which JSON does not have, by a field that names them.
func TestAttributeTypes(t *testing.T) {
	const document = `{"zarr_format":3,"node_type":"group","attributes":{"scale":0.009999999776482582,"list":[1.5,-2.5],"double":0.5,"name":"a","count":3},
		"attribute_types":{"must_understand":false,"scale":"float32","list":"float32","name":"float32","count":"float32"}}`
	doc, err := parseV3([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	list := doc.typedAttributes()
	for _, tt := range []struct {
		name string
		size int
		want []float64
	}{
		{"scale", 4, []float64{float64(float32(0.01))}},
		{"list", 4, []float64{1.5, -2.5}},
		{"double", 8, []float64{0.5}},
	} {
		v := readers.Lookup(list, tt.name).Value
		if v.Type.Class != readers.Float || len(v.Data) != tt.size*len(tt.want) {
			t.Fatalf("%s: class %v with %d bytes, want floats of %d bytes", tt.name, v.Type.Class, len(v.Data), tt.size)
		}
		for i, want := range tt.want {
			if got := floatAt(v.Data, tt.size, i); got != want {
				t.Errorf("%s[%d] is %v, want %v", tt.name, i, got, want)
			}
		}
	}
	if v := readers.Lookup(list, "name").Value; len(v.Texts) != 1 || string(v.Texts[0]) != "a" {
		t.Errorf("a text with a type of numbers is %v", v)
	}
	if v := readers.Lookup(list, "count").Value; v.Type.Class != readers.Integer || len(v.Data) != 8 {
		t.Errorf("an integer with the type float32 is %v, want it unchanged", v)
	}
}

// TestNaNAttributes reads NaN with the bits that other programs write, so that it is shown as NaN.
func TestNaNAttributes(t *testing.T) {
	doc, err := parseV3([]byte(`{"zarr_format":3,"node_type":"group","attributes":{"one":NaN,"two":[1.5,NaN]}}`))
	if err != nil {
		t.Fatal(err)
	}
	list := doc.typedAttributes()
	for name, at := range map[string]int{"one": 0, "two": 8} {
		v := readers.Lookup(list, name).Value
		if got := binary.LittleEndian.Uint64(v.Data[at:]); got != 0x7ff8000000000000 {
			t.Errorf("%s is NaN with the bits %#x, want 0x7ff8000000000000", name, got)
		}
	}
}

func floatAt(data []byte, size, i int) float64 {
	var bits uint64
	for k := size - 1; k >= 0; k-- {
		bits = bits<<8 | uint64(data[size*i+k])
	}
	if size == 4 {
		return float64(math.Float32frombits(uint32(bits)))
	}
	return math.Float64frombits(bits)
}
