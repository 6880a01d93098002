package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
	english "varve/manifest/report/text"
)

// TestOptionsWithoutEffect: an option that matches nothing in the files is an error.
func TestOptionsWithoutEffect(t *testing.T) {
	for _, tt := range []struct {
		options  plan.Options
		option   string
		remedies string
	}{
		{plan.Options{Rename: []plan.Rename{{Old: "T", New: "t"}}}, "rename=T=t", ""},
		{plan.Options{CodecFrom: "x.nc"}, "codec-from=x.nc", ""},
		{plan.Options{Concat: []string{"tme"}}, "concat=tme", ""},
		{plan.Options{Vars: []string{"T*", "u*"}}, "vars=T*,u*", ""},
		{plan.Options{Vars: []string{"T", "u*"}}, "vars=T", "vars=t"},
		{plan.Options{Vars: []string{"t", "tme"}}, "vars=tme", "vars=time"},
		{plan.Options{Drop: []string{"tme"}}, "drop=tme", "drop=time"},
		{plan.Options{Drop: []string{"/u/t"}}, "drop=/u/t", ""},
		{plan.Options{Drop: []string{"tme"}, Curation: &plan.Curation{IsNew: true, Drop: []string{"time"}}}, "drop=tme", "drop=time"},
		{plan.Options{Curation: &plan.Curation{IsNew: true, Drop: []string{"u*"}}}, "curation=u*", ""},
		{plan.Options{Group: "/sea"}, "group=/sea", ""},
		{plan.Options{Schemas: []plan.Override{{Array: "T", Type: "float32"}}}, "dtype=T=float32", ""},
		{plan.Options{Schemas: []plan.Override{{Array: "t", Type: "float17"}}}, "dtype=t=float17", ""},
		{plan.Options{Schemas: []plan.Override{{Array: "u*", Chunks: map[string][]int64{"time": {1}}}}}, "chunk-edges=u*:time", ""},
		{plan.Options{Schemas: []plan.Override{{Array: "t", Chunks: map[string][]int64{"tme": {1}}}}}, "chunk-edges=t:tme", ""},
		{plan.Options{Concat: []string{"run"}}, "concat=run", "new-dim=run=var:run"},
		{plan.Options{NewDims: []plan.NewDim{{Name: "time", Pattern: `(\d)`}}}, "new-dim=time", "rename=time=NAME"},
		{plan.Options{NewDims: []plan.NewDim{{Name: "run", Pattern: `(\d)`}}}, "new-dim=run", "new-dim=run=var:run | rename=run=NAME | drop=run"},
		{plan.Options{NewDims: []plan.NewDim{{Name: "n", Variable: "nn"}}}, "new-dim=n=var:nn", ""},
		{plan.Options{NewDims: []plan.NewDim{{Name: "n", Variable: "runn"}}}, "new-dim=n=var:runn", "new-dim=n=var:run"},
	} {
		m := newMaker()
		m.day("1", 0, 2, scalar("run", 1))
		m.day("2", 2, 2, scalar("run", 2))
		_, _, err := newPlan(m.files, &tt.options)
		var option *plan.OptionError
		if !errors.As(err, &option) || (&english.Printer{}).Setting(option.Setting) != tt.option ||
			reporttest.Remedies(&report.Finding{Remedies: option.Remedies}) != tt.remedies {
			t.Errorf("got %v, want an error of %s", err, tt.option)
		}
	}
	m := newMaker()
	m.day("1", 0, 2)
	if _, _, err := newPlan(m.files, &plan.Options{NewDims: []plan.NewDim{{Name: "run", Values: []string{"1"}}}, Schemas: []plan.Override{{Array: "run", Type: "int64"}, {Array: "*", Chunks: map[string][]int64{"run": {1}}}}}); err != nil {
		t.Error(err)
	}
}

// TestPatternsWithoutEffect: a glob that matches nothing is a finding. Names of recipes, of files of options and of
// stored options may match nothing.
func TestPatternsWithoutEffect(t *testing.T) {
	stored := plan.Options{Vars: []string{"t", "tmp"}, Drop: []string{"u*", "x"}}
	text, err := json.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	if stored = (plan.Options{}); json.Unmarshal(text, &stored) != nil {
		t.Fatal("stored options cannot be read")
	}
	added := stored
	added.Drop = append(slices.Clone(stored.Drop), "y*")
	for name, c := range map[string]struct {
		options plan.Options
		want    string // the options of the findings
	}{
		"globs":            {plan.Options{Vars: []string{"[t]", "u*"}, Drop: []string{"?x", "@title"}}, "vars=u* drop=?x"},
		"a glob with a \\": {plan.Options{Drop: []string{`u\*`}}, `drop=u\*`},
		"a recipe": {plan.Options{Vars: []string{"t", "tmp"}, Drop: []string{"u*"},
			Optional: []report.Setting{{Option: report.Vars, Value: "tmp"}, {Option: report.Drop, Value: "u*"}}}, ""},
		"stored":            {stored, ""},
		"stored, and a new": {added, "drop=y*"},
	} {
		m := newMaker()
		m.day("1", 0, 2)
		m.day("2", 2, 2)
		p, _, err := newPlan(m.files, &c.options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, f := range p.Report.Findings {
			if f.Code == report.UnmatchedGlob {
				got = append(got, string(f.By.Option)+"="+f.By.Value)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}

// TestDimensionsOfOneName: options may give two dimensions one name only if they have the same
// length. Dimensions that no variable uses, and dimensions outside the chosen group, are ignored.
func TestDimensionsOfOneName(t *testing.T) {
	planned := func(opts plan.Options, length int64) error {
		m := newMaker()
		for i := range 2 {
			m.file(fmt.Sprint(i), days(2*i, 2), cube("t", "time wide", []int64{2, length}, []int64{2, length}), cube("u", "time narrow", []int64{2, 3}, []int64{2, 3}),
				cube("g/u", "g/narrow", []int64{4}, []int64{4}))
		}
		_, needs, err := newPlan(m.files, &opts)
		if err == nil && len(needs) > 0 && opts.Group == "" {
			t.Errorf("the plan requests %v", needs)
		}
		return err
	}
	for _, c := range []struct {
		opts   plan.Options
		length int64
		want   string // names and lengths in the error
	}{
		{plan.Options{Rename: []plan.Rename{{Old: "wide", New: "narrow"}}, Drop: []string{"g/u"}}, 5, "/wide 5 /narrow 3"},
		{plan.Options{Rename: []plan.Rename{{Old: "wide", New: "narrow"}}, Drop: []string{"g/u"}}, 3, ""},
		{plan.Options{Rename: []plan.Rename{{Old: "wide", New: "narrow"}}, Drop: []string{"g/u", "t"}}, 5, "wide"},
		{plan.Options{Group: "g", Concat: []string{"narrow"}}, 5, ""},
	} {
		err := planned(c.opts, c.length)
		if c.want == "" && err != nil || c.want != "" && !mentions(err, strings.Fields(c.want)...) {
			t.Errorf("%+v, length %d: got %v, want an error that names %q", c.opts, c.length, err, c.want)
		}
	}
}
