package zarr

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestLayouts checks the lengths of an array of maps, of which the times and the area are larger than a chunk.
func TestLayouts(t *testing.T) {
	s := newSample(t, january, february, march)
	for layout, want := range map[Layout][]int64{SeriesLayout: {90, 6, 8}, MapLayout: {90, 6, 8}, CubeLayout: {90, 6, 8}} {
		edges, err := layout.Edges(s.store)
		if err != nil {
			t.Fatal(err)
		}
		dest := filepath.Join(t.TempDir(), "copy")
		s.copy(t, dest, Options{Chunks: edges})
		s.compare(t, dest, 3)
		g, err := readSchema(t, filepath.Join(dest, "t2m"), 3).Grid()
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := g.ChunkShape(); !ok || !slices.Equal(got, want) {
			t.Errorf("%s: chunks of %v, want %v", layout, got, want)
		}
	}
	// 8 bytes an element: 524,288 elements in a chunk.
	shape, time, space := []int64{4000, 5, 1000, 2000}, 0, []int{2, 3}
	for layout, want := range map[Layout][]int64{SeriesLayout: {4000, 1, 8, 16}, MapLayout: {1, 1, 500, 1000}, CubeLayout: {32, 1, 84, 167}} {
		if got := layout.lengths(shape, 8, time, space); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", layout, got, want)
		}
	}
	timeless, _ := newMaps(t) // its dimensions have no coordinates
	if edges, err := SeriesLayout.Edges(timeless.store); err == nil {
		t.Errorf("arrays without a time axis have the lengths %v", edges)
	}
}
