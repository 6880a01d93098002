package planner

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
		votes := map[band]int64{}
		for range 1 + r.IntN(12) {
			from, length := r.Int64N(40), 1+r.Int64N(5)
			votes[band{from: from, to: from + 1 + r.Int64N(15), length: length, phase: r.Int64N(length), member: -1, padded: r.IntN(2) == 0}] = 1 + r.Int64N(1<<30)
		}
		settled := settleBands(votes)
		for i := 1; i < len(settled); i++ {
			if settled[i].from < settled[i-1].to {
				t.Fatalf("seed %d: %+v overlaps the next band %+v", seed, settled[i-1], settled[i])
			}
		}
		for at := range int64(60) {
			var want, got *band
			for b := range votes {
				if b.from <= at && at < b.to && (want == nil || votes[b] > votes[*want]) {
					want = &b
				}
			}
			for i := range settled {
				if b := &settled[i]; b.from <= at && at < b.to {
					got = b
				}
			}
			switch {
			case (want == nil) != (got == nil):
				t.Fatalf("seed %d: the band at %d is %+v, want %+v", seed, at, got, want)
			case got == nil:
			case got.length != want.length, (got.phase+at-got.from)%got.length != (want.phase+at-want.from)%want.length, got.padded && !want.padded:
				t.Fatalf("seed %d: the band at %d is %+v, want %+v", seed, at, got, want)
			}
		}
	}
}
