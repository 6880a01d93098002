package ingest

import (
	"errors"
	"path/filepath"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestAppendNewVariables: with RefuseNew, an append refuses variables that would be the fill value at all old positions.
func TestAppendNewVariables(t *testing.T) {
	configured(t)
	dir := t.TempDir()
	write := func(name string, times []int32, variables ...string) string {
		f := classic.File{Dims: []classic.Dim{{Name: "time", Length: len(times)}}, Vars: []classic.Var{{Name: "time", Dims: []string{"time"}, Data: times,
			Attributes: []classic.Attribute{{Name: "units", Value: "days since 1990-01-01"}}}}}
		for _, v := range variables {
			f.Vars = append(f.Vars, classic.Var{Name: v, Dims: []string{"time"}, Data: times})
		}
		name = filepath.Join(dir, name)
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		return name
	}
	old := []string{write("1.nc", []int32{1}, "v"), write("2.nc", []int32{2}, "v", "u")}
	for _, c := range []struct {
		name, file string
		want       string // the remedies of the refusal; empty if the file is added
	}{
		{"the same variables", write("3.nc", []int32{3}, "v", "u"), ""},
		{"a variable of some old files", write("4.nc", []int32{3}, "u"), ""},
		{"a new variable at all old positions", write("5.nc", []int32{1, 2}, "w"), ""},
		{"a new variable at new positions", write("6.nc", []int32{3}, "v", "w"), "allow-new | drop=w | separate-manifests"},
		{"another product", write("7.nc", []int32{3, 4, 5}, "w", "x"), "allow-new | drop=w drop=x | separate-manifests"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		mustBuild(t, out, old...)
		opts := optionsFor(c.file)
		opts.RefuseNew = true
		_, err := Append(t.Context(), out, opts)
		var refused *plan.Error
		got := ""
		if errors.As(err, &refused) {
			f := &refused.Findings[0]
			got = reporttest.Remedies(f)
			if f.Code != report.VariableAbsent || f.Count != 2 || len(refused.Findings) != 1 {
				t.Errorf("%s: %+v", c.name, refused.Findings)
			}
		}
		if got != c.want || c.want == "" && err != nil || c.want != "" && len(filesIn(t, out)) != len(old) {
			t.Errorf("%s: refused with %q, want %q: %v", c.name, got, c.want, err)
		}
		if c.want == "" {
			continue
		}
		opts.RefuseNew = false
		made, err := Append(t.Context(), out, opts)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		// A variable that the manifest has is not new.
		next := optionsFor(write("next.nc", []int32{9}, "w"))
		next.RefuseNew = true
		if again, err := Append(t.Context(), out, next); err != nil || again.Snapshot.Sources != made.Snapshot.Sources+1 {
			t.Errorf("%s, once more: %v", c.name, err)
		}
	}
}
