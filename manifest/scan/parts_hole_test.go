package scan

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUncovered checks that each element is either in a taken box, or in exactly one of the boxes that
// uncovered returns.
func TestUncovered(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		shape := []int64{r.Int64N(5), 1 + r.Int64N(5), 1 + r.Int64N(4)}[:r.IntN(4)]
		taken := make([]box, r.IntN(6))
		for i := range taken {
			for _, n := range shape {
				at := int64(0)
				if n > 0 {
					at = r.Int64N(n)
				}
				taken[i].origin, taken[i].shape = append(taken[i].origin, at), append(taken[i].shape, r.Int64N(n-at+1))
			}
		}
		free, err := uncovered(shape, taken)
		if err != nil {
			t.Fatal(err)
		}
		covered, left := map[string]bool{}, map[string]int{}
		for _, b := range taken {
			eachCell(b, func(c string) { covered[c] = true })
		}
		for _, b := range free {
			eachCell(b, func(c string) { left[c]++ })
		}
		eachCell(box{origin: make([]int64, len(shape)), shape: shape}, func(c string) {
			if want := 1; covered[c] && left[c] != 0 || !covered[c] && left[c] != want {
				t.Errorf("seed %d: shape %v, cell %v: taken %v, left %d times", seed, shape, []byte(c), covered[c], left[c])
			}
		})
	}
}

func eachCell(b box, do func(string)) {
	if slices.Contains(b.shape, 0) {
		return
	}
	at := slices.Clone(b.origin)
	for {
		name := make([]byte, len(at))
		for k, i := range at {
			name[k] = byte(i)
		}
		do(string(name))
		k := len(at) - 1
		for ; k >= 0; k-- {
			if at[k]++; at[k] < b.origin[k]+b.shape[k] {
				break
			}
			at[k] = b.origin[k]
		}
		if k < 0 {
			return
		}
	}
}
