package packed

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// lists returns lists of n integers of many kinds.
func lists(n int) map[string][]int64 {
	rng := rand.New(rand.NewPCG(1, 2))
	extremes := []int64{math.MinInt64, math.MaxInt64, 0, -1, 1, math.MaxInt64 / 4, math.MinInt64 / 4, math.MaxInt64/4 + 1}
	kinds := map[string]func(i int) int64{
		"equal":       func(int) int64 { return 7 },
		"rising":      func(i int) int64 { return int64(i) * 24 },
		"falling":     func(i int) int64 { return 1000 - 3*int64(i) },
		"far rising":  func(i int) int64 { return int64(i) * (math.MaxInt64 / 4 / 1024) },
		"alternating": func(i int) int64 { return int64(i % 10) },
		"months":      func(i int) int64 { return []int64{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[i%12] },
		"one gap":     func(i int) int64 { return int64(i) + int64(i/300)<<40 },
		"small":       func(int) int64 { return rng.Int64N(100) },
		"any":         func(int) int64 { return int64(rng.Uint64()) },
		"extremes":    func(int) int64 { return extremes[rng.IntN(len(extremes))] },
		"quarter":     func(i int) int64 { return []int64{math.MaxInt64 / 4, -math.MaxInt64 / 4}[i/255%2] },
	}
	for width := range 62 {
		kinds["width "+string(rune('0'+width))] = func(int) int64 { return rng.Int64N(1<<width) - 1<<width/2 }
	}
	out := map[string][]int64{}
	for name, of := range kinds {
		for i := range n {
			out[name] = append(out[name], of(i))
		}
	}
	return out
}

// TestInts: a list has the integers that were appended, at every length.
func TestInts(t *testing.T) {
	for name, want := range lists(1300) {
		p := &Ints{}
		for i, v := range want {
			p.Append(v)
			if p.Len() != i+1 || p.At(i) != v || p.At(i/2) != want[i/2] {
				t.Fatalf("%s: after %d integers: %d, last %d, middle %d", name, i+1, p.Len(), p.At(i), p.At(i/2))
			}
		}
		for i, v := range want {
			if p.At(i) != v {
				t.Fatalf("%s: integer %d is %d, want %d", name, i, p.At(i), v)
			}
		}
	}
}

func TestSearch(t *testing.T) {
	for name, values := range lists(700) {
		slices.Sort(values)
		p := Of(values)
		for _, v := range values {
			for _, v := range []int64{v, max(v, math.MinInt64+1) - 1, min(v, math.MaxInt64-1) + 1} {
				if got, want := p.Search(v), sort.Search(len(values), func(i int) bool { return values[i] > v }); got != want {
					t.Fatalf("%s: Search(%d) = %d, want %d", name, v, got, want)
				}
			}
		}
	}
	if n := new(Ints).Search(1); n != 0 {
		t.Errorf("the search in an empty list gives %d", n)
	}
}

// size returns the bytes of memory that a list takes.
func size(p *Ints) (n int) {
	const blockSize = 56
	n = cap(p.blocks)*blockSize + cap(p.rest)*8
	for i := range p.blocks {
		n += cap(p.blocks[i].bits) * 8
	}
	return n
}

// TestSize: the columns of tiles that usual archives have.
func TestSize(t *testing.T) {
	all := lists(1 << 16)
	for name, most := range map[string]float64{"equal": 0.4, "rising": 0.4, "alternating": 0.9, "months": 0.9, "small": 1.2, "any": 8.5} {
		if each := float64(size(Of(all[name]))) / (1 << 16); each > most {
			t.Errorf("%s: %.2f bytes for each integer, want at most %.2f", name, each, most)
		}
	}
}

func FuzzInts(f *testing.F) {
	f.Add([]byte{1, 2, 3}, int64(5), int64(-7))
	f.Fuzz(func(t *testing.T, deltas []byte, first, scale int64) {
		p, want, v := &Ints{}, []int64(nil), first
		for i := range 2 * blockLength {
			if len(deltas) > 0 {
				v += int64(deltas[i%len(deltas)]) * scale
			}
			p.Append(v)
			want = append(want, v)
		}
		for i, v := range want {
			if p.At(i) != v {
				t.Fatalf("integer %d is %d, want %d", i, p.At(i), v)
			}
		}
	})
}

func BenchmarkAt(b *testing.B) {
	for _, name := range []string{"rising", "months", "any"} {
		p := Of(lists(1 << 16)[name])
		b.Run(name, func(b *testing.B) {
			sum := int64(0)
			for i := range b.N {
				sum += p.At(i * 7919 % (1 << 16))
			}
			_ = sum
		})
	}
}
