package ingest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/scan"
)

// brokenArchive makes a folder with two files, and damages one object of the second.
func brokenArchive(t *testing.T, what ...string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/places.json")
	if err != nil {
		t.Fatal(err)
	}
	var places map[string]int
	if err := json.Unmarshal(raw, &places); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"spared_0.nc", "spared_1.nc"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, thing := range what {
			if name == "spared_1.nc" && places[thing] == 0 {
				t.Fatalf("testdata/places.json has no position of %q", thing)
			}
			if name == "spared_1.nc" {
				data[places[thing]] ^= 0xe0
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDamageOfSelectedVariables: a build is refused only if selected variables are damaged, and the
// remedy works.
func TestDamageOfSelectedVariables(t *testing.T) {
	for _, c := range []struct {
		damaged string
		vars    string
		drop    string
		concat  string // the dimension that the second attempt must name besides the advice
		advice  string // what the remedy drops; empty if nothing is refused
		arrays  string // the arrays of the result; empty if no variable is left
	}{
		{"index of u", "", "", "", "/u", "/seen /t /time /x"},
		{"index of u", "", "u", "", "", "/seen /t /time /x"},
		{"index of u", "t", "", "", "", "/t /time /x"},
		{"index of u", "u", "t", "", "/u", ""},
		{"index of t, index of u", "", "", "", "/t /u", "/seen /time /x"},
		{"index of t, index of u", "", "t", "", "/u", "/seen /time /x"},
		{"header of u", "", "", "", "/u", "/seen /t /time /x"},
		{"header of u", "", "u", "", "", "/seen /t /time /x"},
		{"header of u", "t", "", "", "/u", "/t /time /x"}, // u may be a group that contains another t
		{"header of time", "t", "", "time", "/time", "/t /x"},
		{"attribute of u", "", "", "", "/u", "/seen /t /time /x"},
		{"attribute of u", "t", "", "", "", "/t /time /x"},
		{"attribute of seen", "t", "", "", "/seen", "/t /time /x"}, // seen may be a time coordinate
		{"attribute of seen", "t", "seen", "", "", "/t /time /x"},
		{"attribute of seen", "x", "", "", "", "/x"},
		{"attribute of the root", "", "", "", "/@", "/seen /t /time /u /x"},
		{"attribute of the root", "", "*", "", "/@", ""},
		{"attribute of the root", "", "@*", "", "", "/seen /t /time /u /x"},
	} {
		t.Run(strings.Join([]string{c.damaged, c.vars, c.drop}, ","), func(t *testing.T) {
			opts := &Options{Sources: Sources{Names: []string{brokenArchive(t, strings.Split(c.damaged, ", ")...)}}, Plan: plan.Options{Vars: strings.Fields(c.vars), Drop: strings.Fields(c.drop)}}
			outcome, err := Check(t.Context(), opts)
			var broken *scan.BrokenError
			if errors.As(err, &broken) != (c.advice != "") || err != nil && c.advice == "" {
				t.Fatalf("%v, want advice to drop %q", err, c.advice)
			}
			if c.advice != "" {
				f := outcome.Report.Findings[0]
				drop := droppedBy(f)
				if f.Code != report.UnreadableFile || strings.Join(drop, " ") != c.advice || f.Remedies[len(f.Remedies)-1].Option != report.SkipBroken {
					t.Fatalf("%+v", f)
				}
				opts.Plan.Drop, opts.Plan.Concat = append(opts.Plan.Drop, drop...), strings.Fields(c.concat)
				outcome, err = Check(t.Context(), opts)
			}
			if c.arrays == "" {
				if nothing := (*plan.OptionError)(nil); !errors.As(err, &nothing) {
					t.Fatalf("error %v, want a *plan.OptionError because no variable is left", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range outcome.Snapshot.Arrays {
				got = append(got, outcome.Snapshot.Arrays[i].Path)
			}
			if slices.Sort(got); strings.Join(got, " ") != c.arrays {
				t.Errorf("the arrays are %v, want %s", got, c.arrays)
			}
			for _, g := range outcome.Snapshot.Groups {
				if kept := strings.Contains(string(g.Attributes.JSON()), "title"); kept == slices.Contains(opts.Plan.Drop, "@*") {
					t.Errorf("the attributes of the group are %s", g.Attributes.JSON())
				}
			}
		})
	}
}

// TestDamageInParts: a scan part holds undamaged variables if damaged ones were dropped, and a
// build from it must drop them again.
func TestDamageInParts(t *testing.T) {
	dir, part := brokenArchive(t, "index of u", "attribute of the root"), filepath.Join(t.TempDir(), "part")
	from := func(name string, drop ...string) *Options {
		return &Options{Sources: Sources{Names: []string{name}}, Plan: plan.Options{Drop: drop, Vars: []string{"nothing"}}}
	}
	if _, err := Scan(t.Context(), part, from(dir)); err == nil || !advises(err, "/@", "/u") {
		t.Fatalf("%v, want advice to drop u and the attribute", err)
	}
	if _, err := os.Stat(part); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the refused scan left a part: %v", err)
	}
	if _, err := Scan(t.Context(), part, from(dir, "/@", "/u", "/t")); err != nil {
		t.Fatal(err)
	}
	all := from(part)
	all.Plan.Vars = nil
	var refused *plan.Error
	if _, err := Check(t.Context(), all); !errors.As(err, &refused) || !slices.Equal(droppedBy(refused.Findings[0]), []string{"u"}) {
		t.Fatalf("error %v, want advice to drop u", err)
	}
	all.Plan.Drop = []string{"/u"}
	outcome, err := Check(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range outcome.Snapshot.Arrays {
		got = append(got, outcome.Snapshot.Arrays[i].Path)
	}
	if slices.Sort(got); strings.Join(got, " ") != "/seen /t /time /x" {
		t.Errorf("the arrays are %v", got)
	}
}

// TestDamageSelectedLater: damaged variables that a manifest or a kept scan left out are refused if
// they are selected later.
func TestDamageSelectedLater(t *testing.T) {
	configured(t)
	dir := brokenArchive(t, "index of u")
	out, kept := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "kept")
	one, other := filepath.Join(dir, "spared_1.nc"), filepath.Join(dir, "spared_0.nc")
	how := func(name string, drop ...string) *Options {
		return &Options{Sources: Sources{Names: []string{name}}, KeepScan: kept, Plan: plan.Options{Drop: drop}}
	}
	if _, err := Build(t.Context(), out, how(one, "u")); err != nil {
		t.Fatal(err)
	}
	var broken *scan.BrokenError
	if _, err := Check(t.Context(), how(dir)); !errors.As(err, &broken) {
		t.Errorf("error %v, want a *scan.BrokenError although a kept scan left out u", err)
	}
	if _, err := Append(t.Context(), out, how(other)); err != nil {
		t.Errorf("append with the options of the manifest: %v", err)
	}
	if err := os.Rename(other, other+".again"); err != nil {
		t.Fatal(err)
	}
	again := how(other+".again", "seen")
	again.Replan, again.Plan.Overlap = true, plan.OverlapFirst
	var refused *plan.Error
	_, err := Append(t.Context(), out, again)
	if !errors.As(err, &refused) || !slices.Equal(droppedBy(refused.Findings[0]), []string{"u"}) {
		t.Fatalf("error %v, want advice to drop u, which is selected now", err)
	}
	again.Plan.Drop = append(again.Plan.Drop, "/u")
	if _, err := Append(t.Context(), out, again); err != nil {
		t.Errorf("append that drops u: %v", err)
	}
}

// droppedBy returns the variables that the first remedy of a finding drops.
func droppedBy(f report.Finding) (drop []string) {
	for _, s := range append([]report.Setting{f.Remedies[0].Setting}, f.Remedies[0].With...) {
		if s.Option == report.Drop {
			drop = append(drop, s.Value)
		}
	}
	return drop
}

// advises reports whether the first source of an error can be read without given variables.
func advises(err error, drop ...string) bool {
	var broken *scan.BrokenError
	return errors.As(err, &broken) && slices.Equal(droppedBy(UnreadableFindings(broken)[0]), drop)
}
