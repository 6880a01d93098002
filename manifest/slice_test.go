package manifest

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSlices checks that slices cover all items once, and differ by at most one item.
func TestSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		n, of := r.Int64N(1+r.Int64N(math.MaxInt64)), 1+r.Int64N(50)
		end := int64(0)
		for i := range of {
			from, to := Slice{Number: i, Of: of}.Range(n)
			if from != end || to-from < n/of || to-from > n/of+1 {
				t.Fatalf("slice %d of %d of %d items: %d to %d", i, of, n, from, to)
			}
			end = to
		}
		if end != n {
			t.Fatalf("%d slices cover %d of %d items", of, end, n)
		}
	}
	if from, to := (Slice{}).Range(7); from != 0 || to != 7 {
		t.Errorf("the whole is %d to %d", from, to)
	}
	for _, s := range []Slice{{Number: -1, Of: 3}, {Number: 3, Of: 3}, {Number: 0, Of: -1}, {Number: 1}} {
		if s.Check() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	if err := (Slice{Number: 2, Of: 3}).Check(); err != nil {
		t.Error(err)
	}
}
