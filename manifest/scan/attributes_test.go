package scan

import (
	"reflect"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/readers"
)

// TestNullAttributes checks that a null string of netCDF-4 is an empty string, and that a null attribute of
// another type is an empty list.
func TestNullAttributes(t *testing.T) {
	text := codec.Type{Kind: codec.String}
	for _, c := range []struct {
		name string
		typ  *readers.Type
		want manifest.Attribute
	}{
		{"text", &readers.Type{Class: readers.String, Size: 1}, manifest.Attribute{Name: "text", Type: text, Texts: []string{""}, Scalar: true}},
		{"texts", &readers.Type{Class: readers.VarLen, IsText: true, Size: 16}, manifest.Attribute{Name: "texts", Type: text, Texts: []string{}}},
		{"numbers", &readers.Type{Class: readers.Integer, Size: 2, Precision: 16, Signed: true}, manifest.Attribute{Name: "numbers", Type: codec.Type{Kind: codec.Int, Size: 2}}},
	} {
		got := attribute(&readers.Attribute{Name: c.name, Value: readers.Value{Type: c.typ, Null: true}})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
