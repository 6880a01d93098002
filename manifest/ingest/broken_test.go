package ingest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve/manifest/report"
)

// TestManyBroken: all files that cannot be read are named with their reasons, however many there
// are.
func TestManyBroken(t *testing.T) {
	folder := t.TempDir()
	var want []string
	for i := range 25 {
		name := filepath.Join(folder, fmt.Sprintf("%02d.nc", i))
		if err := os.WriteFile(name, []byte("CDF"), 0o666); err != nil {
			t.Fatal(err)
		}
		want = append(want, filepath.Base(name))
	}
	outcome, err := Check(t.Context(), &Options{Sources: Sources{Names: []string{folder}}})
	if err == nil || outcome == nil {
		t.Fatalf("%v, %v", outcome, err)
	}
	var got []string
	for _, f := range outcome.Report.Findings {
		if f.Code != report.UnreadableFile || f.Count != 1 || f.Args["reason"] == "" {
			t.Errorf("%+v", f)
		}
		for url := range f.Files.All() {
			got = append(got, report.Base(url))
		}
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the findings name %v, want %v", got, want)
	}
}
