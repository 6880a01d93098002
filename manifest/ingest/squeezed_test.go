package ingest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"varve/fixtures/soak"
)

// TestRandomSqueezed: files with one step and without the dimension give the same result as files
// with it, in any order and appended in any parts.
func TestRandomSqueezed(t *testing.T) {
	configured(t)
	var seen appended
	for seed := range soak.Seeds(t, 12) {
		r := rand.New(rand.NewPCG(seed, 9))
		dir := t.TempDir()
		a := (&archive{squeezed: true}).write(t, r, filepath.Join(dir, "files"), []int{1, 2, 1, 3}[seed%4])
		for _, valueBytes := range []int64{0, 1 + r.Int64N(40)} {
			out := filepath.Join(dir, fmt.Sprint(valueBytes, ".varve"))
			opts := optionsFor(shuffled(r, a.files)...)
			opts.ValueBytes = valueBytes
			if _, err := Build(t.Context(), out, opts); err != nil || !a.check(t, out) {
				t.Fatalf("seed %d, value bytes %d: %v", seed, valueBytes, err)
			}
		}
		if !seen.try(t, r, a) {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d appends extended the plan, %d made a new one", seen.behind, seen.anew)
	if (seen.behind == 0 || seen.anew == 0) && !soak.Selected() {
		t.Error("no append extended the plan, or none made a new one")
	}
}
