package planner

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"varve/fixtures/soak"
	"varve/manifest"
	"varve/manifest/internal/planner/internal/naming"
	"varve/manifest/report"
)

// TestFilesOfFinding: a finding lists all its files in natural order.
func TestFilesOfFinding(t *testing.T) {
	seed := soak.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		p := &env{order: &nameOrder{}}
		var files []int32
		var want []string
		for i := range r.IntN(40) {
			p.files = append(p.files, &manifest.File{Source: manifest.Source{URL: fmt.Sprintf("/run%d/%d", r.IntN(12), i)}})
			files, want = append(files, int32(i)), append(want, p.files[i].URL)
		}
		r.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
		slices.SortFunc(want, naming.Natural)
		f := p.odd(report.Finding{}, files, 50)
		if got := slices.Collect(f.Files.All()); !slices.Equal(got, want) || f.Count != int64(len(files)) || f.Of != 50 {
			t.Fatalf("%d of %d: %q, want %q", f.Count, f.Of, got, want)
		}
	}
}
