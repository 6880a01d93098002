package manifest

import (
	"testing"

	"varve/grid"
)

// TestRunLocations checks that a caller may change a location: the next locations do not depend on it.
func TestRunLocations(t *testing.T) {
	r := Run{Location: Location{Coords: []int64{0, 1}, Kind: Verbatim, Source: 3}, Chunks: 3, Offsets: []int64{10, 20, 30}, Sizes: []int64{1, 2, 3}}
	chunks := grid.Region{Origin: []int64{0, 0}, Shape: []int64{2, 2}}
	want := [][]int64{{0, 1}, {1, 0}, {1, 1}}
	n := 0
	for l := range r.Locations(chunks) {
		if l.Kind != Verbatim || l.Source != 3 || l.Compacted || l.Offset != r.Offsets[n] || l.Size != r.Sizes[n] || l.Coords[0] != want[n][0] || l.Coords[1] != want[n][1] {
			t.Errorf("chunk %d: %+v", n, l)
		}
		l.Kind, l.Source, l.Compacted, l.Offset = Missing, -1, true, 0
		n++
	}
	if n != 3 {
		t.Errorf("%d chunks", n)
	}
}
