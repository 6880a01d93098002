package netcdffile

import (
	"math"
	"path/filepath"
	"testing"

	source "varve/fixtures/classic"
)

// TestNotFinite checks that attributes of infinities are numbers in the file, and lists of texts are texts: varve reads the file as it
// read the source.
func TestNotFinite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.nc")
	f := source.File{Dims: []source.Dim{{Name: "x", Length: 2}}, Vars: []source.Var{{Name: "v", Dims: []string{"x"}, Data: []float64{1, 2}, Attributes: []source.Attribute{
		{Name: "valid_range", Value: []float64{math.Inf(-1), math.Inf(1)}}, {Name: "limit", Value: []float64{math.Inf(1)}}, {Name: "text", Value: "Infinity"}}}}}
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	st, err := built(t, name)
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := write(t, st, &Options{}, name)
	again, err := built(t, filepath.Join(dir, "virtual.nc"))
	if err != nil {
		t.Fatal(err)
	}
	v, err := again.Array("/v")
	if err != nil {
		t.Fatal(err)
	}
	types := v.Spec().AttributeTypes
	if len(types) != 2 || types["valid_range"] != "float64" || types["limit"] != "float64" {
		t.Errorf("the types of attributes are %v", types)
	}
	if value, _ := v.Schema().Attributes.Get("valid_range"); string(value) != `["-Infinity","Infinity"]` {
		t.Errorf("valid_range is %s", value)
	}
}
