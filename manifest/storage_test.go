package manifest

import (
	"math/rand/v2"
	"testing"
)

// TestRowsEqualGrid compares the number of rows, which Rows counts without a grid, with the number of chunks
// of the grid.
func TestRowsEqualGrid(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		v := Variable{Storage: Storage{Layout: Chunked}}
		for range r.IntN(4) {
			v.Shape = append(v.Shape, r.Int64N(20))
			v.Storage.Chunks = append(v.Storage.Chunks, 1+r.Int64N(30))
		}
		g, err := v.Grid()
		if err != nil {
			t.Fatal(err)
		}
		if got := v.Rows(); got != g.Chunks() {
			t.Fatalf("seed %d: shape %v in %v: got %d rows, want %d", seed, v.Shape, v.Storage.Chunks, got, g.Chunks())
		}
	}
}
