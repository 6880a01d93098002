package codec_test

import (
	"encoding/json"
	"testing"

	"varve/codec"
)

// TestPipelines checks that the cached pipeline equals that of New, for every part of
// specs and forms.
func TestPipelines(t *testing.T) {
	little, big := json.RawMessage(`{"endian":"little"}`), json.RawMessage(`{"endian":"big"}`)
	int2 := codec.Type{Kind: codec.Int, Size: 2}
	cases := []struct {
		name  string
		specs []codec.Spec
		form  codec.Form
	}{
		{"plain", []codec.Spec{{Name: "bytes", Config: little}}, codec.Form{Type: int2, Shape: []int64{4}}},
		{"config", []codec.Spec{{Name: "bytes", Config: big}}, codec.Form{Type: int2, Shape: []int64{4}}},
		{"two codecs", []codec.Spec{{Name: "bytes", Config: little}, {Name: "crc32c"}}, codec.Form{Type: int2, Shape: []int64{4}}},
		{"clip", []codec.Spec{{Name: "bytes", Config: little, Clip: true}}, codec.Form{Type: int2, Shape: []int64{4}}},
		{"type", []codec.Spec{{Name: "bytes", Config: little}}, codec.Form{Type: codec.Type{Kind: codec.Uint, Size: 2}, Shape: []int64{4}}},
		{"shape", []codec.Spec{{Name: "bytes", Config: little}}, codec.Form{Type: int2, Shape: []int64{2, 2}}},
		{"fill", []codec.Spec{{Name: "bytes", Config: little}}, codec.Form{Type: int2, Shape: []int64{4}, Fill: []byte{1, 0}}},
	}
	var known codec.Pipelines
	made := map[*codec.Pipeline]string{}
	for _, c := range cases {
		p, err := known.New(c.specs, c.form)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if other, ok := made[p]; ok {
			t.Errorf("%s has the pipeline of %s", c.name, other)
		}
		made[p] = c.name
		again, err := known.New(c.specs, c.form)
		if err != nil || again != p {
			t.Errorf("%s: the second is another (%v)", c.name, err)
		}
	}
	shape := []int64{7}
	p, err := known.New(cases[0].specs, codec.Form{Type: int2, Shape: shape})
	if shape[0] = 8; err != nil || p.Form().Shape[0] != 7 {
		t.Errorf("a shape that the caller uses again is %v in the pipeline (%v)", p.Form().Shape, err)
	}
	if _, err := known.New([]codec.Spec{{Name: "no such"}}, cases[0].form); err == nil {
		t.Error("an unknown codec is no error")
	}
}
