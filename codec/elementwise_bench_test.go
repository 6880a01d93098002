package codec

import (
	"testing"

	"varve/fixtures/system"
)

// elementwiseBench are codecs in typical configurations of archives.
func elementwiseBench() []struct{ name, codec, config, typ string } {
	return []struct{ name, codec, config, typ string }{
		{"delta i4", "numcodecs.delta", `{"dtype":"<i4"}`, "int32"},
		{"delta i8 as i2", "numcodecs.delta", `{"dtype":"<i8","astype":"<i2"}`, "int64"},
		{"delta f4", "numcodecs.delta", `{"dtype":"<f4"}`, "float32"},
		{"fixedscaleoffset f4 as i2", "numcodecs.fixedscaleoffset", `{"offset":1000,"scale":10,"astype":"<i2"}`, "float32"},
		{"fixedscaleoffset f8 as i4", "numcodecs.fixedscaleoffset", `{"offset":1000,"scale":10,"astype":"<i4"}`, "float64"},
		{"quantize f4", "numcodecs.quantize", `{"digits":2}`, "float32"},
		{"bitround f4", "numcodecs.bitround", `{"keepbits":7}`, "float32"},
		{"astype f8 as f4", "numcodecs.astype", `{"encode_dtype":"<f4"}`, "float64"},
		{"astype f4 as f2", "numcodecs.astype", `{"encode_dtype":"<f2"}`, "float32"},
		{"astype f4 as i2", "numcodecs.astype", `{"encode_dtype":"<i2"}`, "float32"},
		{"scale_offset i2", "scale_offset", `{"offset":5,"scale":3}`, "int16"},
		{"scale_offset f4", "scale_offset", `{"offset":5,"scale":3}`, "float32"},
		{"cast_value f4 as i2", "cast_value", `{"data_type":"int16","scalar_map":{"encode":[["NaN",-1]],"decode":[[-1,"NaN"]]}}`, "float32"},
		{"packbits", "numcodecs.packbits", `{}`, "bool"},
	}
}

// benchPipeline returns a pipeline of 1 MiB of elements and elements that it encodes.
func benchPipeline(t testing.TB, codec, config, typ string) (*Pipeline, Elems) {
	form := Form{Type: typeNamed(t, typ)}
	form.Shape = []int64{int64(1 << 20 / form.Type.Size)}
	n, _ := numberOf(form.Type)
	form.Fill = littleWord(0, n)
	src := NewElems(form)
	values := make([]float64, form.Count())
	for i := range values {
		values[i] = float64(i % 1000)
	}
	storeFloats(src.Fixed, values, n)
	return chainOf(t, codec, config, form), src
}

func BenchmarkElementwise(b *testing.B) {
	for _, tt := range elementwiseBench() {
		p, src := benchPipeline(b, tt.codec, tt.config, tt.typ)
		stored, err := p.Encode(nil, src)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("decode/"+tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(src.Fixed)))
			b.ReportAllocs()
			for range b.N {
				if err := p.Decode(src, stored); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("encode/"+tt.name, func(b *testing.B) {
			b.SetBytes(int64(len(src.Fixed)))
			b.ReportAllocs()
			for range b.N {
				if _, err := p.Encode(stored[:0], src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestElementwiseDoesNotAllocate(t *testing.T) {
	if system.Race {
		t.Skip("the race detector allocates")
	}
	for _, tt := range elementwiseBench() {
		p, src := benchPipeline(t, tt.codec, tt.config, tt.typ)
		stored, err := p.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		allocs := testing.AllocsPerRun(5, func() {
			if err := p.Decode(src, stored); err != nil {
				t.Fatal(err)
			}
		})
		if allocs >= 1 {
			t.Errorf("%s: %v allocations a chunk", tt.name, allocs)
		}
	}
}

func BenchmarkVLenDecode(b *testing.B) {
	form := Form{Type: Type{Kind: String}, Shape: []int64{1 << 15}}
	p := mustNew(b, `["vlen-utf8"]`, form)
	src := NewElems(form)
	for i := range src.Var {
		src.Var[i] = []byte("a name of a station, Zürich"[:i%27+1])
	}
	for i, e := range src.Var {
		if i%27 == 22 {
			src.Var[i] = e[:22]
		}
	}
	stored, err := p.Encode(nil, src)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(stored)))
	b.ReportAllocs()
	for range b.N {
		if err := p.Decode(src, stored); err != nil {
			b.Fatal(err)
		}
	}
}
