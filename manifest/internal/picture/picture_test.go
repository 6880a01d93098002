package picture

import (
	"strings"
	"testing"

	"varve/grid"
	"varve/manifest"
)

// TestBins checks that every chunk is counted in the last bin that starts at or before it, for any
// number of bins.
func TestBins(t *testing.T) {
	for _, chunks := range []int64{1, 2, 3, 7, 239, 240, 241, 1000} {
		for _, most := range []int{1, 2, 5, 240} {
			g, err := grid.Regular([]int64{3*chunks - 1, 4}, []int64{3, 2})
			if err != nil {
				t.Fatal(err)
			}
			pic := New(g, []string{"time", "<lat>"}, 0, 1, Limits{most, 2})
			for c := range chunks {
				cell := pic.Add([]int64{c, 1}, manifest.Reencoded)
				x := cell % pic.Across.Len()
				if cell/pic.Across.Len() != 1 || c < pic.Across.First(x) || c >= pic.Across.First(x+1) || pic.Across.Bins[x] > 3*c {
					t.Fatalf("chunk %d of %d is in cell %d of %d bins", c, chunks, cell, most)
				}
			}
			total := int64(0)
			for _, c := range pic.Cells {
				total += c.Reencoded
			}
			if svg := pic.SVG(); total != chunks || strings.Contains(svg, "<lat>") || !strings.Contains(svg, `class="r`) {
				t.Errorf("%d of %d chunks: %s", total, chunks, svg)
			}
		}
	}
}
