package zfp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
)

// TestPlanesBitByBit compares the decoded planes of random bits with those of a decoder that reads one bit at a
// time, as ZFP's own does.
func TestPlanesBitByBit(t *testing.T) {
	seed := soak.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 1000 {
		src := make([]byte, rng.IntN(2000))
		// Few ones give long runs, few zeros give full planes.
		ones := 1 + rng.IntN(8)
		for i := range src {
			for range ones {
				src[i] |= 1 << rng.IntN(8)
			}
			if ones == 1 && rng.IntN(3) > 0 {
				src[i] = 0
			}
		}
		checkBlock(t, src, &Array{
			dims:   1 + rng.IntN(4),
			kind:   kind(rng.IntN(4)),
			limits: limits{minBits: 1, maxBits: 1 + rng.Uint32N(1<<(1+rng.IntN(15))), maxPrec: 1 + rng.IntN(64), minExp: leastExp},
		})
	}
}

// checkBlock reads the planes of one block with both decoders.
func checkBlock(t *testing.T, src []byte, a *Array) {
	t.Helper()
	if a.kind.width() == 4 {
		checkPlanes(t, &decoder[int32]{reader: reader{src: src}, array: a})
	} else {
		checkPlanes(t, &decoder[int64]{reader: reader{src: src}, array: a})
	}
}

func checkPlanes[T coefficient](t *testing.T, d *decoder[T]) {
	t.Helper()
	slow := &slowReader{src: d.src}
	want := slowPlanes[T](slow, d.array, d.array.limits.maxPrec)
	d.readPlanes(0, d.array.limits.maxPrec)
	if got := d.used(); !slices.Equal(got, want) || d.at != slow.at {
		t.Fatalf("%+v of %x:\ngot  %x to bit %d\nwant %x to bit %d", d.array, d.src, got, d.at, want, slow.at)
	}
	d.at = 0
	d.next() // must not panic
	if d.at < int64(d.array.limits.minBits) {
		t.Fatalf("%+v: block of %d bits", d.array, d.at)
	}
}

type slowReader struct {
	src []byte
	at  int64
}

func (r *slowReader) bit() uint64 {
	i, shift := r.at/8, r.at%8
	r.at++
	if i >= int64(len(r.src)) {
		return 0
	}
	return uint64(r.src[i]>>shift) & 1
}

// slowPlanes reads all coefficients of a block in a few simple lines.
func slowPlanes[T coefficient](r *slowReader, a *Array, precision int) []T {
	size := 1 << (2 * a.dims)
	sums := make([]uint64, size)
	left := int(a.limits.maxBits)
	next := func() uint64 { left--; return r.bit() }
	top := 8 * a.kind.width()
	known := 0
	for plane := top - 1; plane >= max(0, top-precision) && left > 0; plane-- {
		for i := 0; i < known && left > 0; i++ {
			sums[i] |= next() << plane
		}
		for known < size && left > 0 && next() == 1 {
			for known < size-1 && left > 0 && next() == 0 {
				known++
			}
			sums[known] |= 1 << plane
			known++
		}
	}
	block := make([]T, size)
	for i, u := range sums {
		base := uint64(0xaaaaaaaaaaaaaaaa)
		block[coefficientOrder[a.dims-1][i]] = T(u) ^ T(int64(base)) - T(int64(base))
	}
	return block
}
