package coord

import (
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
)

// read returns the indexes of a file that parts read, in the order of the result.
func read(parts []Part) (indexes []int64) {
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Part) int { return int(a.Origin - b.Origin) })
	for _, s := range parts {
		for i := range s.Length {
			at := s.Start + i
			if s.Start < 0 {
				at = -1 - at
			}
			indexes = append(indexes, at)
		}
	}
	return indexes
}

// TestViews: views that are reversed again and again, and parts that are read through them, have the indexes of a list that is
// changed in the same way.
func TestViews(t *testing.T) {
	for seed := range soak.Seeds(t, 200) {
		r := rand.New(rand.NewPCG(seed, 0))
		n := 1 + r.Int64N(9)
		split := r.Int64N(n)
		view := []Part{{0, split, n - split}}
		if split > 0 {
			view = append(view, Part{n - split, 0, split})
		}
		want := read(view)
		if r.IntN(3) == 0 {
			view, want = nil, read([]Part{{Length: n}})
		}
		for range r.IntN(4) {
			view = Backwards(view, n)
			slices.Reverse(want)
		}
		from := r.Int64N(n)
		part := Part{Origin: 7, Start: from, Length: 1 + r.Int64N(n-from)}
		if got := read(part.Through(view)); !slices.Equal(got, want[from:from+part.Length]) {
			t.Errorf("seed %d: %v through %v: %v, want %v", seed, part, view, got, want[from:from+part.Length])
		}
	}
}
