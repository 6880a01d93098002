package zarrjson

import (
	"strings"
	"testing"

	"varve/codec"
)

// TestClippedShards writes the version of sharding to the document, and reads it again.
func TestClippedShards(t *testing.T) {
	const doc = `{"shape":[10],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[5]}},` +
		`"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[3],` +
		`"codecs":[{"name":"bytes"}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}],"zarr_format":3,"node_type":"array"}`
	a, err := ParseArray([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if encoded, err := a.Encode(Compact); err != nil || strings.Contains(string(encoded), clipField) {
		t.Errorf("version 1.0: %v, %s", err, encoded)
	}
	if _, err := codec.New(a.Codecs, a.Form([]int64{5})); err == nil {
		t.Error("version 1.0 takes inner chunks of 3 in 5")
	}
	a.Codecs = codec.WithClipping(a.Codecs)
	for _, layout := range []Layout{Compact, Indented} {
		encoded, err := a.Encode(layout)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseArray(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if len(again.Extra) > 0 || !codec.HasClipping(again.Codecs) {
			t.Errorf("from %s: %v, clips: %t", encoded, again.Extra, codec.HasClipping(again.Codecs))
		}
		if _, err := codec.New(again.Codecs, again.Form([]int64{5})); err != nil {
			t.Error(err)
		}
	}
	for _, field := range []string{`true`, `{}`, `{"must_understand":true}`} {
		wrong := strings.Replace(doc, `{"shape"`, `{"`+clipField+`":`+field+`,"shape"`, 1)
		if _, err := ParseArray([]byte(wrong)); err == nil {
			t.Errorf("%s: no error", field)
		}
	}
}
