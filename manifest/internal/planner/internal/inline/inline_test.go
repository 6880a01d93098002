package inline

import (
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest"
	"varve/manifest/internal/convert"
	"varve/zarrjson"
)

// TestCopyTo: parts of variables are transposed, repeated along dimensions that they lack, and put in their places. The
// rest has the fill value.
func TestCopyTo(t *testing.T) {
	small := codec.Type{Kind: codec.Int, Size: 1}
	kind, err := zarrjson.ParseDataType([]byte(`"int8"`))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		shape []int64 // of the variable
		data  []byte
		to    Target
		want  []byte
	}{
		"a part":     {[]int64{1, 3}, []byte{1, 2, 3}, Target{Origin: []int64{1, 0}, Start: []int64{0, 1}, Shape: []int64{1, 2}}, []byte{9, 9, 9, 2, 3, 9}},
		"transposed": {[]int64{3, 2}, []byte{1, 4, 2, 5, 3, 6}, Target{Order: []int{1, 0}, Origin: []int64{0, 0}, Start: []int64{0, 0}, Shape: []int64{2, 3}}, []byte{1, 2, 3, 4, 5, 6}},
		"repeated":   {[]int64{3}, []byte{1, 2, 3}, Target{Origin: []int64{0, 0}, Start: []int64{0, 0}, Shape: []int64{2, 3}}, []byte{1, 2, 3, 1, 2, 3}},
	} {
		schema := &zarrjson.Array{Shape: []int64{2, 3}, DataType: kind, Fill: []byte{9}}
		v := &manifest.Variable{Path: "/x", Type: small, Shape: c.shape}
		conversion, err := convert.New(v, schema, manifest.AsStored)
		if err != nil {
			t.Fatal(err)
		}
		e := New(schema)
		c.to.Source = c.shape
		if err := e.CopyTo(conversion, v, &manifest.Values{Data: c.data}, c.to); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if pieces := e.Pieces(); len(pieces) != 1 || !slices.Equal(pieces[0].Values.Data, c.want) {
			t.Errorf("%s: %v, want %v", name, pieces[0].Values.Data, c.want)
		}
		if err := e.CopyTo(conversion, v, &manifest.Values{Data: c.data[1:]}, c.to); err == nil {
			t.Errorf("%s: too few values are no error", name)
		}
	}
}
