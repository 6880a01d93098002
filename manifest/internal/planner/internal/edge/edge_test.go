package edge

import (
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/grid"
)

// TestContinued: edges continue older ones if they begin with the same chunks, and the last old chunk is whole.
func TestContinued(t *testing.T) {
	list := func(lengths ...int64) grid.Sizes { return grid.List(lengths...) }
	for _, c := range []struct {
		name        string
		now, was    grid.Sizes
		length, old int64
		want        bool
	}{
		{"equal chunks", grid.Every(4), grid.Every(4), 12, 8, true},
		{"a short last chunk", grid.Every(4), grid.Every(4), 12, 7, false},
		{"other chunks", grid.Every(2), grid.Every(4), 12, 8, false},
		{"a list that begins with equal chunks", list(4, 4, 3), grid.Every(4), 11, 8, true},
		{"a longer list", list(3, 1, 4, 4), list(3, 1, 4), 12, 8, true},
		{"another list", list(1, 3, 4, 4), list(3, 1, 4), 12, 8, false},
		{"a list whose last chunk is longer than the array", list(3, 5, 4), list(3, 5), 12, 7, false},
		{"nothing old", grid.Every(4), list(), 4, 0, false},
	} {
		if got := Continues(RunsOf(c.now, c.length), RunsOf(c.was, c.old)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestRandomContinues: a list continues another one if its first edges are equal.
func TestRandomContinues(t *testing.T) {
	for seed := range soak.Seeds(t, 500) {
		r := rand.New(rand.NewPCG(seed, 2))
		var lengths []int64
		for range 1 + r.IntN(8) {
			lengths = append(lengths, 1+r.Int64N(3))
		}
		some := slices.Clone(lengths[:1+r.IntN(len(lengths))])
		if !Continues(grid.Compress(lengths...), grid.Compress(some...)) {
			t.Errorf("seed %d: %v does not continue %v", seed, lengths, some)
		}
		some[r.IntN(len(some))]++
		if Continues(grid.Compress(lengths...), grid.Compress(some...)) {
			t.Errorf("seed %d: %v continues %v", seed, lengths, some)
		}
	}
}

// TestSettledBands: at each position the band with most votes wins and keeps its phase; the result
// is sorted and disjoint.
func TestSettledBands(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		votes := map[Band]int64{}
		for range 1 + r.IntN(12) {
			from, length := r.Int64N(40), 1+r.Int64N(5)
			votes[Band{From: from, To: from + 1 + r.Int64N(15), Length: length, Phase: r.Int64N(length), Member: -1, Padded: r.IntN(2) == 0}] = 1 + r.Int64N(1<<30)
		}
		settled := Settle(votes)
		for i := 1; i < len(settled); i++ {
			if settled[i].From < settled[i-1].To {
				t.Fatalf("seed %d: %+v overlaps the next band %+v", seed, settled[i-1], settled[i])
			}
		}
		for at := range int64(60) {
			var want, got *Band
			for b := range votes {
				if b.From <= at && at < b.To && (want == nil || votes[b] > votes[*want]) {
					want = &b
				}
			}
			for i := range settled {
				if b := &settled[i]; b.From <= at && at < b.To {
					got = b
				}
			}
			switch {
			case (want == nil) != (got == nil):
				t.Fatalf("seed %d: the band at %d is %+v, want %+v", seed, at, got, want)
			case got == nil:
			case got.Length != want.Length, (got.Phase+at-got.From)%got.Length != (want.Phase+at-want.From)%want.Length, got.Padded && !want.Padded:
				t.Fatalf("seed %d: the band at %d is %+v, want %+v", seed, at, got, want)
			}
		}
	}
}
