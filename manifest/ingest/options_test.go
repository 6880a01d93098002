package ingest

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
)

// demo returns the files of the sample archive.
func demo(months ...string) Sources {
	var s Sources
	for _, month := range months {
		s.Names = append(s.Names, "../../fixtures/demo/2021-"+month+".nc")
	}
	return s
}

// TestAppendKeepsPlan: an append uses the options of the build, unless it has its own.
func TestAppendKeepsPlan(t *testing.T) {
	configured(t)
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Build(t.Context(), out, &Options{Sources: demo("01"), Plan: plan.Options{Drop: []string{"lon"}}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		opts Options
		lon  bool
	}{
		{"kept", Options{Sources: demo("02")}, false},
		{"kept although Plan differs", Options{Sources: demo("02"), SkipKnown: true, Plan: plan.Options{Vars: []string{"lon"}}}, false},
		{"planned again", Options{Sources: demo("03"), Replan: true}, true},
	} {
		made, err := Append(t.Context(), out, &c.opts)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		has := func(path string) bool {
			return slices.ContainsFunc(made.Snapshot.Arrays, func(a manifest.Array) bool { return a.Path == path })
		}
		if !has("/t2m") || has("/lon") != c.lon {
			t.Errorf("%s: /t2m %v, /lon %v; want true, %v", c.name, has("/t2m"), has("/lon"), c.lon)
		}
	}
}

func TestNilOptions(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	_, checked := Check(t.Context(), nil)
	_, built := Build(t.Context(), filepath.Join(dir, "out"), nil)
	_, appended := Append(t.Context(), filepath.Join(dir, "out"), nil)
	_, scanned := Scan(t.Context(), filepath.Join(dir, "part"), nil)
	for name, err := range map[string]error{"Check": checked, "Build": built, "Append": appended, "Scan": scanned} {
		if !errors.Is(err, ErrNoFiles) {
			t.Errorf("%s: got %v, want ErrNoFiles", name, err)
		}
	}
}

// TestOptionsBeforeSources: an invalid option is an error before any source is opened.
func TestOptionsBeforeSources(t *testing.T) {
	configured(t)
	var wrong *plan.OptionError
	_, err := Build(t.Context(), filepath.Join(t.TempDir(), "out"), &Options{Sources: Sources{Names: []string{"/no/such.nc"}}, Plan: plan.Options{Missing: "filll"}})
	if !errors.As(err, &wrong) || wrong.Setting != (report.Setting{Option: report.Missing, Value: "filll"}) {
		t.Errorf("%v; want an OptionError of --missing", err)
	}
}
