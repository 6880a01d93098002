package codec

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestHDF5Filters(t *testing.T) {
	for _, c := range []struct{ specs, want string }{
		{`"bytes", {"endian":"little"}`, "little []"},
		{`"bytes", {"endian":"big"}, "numcodecs.shuffle", {"elementsize":8}, "numcodecs.zlib", {"level":3}`, "big [{2 shuffle [8]} {1 zlib [3]}]"},
		{`"bytes", {"endian":"little"}, "numcodecs.shuffle", {}, "numcodecs.fletcher32", {}`, "little [{2 shuffle [4]} {3 fletcher32 []}]"},
		{`"bytes", {}, "imagecodecs_szip", {"options_mask":141,"pixels_per_block":32,"bits_per_pixel":8,"pixels_per_scanline":256,"header":true}`, " [{4 szip [141 32 8 256]}]"},
		{`"bytes", {}, "imagecodecs_szip", {"options_mask":141,"pixels_per_block":32,"bits_per_pixel":8,"pixels_per_scanline":256,"header":false}`, "none"},
		{`"bytes", {}, "numcodecs.zstd", {"level":-5}`, " [{32015 zstd [4294967291]}]"},
		{`"bytes", {}, "hdf5.lzf", {"cd_values":[4,261,400]}`, " [{32000 lzf [4 261 400]}]"},
		{`"bytes", {}, "numcodecs.blosc", {"cname":"zstd","clevel":5,"shuffle":2}`, " [{32001 blosc [2 2 4 0 5 2 5]}]"},
		{`"bytes", {}, "gzip", {"level":1}`, "none"},
		{`"transpose", {"order":[1,0]}, "bytes", {}`, "none"},
		{`"vlen-utf8", {}`, "none"},
		{``, "none"},
	} {
		order, filters, ok := HDF5Filters(specsOf(t, c.specs), 4)
		got := "none"
		if ok {
			got = fmt.Sprint(order, " ", filters)
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.specs, got, c.want)
		}
	}
	if !(Filter{ID: 32015}).IsPlugin() || (Filter{ID: 4}).IsPlugin() {
		t.Error("zstd is a plugin, and szip is none")
	}
}

// specsOf parses a list of a name, a configuration, a name, and so on.
func specsOf(t *testing.T, text string) (specs []Spec) {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte("["+text+"]"), &list); err != nil {
		t.Fatal(text, err)
	}
	for i := 0; i < len(list); i += 2 {
		specs = append(specs, Spec{Name: string(list[i][1 : len(list[i])-1]), Config: list[i+1]})
	}
	return specs
}
