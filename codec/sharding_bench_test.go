package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"varve/grid"
)

// benchShards is a shard of 1024 × 1024 float32 with 64 inner chunks. bench.py in
// testdata/sharding makes the same for zarr-python.
func benchShards(b *testing.B, codecs string) (*Pipeline, []byte) {
	b.Helper()
	p := mustNew(b, "["+shards("[128,128]", codecs)+"]", Form{Type: float32Type, Shape: []int64{1024, 1024}})
	stored, err := p.Encode(nil, benchElems())
	if err != nil {
		b.Fatal(err)
	}
	return p, stored
}

// benchElems are (3y + x) / 5, rounded down.
func benchElems() Elems {
	var b []byte
	for i := range 1 << 20 {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32((3*(i/1024)+i%1024)/5)))
	}
	return Elems{Fixed: b}
}

var benchCodecs = []struct{ name, list string }{
	{"raw", littleBytes},
	{"zstd", littleBytes + `,{"name":"zstd","configuration":{"level":1}}`},
	{"blosc", littleBytes + `,{"name":"blosc","configuration":{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":4,"blocksize":0}}`},
}

func BenchmarkShard(b *testing.B) {
	for _, c := range benchCodecs {
		p, stored := benchShards(b, c.list)
		b.Run(c.name+"/whole", func(b *testing.B) {
			dst := NewElems(p.Form())
			b.SetBytes(int64(len(dst.Fixed)))
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Decode(dst, stored); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, r := range []struct {
			name          string
			origin, shape []int64
		}{
			{"one inner chunk", []int64{256, 384}, []int64{128, 128}},
			{"one row", []int64{300, 0}, []int64{1, 1024}},
			{"one element", []int64{300, 400}, []int64{1, 1}},
		} {
			b.Run(c.name+"/"+r.name, func(b *testing.B) {
				region := grid.Region{Origin: r.origin, Shape: r.shape}
				dst := NewElems(Form{Type: float32Type, Shape: r.shape})
				b.SetBytes(int64(len(dst.Fixed)))
				b.ReportAllocs()
				for b.Loop() {
					if err := p.DecodeRegion(b.Context(), Memory(stored), region, dst); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprint(c.name, "/encode"), func(b *testing.B) {
			src := benchElems()
			var out []byte
			b.SetBytes(4 << 20)
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if out, err = p.Encode(out[:0], src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
