package blosc

import (
	"fmt"
	"math"
	"testing"

	"varve/fixtures/system"
)

// waves returns n bytes of float32 that resemble a measured field: a wave, with noise in the low digits.
func waves(n int) []byte {
	b := make([]byte, 0, n)
	x := uint32(1)
	for i := range n / 4 {
		x = x*1664525 + 1013904223
		v := 280 + 20*math.Sin(float64(i)/5000) + float64(x>>16)/65536
		b = le.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}

func eachMethod(do func(name string, o Options)) {
	for _, c := range []string{"blosclz", "lz4", "lz4hc", "zlib", "zstd"} {
		for s, name := range []string{"plain", "bytes", "bits"} {
			do(c+"/"+name, Options{Compressor: c, Level: 5, Shuffle: Shuffle(s), TypeSize: 4})
		}
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	if system.Race {
		t.Skip("pools drop objects under the race detector")
	}
	raw := waves(1 << 18)
	dst := make([]byte, len(raw))
	eachMethod(func(name string, o Options) {
		enc, err := Append(nil, raw, o)
		if err != nil {
			t.Fatal(err)
		}
		for part, decode := range map[string]func() error{
			"all":     func() error { _, err := Decode(dst, enc); return err },
			"a range": func() error { return DecodeRange(dst[:1000], enc, 5000) },
		} {
			n := testing.AllocsPerRun(20, func() {
				if err := decode(); err != nil {
					t.Fatal(err)
				}
			})
			if n >= 1 {
				t.Errorf("%s, %s: %v allocations", name, part, n)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	raw := waves(1 << 20)
	dst := make([]byte, len(raw))
	eachMethod(func(name string, o Options) {
		enc, err := Append(nil, raw, o)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Decode(dst, enc); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}

func BenchmarkAppend(b *testing.B) {
	raw := waves(1 << 20)
	var enc []byte
	eachMethod(func(name string, o Options) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if enc, err = Append(enc[:0], raw, o); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(raw))/float64(len(enc)), "ratio")
		})
	})
}

func BenchmarkDecodeFrame(b *testing.B) {
	for _, name := range []string{"hdf5-lz4-1", "hdf5-20x50-1", "hdf5-300x7-2"} {
		v := frameVectorNamed(b, name)
		dst := make([]byte, len(v.raw))
		b.Run(fmt.Sprintf("%s-%d", name, len(v.raw)), func(b *testing.B) {
			b.SetBytes(int64(len(v.raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := DecodeFrame(dst, v.encoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
