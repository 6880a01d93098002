package planner

import (
	"fmt"
	"slices"
	"testing"

	"varve/codec"
	"varve/manifest/plan"
)

// TestGrowingPieces: coordinates in the manifest have chunks of a power of two, and keep chunks and codecs
// when the archive grows.
func TestGrowingPieces(t *testing.T) {
	archive := func(days int) *maker {
		m := newMaker()
		for i := range days / 100 {
			at := coords("time", "time", int64s, lines(float64(100*i), 100, 1)...).with("units", "days since 1990-01-01", "bounds", "time_bnds")
			bounds := coords("time_bnds", "time", int64s, lines(0, 200, 1)...)
			bounds.v.Dims, bounds.v.Shape, bounds.v.Storage.Chunks = []string{"/time", "/nv"}, []int64{100, 2}, []int64{100, 2}
			m.file(fmt.Sprint(i), at, bounds, cube("t", "time", []int64{100}, []int64{100}))
		}
		return m
	}
	same := func(a, b codec.Spec) bool { return a.Name == b.Name && string(a.Config) == string(b.Config) }
	for _, c := range []struct {
		days int
		was  int64
		grid string
	}{{100, 0, "512"}, {600, 0, "1024"}, {1300, 0, "2048"}, {1300, 512, "512"}, {1300, 1024, "1024"}, {1300, 600, "600"}} {
		opts := &plan.Options{}
		if c.was > 0 {
			opts.ChunkLengths = map[string]int64{"/time": c.was}
		}
		p := planned(t, archive(c.days), opts)
		a := arrayOf(t, p, "/time")
		if got := gridText(a); got != c.grid {
			t.Errorf("%d days after chunks of %d: chunks %s, want %s", c.days, c.was, got, c.grid)
		}
		if first := arrayOf(t, planned(t, archive(100), nil), "/time"); !slices.EqualFunc(a.Schema.Codecs, first.Schema.Codecs, same) {
			t.Errorf("%d days: codecs %v, and %v of 100 days", c.days, a.Schema.Codecs, first.Schema.Codecs)
		}
	}
}
