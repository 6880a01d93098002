//go:build amd64 && !purego

package present

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"varve/fixtures/soak"
)

// TestFloat32Twins: the loop in assembly and the portable loop give the same result, to the last bit.
func TestFloat32Twins(t *testing.T) {
	if !hasAVX2 {
		t.Skip("this machine has no AVX2")
	}
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	odd := []float32{0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32, 1e20,
		math.SmallestNonzeroFloat32}
	for _, none := range []float32{float32(math.NaN()), 1e20, 0, float32(math.Inf(1))} {
		for range 300 {
			elems, often := make([]byte, 32*(1+rng.IntN(60))), 1+rng.IntN(50)
			for i := 0; i < len(elems); i += 4 {
				f := float32(rng.NormFloat64() * 1000)
				if rng.IntN(often) == 0 {
					f = odd[rng.IntN(len(odd))]
				}
				binary.LittleEndian.PutUint32(elems[i:], math.Float32bits(f))
			}
			got, want := newFloat32Lanes(), newFloat32Lanes()
			for range 2 {
				got.add(elems, none)
				want.portableAdd(elems, none)
			}
			for k := range 8 {
				if math.Float64bits(got.sum[k]) != math.Float64bits(want.sum[k]) && got.sum[k] == got.sum[k] ||
					(got.sum[k] == got.sum[k]) != (want.sum[k] == want.sum[k]) ||
					math.Float32bits(got.low[k]) != math.Float32bits(want.low[k]) ||
					math.Float32bits(got.high[k]) != math.Float32bits(want.high[k]) || got.valid[k] != want.valid[k] {
					t.Fatalf("none is %v, lane %d: got %v, want %v", none, k, got, want)
				}
			}
		}
	}
}

func BenchmarkFloat32s(b *testing.B) {
	elems := make([]byte, 1<<20)
	for i := 0; i < len(elems); i += 4 {
		binary.LittleEndian.PutUint32(elems[i:], math.Float32bits(float32(i)))
	}
	for name, vectors := range map[string]bool{"AVX2": true, "portable": false} {
		b.Run(name, func(b *testing.B) {
			defer func(was bool) { hasAVX2 = was }(hasAVX2)
			hasAVX2 = hasAVX2 && vectors
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			for b.Loop() {
				t := newTally()
				t.float32s(elems, nil)
			}
		})
	}
}
