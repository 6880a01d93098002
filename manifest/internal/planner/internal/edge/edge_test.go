package edge

import (
	"math/rand/v2"
	"testing"
)

// TestSettledBands: at each position the band with most votes wins and keeps its phase; the result
// is sorted and disjoint.
func TestSettledBands(t *testing.T) {
	seed := rand.Uint64()
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
