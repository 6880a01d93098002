package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/internal/planner/plantest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
	"varve/manifest/scan"
	"varve/manifest/store"
)

// dailyFile writes a file with the number 10×day+k for the k-th of its variables on each day.
func dailyFile(t *testing.T, name, units string, days []int32, variables ...string) string {
	t.Helper()
	f := classic.File{Dims: []classic.Dim{{Name: "time", Length: len(days)}}, Vars: []classic.Var{{Name: "time", Dims: []string{"time"}, Data: days,
		Attributes: []classic.Attribute{{Name: "units", Value: "days since 1990-01-01"}}}}}
	for k, v := range variables {
		data := make([]float64, len(days))
		for i, d := range days {
			data[i] = float64(10*int(d) + k)
		}
		f.Vars = append(f.Vars, classic.Var{Name: v, Dims: []string{"time"}, Data: data, Attributes: []classic.Attribute{{Name: "units", Value: units}}})
	}
	if err := f.Write(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// remedied is a refusal of this package, and what may change if its remedies are followed.
type remedied struct {
	name    string
	first   func(t *testing.T, dir string) []string // files of a manifest; nil: the refusal is of a build
	sources func(t *testing.T, dir string) Sources
	opts    Options
	code    report.Code // of the refusal, or empty for an error
	truth   values
	changes map[report.Consequence]values // what remedies give whose text says that values change
}

// values are the values of arrays, as many for each day from the first on.
type values map[string][]float64

// set applies a setting of a remedy. It returns false for an action.
func set(opts *Options, s report.Setting) (ok bool, err error) {
	switch s.Option {
	case report.AllowNew:
		opts.RefuseNew = false
	case report.SkipKnown:
		opts.SkipKnown = true
	case report.SkipBroken:
		opts.SkipBroken = true
	case report.Match:
		opts.Sources.Match = s.Value
	case report.KeepQuery:
		opts.Plan.KeepQuery = append(opts.Plan.KeepQuery, s.Value)
	case report.RepackLoss:
		opts.Plan.RepackLossy = append(opts.Plan.RepackLossy, s.Value)
	case report.ValueBytes:
		opts.ValueBytes, err = strconv.ParseInt(s.Value, 10, 64)
		return err == nil, err
	case report.Separate, report.Refresh:
		return false, nil
	default:
		opts.Replan = true
		return true, plantest.SetOption(&opts.Plan, string(s.Option), s.Value)
	}
	return true, nil
}

// TestRemediesKeepValues applies each remedy of each refusal that this package makes, as TestRemediesKeepCoordinates does for those of
// the planner: every day then has the values of its file, or those that the remedy says. Separate manifests have them together.
func TestRemediesKeepValues(t *testing.T) {
	configured(t)
	used := reporttest.Followed{}
	old := func(t *testing.T, dir string) []string {
		return []string{dailyFile(t, filepath.Join(dir, "1.nc"), "K", []int32{1}, "v"), dailyFile(t, filepath.Join(dir, "2.nc"), "K", []int32{2}, "v")}
	}
	named := func(names ...func(t *testing.T, dir string) string) func(*testing.T, string) Sources {
		return func(t *testing.T, dir string) (s Sources) {
			for _, f := range names {
				s.Names = append(s.Names, f(t, dir))
			}
			return s
		}
	}
	file := func(name, units string, days []int32, variables ...string) func(*testing.T, string) string {
		return func(t *testing.T, dir string) string {
			return dailyFile(t, filepath.Join(dir, name), units, days, variables...)
		}
	}
	nan := math.NaN()
	for _, c := range []remedied{
		{name: "a new variable", first: old, sources: named(file("3.nc", "K", []int32{3}, "v", "w")), opts: Options{RefuseNew: true}, code: report.VariableAbsent,
			truth: values{"/v": {10, 20, 30}, "/w": {nan, nan, 31}}},
		{name: "another product", first: old, sources: named(file("3.nc", "K", []int32{3}, "w")), opts: Options{RefuseNew: true}, code: report.VariableAbsent,
			truth: values{"/v": {10, 20, nan}, "/w": {nan, nan, 30}}},
		{name: "a known file", first: old, sources: func(t *testing.T, dir string) Sources {
			return Sources{Names: []string{filepath.Join(dir, "2.nc"), dailyFile(t, filepath.Join(dir, "3.nc"), "K", []int32{3}, "v")}}
		}, code: report.KnownSource, truth: values{"/v": {10, 20, 30}}},
		{name: "a replaced file", first: old, sources: func(t *testing.T, dir string) Sources {
			name := dailyFile(t, filepath.Join(dir, "2.nc"), "K", []int32{2}, "v")
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(name, later, later); err != nil {
				t.Fatal(err)
			}
			return Sources{Names: []string{name, dailyFile(t, filepath.Join(dir, "3.nc"), "K", []int32{3}, "v")}}
		}, opts: Options{SkipKnown: true}, truth: values{"/v": {10, 20, 30}}},
		{name: "other units", first: old, sources: named(file("3.nc", "degC", []int32{3}, "v")), code: report.UnitsDiffer, truth: values{"/v": {10, 20, 303.15}},
			changes: map[report.Consequence]values{report.KeepsNumbers: {"/v": {10, 20, 30}}}},
		{name: "a README", sources: func(t *testing.T, dir string) Sources {
			old(t, dir)
			writeText(t, filepath.Join(dir, "README.md"), "# Data\n")
			return Sources{Names: []string{dir}}
		}, code: report.UnreadableFile, truth: values{"/v": {10, 20}}},
		{name: "a damaged file", sources: func(t *testing.T, dir string) Sources {
			writeText(t, filepath.Join(dir, "3.nc"), "CDF")
			return Sources{Names: append(old(t, dir), filepath.Join(dir, "3.nc"))}
		}, code: report.UnreadableFile, truth: values{"/v": {10, 20}}},
		{name: "a packing with too few numbers", sources: func(t *testing.T, dir string) Sources {
			return Sources{Names: []string{packedFile(t, dir, 1, 0.01, 0, 100, 200), packedFile(t, dir, 2, 1, 0, 1000, 2)}}
		}, opts: Options{Plan: plan.Options{Repack: []plan.Repack{{Array: "v", Scale: 0.01}}}}, code: report.RepackChanges,
			truth: values{"/v": {1, 2, 1000, 2}}, changes: map[report.Consequence]values{report.LosesRange: {"/v": {1, 2, 327.67, 2}}}},
		{name: "times that are too many to keep", sources: named(file("1.nc", "K", []int32{1, 3, 4}, "v"), file("2.nc", "K", []int32{2, 3, 5}, "v")),
			opts: Options{ValueBytes: 8, Plan: plan.Options{Join: map[string]plan.Join{"time": plan.JoinOuter}}}, code: report.OverlapUnknown, truth: values{"/v": {10, 20, 30, 40, 50}}},
	} {
		tried := 0
		for i := 0; ; i++ {
			dir := t.TempDir()
			out := filepath.Join(t.TempDir(), "o.varve")
			if c.first != nil {
				mustBuild(t, out, c.first(t, dir)...)
			}
			opts := c.opts
			opts.Sources = c.sources(t, dir)
			do := Build
			if c.first != nil {
				do = Append
			}
			_, err := do(t.Context(), out, &opts)
			remedies, ok := remediesIn(err, c.code)
			if !ok {
				t.Errorf("%s: not refused with %s: %v", c.name, c.code, err)
			}
			if i >= len(remedies) {
				break
			}
			r := remedies[i]
			truth := c.truth
			if changed := c.changes[r.Consequence]; changed != nil {
				truth = changed
			}
			tried++
			if says := followed(t.Context(), out, do, &opts, &r, truth); says != "" {
				t.Errorf("%s: %s %s: %q", c.name, r.Option, r.Value, says)
			}
			used.Add(&r)
		}
		if tried == 0 {
			t.Errorf("%s has no remedy", c.name)
		}
	}
	followDamage(t, used)
	used.Check(t, "../report/reporttest/testdata/followed", "ingest")
}

// followDamage applies the remedies of a damaged variable: the other variables keep all their values, or those of the file that is left.
func followDamage(t *testing.T, used reporttest.Followed) {
	whole := filepath.Join(t.TempDir(), "whole.varve")
	mustBuild(t, whole, brokenArchive(t))
	for i := 0; ; i++ {
		dir, out := brokenArchive(t, "index of u"), filepath.Join(t.TempDir(), "o.varve")
		opts := &Options{Sources: Sources{Names: []string{dir}}}
		_, err := Build(t.Context(), out, opts)
		remedies, ok := remediesIn(err, report.UnreadableFile)
		if !ok || len(remedies) != 2 {
			t.Fatalf("%v of %v", remedies, err)
		}
		if i == len(remedies) {
			return
		}
		arrays := []string{"/t", "/x", "/time", "/seen", "/u"}
		if r := remedies[i]; r.Option == report.Drop {
			arrays = arrays[:4]
		}
		if _, err := set(opts, remedies[i].Setting); err != nil {
			t.Fatal(err)
		}
		if _, err := Build(t.Context(), out, opts); err != nil {
			t.Fatal(err)
		}
		used.Add(&remedies[i])
		for _, path := range arrays {
			want, a := decoded(t, whole, path, true)
			got, b := decoded(t, out, path, true)
			if remedies[i].Option == report.SkipBroken && a.Schema().Shape[0] != b.Schema().Shape[0] { // the first file is left
				want = want[:len(got)]
			}
			if len(got) == 0 || !slices.EqualFunc(got, want, same) {
				t.Errorf("%s: %s is %v, want %v", remedies[i].Option, path, got, want)
			}
		}
	}
}

// remediesIn returns the remedies of the first refusal with a code, or those of an error.
func remediesIn(err error, code report.Code) (remedies []report.Remedy, ok bool) {
	var refused *plan.Error
	var broken *scan.BrokenError
	var advice *manifest.RemedyError
	var findings []report.Finding
	switch {
	case errors.As(err, &refused):
		findings = refused.Findings
	case errors.As(err, &broken):
		findings = UnreadableFindings(broken)
	case errors.As(err, &advice) && code == "":
		for _, r := range advice.Remedies {
			remedies = append(remedies, report.Do(report.Option(r.Option), r.Value, ""))
		}
		return remedies, true
	}
	for _, f := range findings {
		if f.Code == code {
			return f.Remedies, true
		}
	}
	return nil, false
}

// followed follows a remedy, and compares the arrays with the truth: all their values, except variables that the remedy leaves out.
func followed(ctx context.Context, out string, do func(context.Context, string, *Options) (*Result, error), opts *Options, r *report.Remedy, truth values) string {
	again, made := *opts, []string{out}
	truth = maps.Clone(truth)
	for _, s := range append([]report.Setting{r.Setting}, r.With...) {
		ok, err := set(&again, s)
		if err != nil {
			return err.Error()
		}
		switch {
		case s.Option == report.Drop:
			delete(truth, "/"+strings.TrimPrefix(s.Value, "/"))
		case s.Option == report.Refresh:
			if _, err := Refresh(ctx, out, &Options{}); err != nil {
				return err.Error()
			}
			again.SkipKnown = true
		case s.Option == report.Separate: // the manifest stays, and the new files get another one
			out, do = out+" apart", Build
			made = append(made, out)
			again.RefuseNew = false
		case !ok:
			return fmt.Sprintf("no action for %s", s.Option)
		}
	}
	if _, err := do(ctx, out, &again); err != nil {
		return err.Error()
	}
	return differences(ctx, made, truth)
}

// differences describes the first array of manifests that has other values than the truth on a day. Together, the manifests have to have all values
// of all days, and no array more.
func differences(ctx context.Context, manifests []string, truth values) string {
	seen := map[string][]bool{}
	for path, want := range truth {
		seen[path] = make([]bool, len(want))
	}
	for _, dir := range manifests {
		s, err := store.Open(ctx, dir, &store.Options{Trusted: true})
		if err != nil {
			return err.Error()
		}
		defer s.Close()
		days, _, err := numbersOf(ctx, s, "/time", true)
		if err != nil {
			return err.Error()
		}
		for _, a := range s.Arrays() {
			if a.Path() == "/time" {
				continue
			}
			want, ok := truth[a.Path()]
			if !ok {
				return "there is an array " + a.Path()
			}
			got, _, err := numbersOf(ctx, s, a.Path(), true)
			if err != nil {
				return err.Error()
			}
			each := len(got) / len(days)
			for i, x := range got {
				at := (int(days[i/each])-1)*each + i%each
				if at >= len(want) || !same(x, want[at]) {
					return fmt.Sprintf("%s of %v is %v, not %v", a.Path(), days, got, want)
				}
				seen[a.Path()][at] = true
			}
		}
	}
	for path, list := range seen {
		for i, ok := range list {
			if !ok && !math.IsNaN(truth[path][i]) {
				return fmt.Sprintf("%s lacks value %d", path, i)
			}
		}
	}
	return ""
}
