package store

import (
	"testing"

	"varve/codec"
)

// TestReadsParts checks that a part of a raw chunk or of a shard can be read alone, but not a part of
// a chunk that is compressed as a whole.
func TestReadsParts(t *testing.T) {
	spec := func(name, config string) codec.Spec { return codec.Spec{Name: name, Config: []byte(config)} }
	little, zstd := spec("bytes", `{"endian":"little"}`), spec("zstd", `{"level":1,"checksum":false}`)
	turned := spec("transpose", `{"order":[1,0]}`)
	shards := spec("sharding_indexed", `{"chunk_shape":[2,2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"zstd","configuration":{"level":1,"checksum":false}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`)
	form := codec.Form{Type: codec.Type{Kind: codec.Float, Size: 4}, Shape: []int64{4, 4}}
	for _, c := range []struct {
		name  string
		specs []codec.Spec
		want  bool
	}{
		{"raw", []codec.Spec{little}, true},
		{"raw, turned", []codec.Spec{turned, little}, true},
		{"shards", []codec.Spec{shards}, true},
		{"shards, turned", []codec.Spec{turned, shards}, true},
		{"compressed", []codec.Spec{little, zstd}, false},
		{"compressed shards", []codec.Spec{shards, zstd}, false},
		{"rounded", []codec.Spec{spec("numcodecs.bitround", `{"keepbits":5}`), little}, false},
	} {
		p, err := codec.New(c.specs, form)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := readsParts(p); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
