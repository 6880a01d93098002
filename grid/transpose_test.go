package grid

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestTransposeAgainstIndexing(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	for round := range 300 {
		shape := make([]int64, 1+r.IntN(4))
		n := int64(1)
		for k := range shape {
			shape[k] = int64(r.IntN(5))
			n *= shape[k]
		}
		order, unit := r.Perm(len(shape)), int64([]int{1, 2, 3, 4, 8, 16}[r.IntN(6)])
		src := make([]byte, n*unit)
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		dst, want := make([]byte, len(src)), make([]byte, len(src))
		if err := Transpose(dst, src, shape, order, unit); err != nil {
			t.Fatal(err)
		}
		transposeByIndex(want, src, shape, order, unit)
		if !bytes.Equal(dst, want) {
			t.Fatalf("seed 20, 26, round %d: shape %v, order %v, unit %d: elements differ", round, shape, order, unit)
		}
	}
}

// transposeByIndex computes the index in src of every element from its index in dst.
func transposeByIndex(dst, src []byte, shape []int64, order []int, unit int64) {
	count := int64(len(src)) / unit
	for i := range count {
		index, rest := make([]int64, len(shape)), i
		for k := len(order) - 1; k >= 0; k-- {
			index[order[k]], rest = rest%shape[order[k]], rest/shape[order[k]]
		}
		from := int64(0)
		for k, at := range index {
			from = from*shape[k] + at
		}
		copy(dst[i*unit:(i+1)*unit], src[from*unit:])
	}
}

func TestTransposeRefuses(t *testing.T) {
	b := make([]byte, 6)
	for _, tt := range []struct {
		name     string
		dst, src []byte
		order    []int
		says     string
	}{
		{"short order", b, b, []int{0}, "order [0]"},
		{"axis twice", b, b, []int{1, 1}, "axis 0"},
		{"no such axis", b, b, []int{0, 2}, "axis 1"},
		{"short destination", b[:5], b, []int{1, 0}, "destination: 5"},
		{"short source", b, b[:5], []int{1, 0}, "source: 5"},
	} {
		err := Transpose(tt.dst, tt.src, []int64{2, 3}, tt.order, 1)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error is %v, want it to contain %q", tt.name, err, tt.says)
		}
	}
}

func BenchmarkTranspose(b *testing.B) {
	src, dst := make([]byte, 4<<20), make([]byte, 4<<20)
	b.SetBytes(4 << 20)
	b.ReportAllocs()
	for b.Loop() {
		if err := Transpose(dst, src, []int64{1024, 1024}, []int{1, 0}, 4); err != nil {
			b.Fatal(err)
		}
	}
}
