package ingest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
	"varve/manifest/scan"
)

// TestUnreadableBeside: for a file in a folder whose ending no readable file has, the pattern that leaves it out is
// advised first, and helps.
func TestUnreadableBeside(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, writeNetCDF(t, dir, 0)), filepath.Join(dir, writeNetCDF(t, dir, 1))}
	readme := filepath.Join(dir, "README.md")
	writeText(t, readme, "# Data\n")
	for _, c := range []struct {
		name    string
		sources Sources
		want    string
	}{
		{"in a folder", Sources{Names: []string{dir}}, "match=*.nc | skip-broken"},
		{"named", Sources{Names: append(names, readme)}, "skip-broken"},
		{"by a pattern", Sources{Names: []string{filepath.Join(dir, "*")}}, "skip-broken"},
		{"in a folder, with a pattern", Sources{Names: []string{dir}, Match: "*"}, "skip-broken"},
		{"nothing else", Sources{Names: []string{readme}}, "skip-broken"},
	} {
		_, err := Check(t.Context(), &Options{Sources: c.sources})
		var broken *scan.BrokenError
		if !errors.As(err, &broken) {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := reporttest.Remedies(&UnreadableFindings(broken)[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	made, err := Check(t.Context(), &Options{Sources: Sources{Names: []string{dir}, Match: "*.nc"}})
	if err != nil || len(made.Snapshot.Arrays) == 0 {
		t.Errorf("with the pattern: %v", err)
	}
	// The pattern of the good files matches this one, too.
	writeText(t, filepath.Join(dir, "zz.nc"), "no data")
	_, err = Check(t.Context(), &Options{Sources: Sources{Names: []string{dir}}})
	var broken *scan.BrokenError
	if !errors.As(err, &broken) {
		t.Fatal(err)
	}
	var got []string
	for _, f := range UnreadableFindings(broken) {
		got = append(got, reporttest.Remedies(&f))
	}
	if want := []string{"match=*.nc | skip-broken", "skip-broken"}; !slices.Equal(got, want) {
		t.Errorf("two files: %q, want %q", got, want)
	}
}

// TestReplacedAdvice: an append of a file that was replaced advises a refresh, and not a new build.
func TestReplacedAdvice(t *testing.T) {
	dir := t.TempDir()
	names := []string{filepath.Join(dir, writeNetCDF(t, dir, 0)), filepath.Join(dir, writeNetCDF(t, dir, 1))}
	out := filepath.Join(t.TempDir(), "o.varve")
	if _, err := Build(t.Context(), out, &Options{Sources: Sources{Names: names}}); err != nil {
		t.Fatal(err)
	}
	_, err := Append(t.Context(), out, &Options{Sources: Sources{Names: names}})
	var refused *plan.Error
	if !errors.As(err, &refused) || reporttest.Remedies(&refused.Findings[0]) != "skip-known | refresh" {
		t.Fatalf("got %v", err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(names[1], later, later); err != nil {
		t.Fatal(err)
	}
	_, err = Append(t.Context(), out, &Options{Sources: Sources{Names: names}, SkipKnown: true})
	var advice *manifest.RemedyError
	if !errors.As(err, &advice) || len(advice.Remedies) != 1 || advice.Remedies[0].Option != string(report.Refresh) {
		t.Fatalf("got %v", err)
	}
	if _, err := Refresh(t.Context(), out, &Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(t.Context(), out, &Options{Sources: Sources{Names: names}, SkipKnown: true}); err != nil {
		t.Errorf("after a refresh: %v", err)
	}
}

// TestIndexFiles: index files of wgrib2, ecCodes and cfgrib are no sources, if their GRIB file is there.
func TestIndexFiles(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  []string
	}{
		{[]string{"x.grib", "x.grib.idx"}, []string{"x.grib"}},
		{[]string{"x.grib2", "x.idx"}, []string{"x.grib2"}},
		{[]string{"x.grib", "x.grib.5b7b6.idx", "x.grib.923a8.idx"}, []string{"x.grib"}},
		{[]string{"x", "x.5b7b6.idx"}, []string{"x"}},
		{[]string{"y.grib", "x.grib.5b7b6.idx"}, []string{"y.grib", "x.grib.5b7b6.idx"}},
		{[]string{"x.grib", "x.grib.notes.idx"}, []string{"x.grib", "x.grib.notes.idx"}},
		{[]string{"x.grib", "x.grib.5b7b6.index"}, []string{"x.grib", "x.grib.5b7b6.index"}},
	} {
		if got := withoutSidecars(c.names); !slices.Equal(got, c.want) {
			t.Errorf("%v: got %v", c.names, got)
		}
	}
}
