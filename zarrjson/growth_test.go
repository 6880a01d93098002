package zarrjson

import (
	"errors"
	"reflect"
	"testing"

	"varve/codec"
	"varve/grid"
)

func TestGrowthIsKept(t *testing.T) {
	for _, tt := range []struct {
		name   string
		growth []grid.Growth
		want   string // the field; "" for none
	}{
		{"defaults", []grid.Growth{grid.Repeat(), grid.Repeat()}, ""},
		{"a size", []grid.Growth{grid.RepeatSize(25), grid.Repeat()}, `{"must_understand":false,"axes":[{"policy":"repeat","size":25},null]}`},
		{"one chunk and a list", []grid.Growth{grid.OneChunk(), grid.Append()}, `{"must_understand":false,"axes":[{"policy":"one_chunk"},{"policy":"list"}]}`},
		{"a pattern", []grid.Growth{grid.Repeat(), grid.Cycle(grid.Compress(31, 28, 31, 31)...)}, `{"must_understand":false,"axes":[null,{"policy":"pattern","edges":[31,28,[31,2]]}]}`},
	} {
		a, err := ParseArray([]byte(with()))
		if err != nil {
			t.Fatal(err)
		}
		if err := a.SetGrowth(tt.growth); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		doc, err := a.Encode(Compact)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseArray(doc)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got, err := again.Growth()
		if err != nil || !reflect.DeepEqual(got, tt.growth) {
			t.Errorf("%s: got %v (%v)", tt.name, got, err)
		}
		if (len(again.Extra) > 0) != (tt.want != "") || tt.want != "" && string(again.Extra[0].JSON) != tt.want {
			t.Errorf("%s: the document has %s", tt.name, again.Extra)
		}
		// A second call replaces the field.
		if err := again.SetGrowth(make([]grid.Growth, 2)); err != nil || len(again.Extra) > 0 {
			t.Errorf("%s: %v is left (%v)", tt.name, again.Extra, err)
		}
	}
}

func TestGrowthRefuses(t *testing.T) {
	for _, tt := range []struct {
		field, path string
		want        error
	}{
		{`{"must_understand":false}`, "varve_growth.axes", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":{}}`, "varve_growth.axes", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null]}`, "varve_growth.axes", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,5]}`, "varve_growth.axes[1]", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,{}]}`, "varve_growth.axes[1].policy", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,{"policy":"double"}]}`, "varve_growth.axes[1].policy", errors.ErrUnsupported},
		{`{"must_understand":false,"axes":[null,{"policy":"repeat"}]}`, "varve_growth.axes[1].size", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,{"policy":"repeat","size":0}]}`, "varve_growth.axes[1].size", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,{"policy":"pattern","edges":[]}]}`, "varve_growth.axes[1].edges", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,{"policy":"pattern","edges":7}]}`, "varve_growth.axes[1].edges", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,{"policy":"pattern","edges":[3,[0,2]]}]}`, "varve_growth.axes[1].edges[1]", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,{"policy":"list","edges":[3]}]}`, "varve_growth.axes[1].edges", codec.ErrCorrupt},
		{`{"must_understand":false,"axes":[null,null],"more":1}`, "varve_growth.more", codec.ErrCorrupt},
	} {
		a, err := ParseArray([]byte(with()))
		if err != nil {
			t.Fatal(err)
		}
		a.Extra = []ExtraField{{"varve_growth", []byte(tt.field)}}
		_, err = a.Growth()
		var e *Error
		if !errors.Is(err, tt.want) || !errors.As(err, &e) || e.Path != tt.path {
			t.Errorf("%s: %v", tt.field, err)
		}
	}
	a, err := ParseArray([]byte(with()))
	if err != nil {
		t.Fatal(err)
	}
	for _, growth := range [][]grid.Growth{nil, {grid.Repeat()}, {grid.Repeat(), grid.RepeatSize(0)}, {grid.Cycle(), grid.Repeat()}} {
		if err := a.SetGrowth(growth); !errors.Is(err, codec.ErrCorrupt) || len(a.Extra) > 0 {
			t.Errorf("%v: %v", growth, err)
		}
	}
}
