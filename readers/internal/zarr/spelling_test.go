package zarr

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"testing"

	"varve/readers"
)

// TestSpelling: GDAL 3.12 writes the same metadata in another spelling.
func TestSpelling(t *testing.T) {
	const (
		array = `{"zarr_format":2,"shape":[4],"dtype":"|u1","chunks":[4],"fill_value":7,"order":"C","filters":null,"compressor":`
		zstd  = "28b52ffd200421000003050709"
		delta = "fd377a585a000000ff12d94102010301002101167920c4ee01000303020202000001140467a6450906729e7a010000000000595a" // .xz, with a delta in front
	)
	for compressor, chunk := range map[string]string{
		`{"id":"zstd","level":13,"checksum":"NO"}`: zstd, `{"id":"zstd","level":13,"checksum":"YES"}`: zstd,
		`{"id":"lzma","preset":6,"delta":1}`: delta,
	} {
		stored, err := hex.DecodeString(chunk)
		if err != nil {
			t.Fatal(err)
		}
		v := mustOpen(t, map[string]string{".zgroup": `{"zarr_format":2}`, "v/.zarray": array + compressor + "}", "v/0": string(stored)}).Root.Variables[0]
		if got, err := v.ReadAll(t.Context(), 1<<20); err != nil || v.Storage.Undecodable != nil || !bytes.Equal(got.Data, []byte{3, 5, 7, 9}) {
			t.Errorf("%s: %v: %v, %v", compressor, got.Data, err, v.Storage.Undecodable)
		}
	}
}

// TestFillNull: in format 3 GDAL writes null if no value means missing data, and reads zeros
// for missing chunks. It writes NaN as others do.
func TestFillNull(t *testing.T) {
	for of, size := range map[string]int{`"uint8"`: 1, `"int16"`: 2, `"complex64"`: 8} {
		v := mustOpen(t, map[string]string{"zarr.json": group3, "v/zarr.json": array3("data_type", of, "fill_value", "null",
			"codecs", `[{"name":"bytes","configuration":{"endian":"little"}}]`)}).Root.Variables[0]
		got, err := v.ReadAll(t.Context(), 1<<20)
		if err != nil || v.Fill.State != readers.FillDefault || !bytes.Equal(got.Data, make([]byte, 4*size)) {
			t.Errorf("%s: %v with fill %v: %v", of, got.Data, v.Fill, err)
		}
	}
	d := mustOpen(t, map[string]string{"zarr.json": group3, "v/zarr.json": array3("fill_value", "null", "data_type", `"of its own"`)})
	if len(d.Root.Variables)+len(d.Problems) == 0 {
		t.Error("an array of an unknown type is not listed")
	}
}

// TestSpellingOfCodecs: codecs in the spelling of WebKnossos, zarrita and drafts of format 3 are
// passed on in the spelling of zarr-python.
func TestSpellingOfCodecs(t *testing.T) {
	const (
		chunk  = "\x01\x00\x02\x00\x03\x00\x04\x00\x05\x00\x06\x00" // of int16
		turned = "\x01\x00\x03\x00\x05\x00\x02\x00\x04\x00\x06\x00" // the same, its first axis the fastest
		little = `{"name":"bytes","configuration":{"endian":"little"}}`
	)
	for codecs, c := range map[string]struct{ chunk, specs string }{
		`[]`:        {chunk, `[` + little + `]`},
		`["bytes"]`: {chunk, `[` + little + `]`},
		`[{"name":"endian","configuration":{"endian":"little"}}]`:               {chunk, `[` + little + `]`},
		`[{"name":"transpose","configuration":{"order":"F"}},{"name":"bytes"}]`: {turned, `[{"name":"transpose","configuration":{"order":[1,0]}},` + little + `]`},
		`[{"name":"transpose","configuration":{"order":"C"}},` + little + `]`:   {chunk, `[{"name":"transpose","configuration":{"order":[0,1]}},` + little + `]`},
	} {
		d := mustOpen(t, map[string]string{"zarr.json": group3, "v/zarr.json": array3("data_type", `"int16"`, "shape", "[3,2]", "dimension_names", `["y","x"]`,
			"chunk_grid", `{"name":"regular","configuration":{"chunk_shape":[3,2]}}`, "fill_value", "null", "codecs", codecs), "v/c/0/0": c.chunk})
		v := d.Root.Variables[0]
		got, err := v.ReadAll(t.Context(), 1<<20)
		if err != nil || v.Storage.Undecodable != nil || string(got.Data) != chunk {
			t.Errorf("%s: %q: %v, %v", codecs, got.Data, err, v.Storage.Undecodable)
		}
		specs, err := v.Storage.Pipeline.Specs(0)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(specs); err != nil || string(text) != c.specs {
			t.Errorf("%s: codecs %s, %v, want %s", codecs, text, err, c.specs)
		}
	}
}
