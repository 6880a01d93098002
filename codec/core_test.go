package codec

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// TestCoreCodecs checks which codecs are kept, that chunks of kept codecs are valid for the returned ones, and that the
// returned codecs store elements exactly and are in the core specification.
func TestCoreCodecs(t *testing.T) {
	const le, be = `{"name":"bytes","configuration":{"endian":"little"}}`, `{"name":"bytes","configuration":{"endian":"big"}}`
	const shuffle = `{"name":"numcodecs.shuffle","configuration":{"elementsize":4}}`
	const zlib = `{"name":"numcodecs.zlib","configuration":{"level":4}}`
	const crc = `{"name":"crc32c"}`
	shards := func(inner string) string {
		return `[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,3],"codecs":[` + inner + `],"index_codecs":[` + le + `,` + crc + `],"index_location":"start"}}]`
	}
	float := Type{Kind: Float, Size: 4}
	tests := []struct {
		name, specs string
		compressor  Compressor
		same        bool
		want        string // names of the codecs
	}{
		{"netCDF-4", `[` + le + `,` + shuffle + `,` + zlib + `]`, "", false, "bytes zstd"},
		{"netCDF-4 to gzip", `[` + le + `,` + shuffle + `,` + zlib + `]`, GzipCompressor, false, "bytes gzip"},
		{"netCDF-4 to blosc", `[` + le + `,` + shuffle + `,` + zlib + `]`, BloscCompressor, false, "bytes blosc"},
		{"raw", `[` + be + `]`, "", true, "bytes"},
		{"raw stays raw", `[` + be + `]`, NoCompressor, true, "bytes"},
		{"raw to zstd", `[` + be + `]`, ZstdCompressor, false, "bytes zstd"},
		{"transposed", `[{"name":"transpose","configuration":{"order":[1,0]}},` + le + `,{"name":"zstd","configuration":{"level":1,"checksum":false}},` + crc + `]`, ZstdCompressor, true, "transpose bytes zstd crc32c"},
		{"zstd of numcodecs", `[` + le + `,{"name":"numcodecs.zstd","configuration":{"level":7}}]`, "", true, "bytes zstd"},
		{"gzip of numcodecs", `[` + le + `,{"name":"numcodecs.gzip"}]`, "", true, "bytes gzip"},
		{"blosc of numcodecs", `[` + le + `,{"name":"numcodecs.blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}}]`, "", true, "bytes blosc"},
		{"snappy, which is not encoded", `[` + le + `,{"name":"numcodecs.blosc","configuration":{"cname":"snappy"}}]`, ZstdCompressor, false, "bytes zstd"},
		{"lossy", `[{"name":"numcodecs.bitround","configuration":{"keepbits":3}},` + le + `]`, "", false, "bytes zstd"},
		{"two compressors", `[` + le + `,{"name":"gzip","configuration":{"level":1}},{"name":"zstd","configuration":{"level":1,"checksum":false}}]`, ZstdCompressor, false, "bytes zstd"},
		{"shards", shards(le + `,{"name":"gzip","configuration":{"level":1}}`), "", true, "sharding_indexed"},
		{"shards of shuffled chunks", shards(le + `,` + shuffle + `,` + zlib), "", false, "sharding_indexed"},
		{"shards with another compressor", shards(le + `,{"name":"gzip","configuration":{"level":1}}`), BloscCompressor, false, "sharding_indexed"},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var specs []Spec
			if err := json.Unmarshal([]byte(test.specs), &specs); err != nil {
				t.Fatal(err)
			}
			form := Form{Type: float, Shape: []int64{4, 6}, Fill: make([]byte, 4)}
			codecs, same, err := CoreCodecs(specs, form, test.compressor)
			if err != nil {
				t.Fatal(err)
			}
			var names []byte
			for _, s := range codecs {
				names = append(append(names, s.Name...), ' ')
			}
			if got := string(bytes.TrimSpace(names)); got != test.want || same != test.same || len(Extensions(codecs)) > 0 {
				t.Errorf("got %s, same %v, extensions %v; want %s, same %v", got, same, Extensions(codecs), test.want, test.same)
			}
			p, err := New(codecs, form)
			if err != nil {
				t.Fatal(err)
			}
			elems, back := NewElems(form), NewElems(form)
			for i := range elems.Fixed {
				elems.Fixed[i] = byte(rng.Uint32())
			}
			stored, err := p.Encode(nil, elems)
			if same {
				var from *Pipeline
				if from, err = New(specs, form); err == nil {
					stored, err = from.Encode(nil, elems)
				}
			}
			if err == nil {
				err = p.Decode(back, stored)
			}
			if err != nil || !bytes.Equal(elems.Fixed, back.Fixed) {
				t.Errorf("the elements changed: %v", err)
			}
		})
	}
}

// TestCoreTypes checks which types need an extension, and that elements of varying length keep their codec.
func TestCoreTypes(t *testing.T) {
	for _, test := range []struct {
		t    Type
		core bool
		want string
	}{
		{Type{Kind: Bool, Size: 1}, true, "bytes"},
		{Type{Kind: Complex, Size: 16}, true, "bytes"},
		{Type{Kind: Raw, Size: 3}, true, "bytes"},
		{Type{Kind: FixedBytes, Size: 3}, false, "bytes"},
		{Type{Kind: DateTime, Size: 8, Unit: "s", Ticks: 1}, false, "bytes"},
		{Type{Kind: String}, false, "vlen-utf8"},
		{Type{Kind: Bytes}, false, "vlen-bytes"},
	} {
		form := Form{Type: test.t, Shape: []int64{2}}
		codecs, _, err := CoreCodecs(DefaultCodecs(test.t), form, BloscCompressor)
		if err != nil || test.t.IsCore() != test.core || codecs[0].Name != test.want || codecs[len(codecs)-1].Name != "blosc" {
			t.Errorf("%v: core %v, codecs %v, %v", test.t, test.t.IsCore(), codecs, err)
		}
		if _, err := New(codecs, form); err != nil {
			t.Errorf("%v: %v", test.t, err)
		}
	}
}
