package reporttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest/report"
)

// Followed has the remedies that a test followed to a result that it compared with the truth: a line for each option and each consequence.
// testdata/followed has the lines of each such test, and TestEachRemedyIsFollowed looks for all remedies of varve there.
type Followed map[string]bool

// Add adds a remedy, with its further options.
func (f Followed) Add(r *report.Remedy) {
	for _, s := range append([]report.Setting{r.Setting}, r.With...) {
		f["option "+string(s.Option)] = true
	}
	if r.Consequence != "" {
		f["consequence "+string(r.Consequence)] = true
	}
}

// Check fails if the lines of a test are not those in its file in a folder. With -record it writes them.
func (f Followed) Check(t *testing.T, folder, test string) {
	t.Helper()
	var lines []string
	for line := range f {
		lines = append(lines, line+"\n")
	}
	slices.Sort(lines)
	name, got := filepath.Join(folder, test+".txt"), strings.Join(lines, "")
	if *Record {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(name); err != nil || got != string(want) {
		t.Errorf("%v: the followed remedies are\n%swant\n%s", err, got, want)
	}
}
