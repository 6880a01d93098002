package codec

import (
	"runtime"
	"testing"

	"varve/fixtures/system"
)

// TestEncodersAreShared checks that a thousand arrays of one codec share encoders,
// instead of having one each.
func TestEncodersAreShared(t *testing.T) {
	for _, spec := range []Spec{
		{Name: "zstd", Config: []byte(`{"level":3,"checksum":false}`)},
		{Name: "gzip", Config: []byte(`{"level":5}`)},
		{Name: "numcodecs.zlib", Config: []byte(`{"level":1}`)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for n := range int64(1000) {
			p, err := New([]Spec{{Name: "bytes", Config: []byte(`{"endian":"little"}`)}, spec}, Form{Type: Type{Kind: Float, Size: 4}, Shape: []int64{n + 1}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Encode(nil, Elems{Fixed: make([]byte, 4*(n+1))}); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 100<<20 && !system.Race {
			t.Errorf("%s: %d MiB were allocated", spec.Name, took>>20)
		}
	}
}
