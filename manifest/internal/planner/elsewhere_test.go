package planner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
)

// TestElsewhere: variables with values in folders that are not allowed are refused with the
// folders' names, unless they are dropped.
func TestElsewhere(t *testing.T) {
	for _, c := range []struct {
		name    string
		folders []string // of each file
		want    string
	}{
		{"values of one of two files", []string{"", "/data/a"}, "allow=/data/a | drop=far"},
		{"one folder", []string{"/data/a", "/data/a"}, "allow=/data/a | drop=far"},
		{"two folders", []string{"/data/b", "/data/a"}, "allow=/data/a allow=/data/b | drop=far"},
		{"many folders", strings.Split(strings.Repeat("/data/1 /data/2 ", 3)+"/data/3 /data/4 /data/5 /data/6 /data/7 /data/8 /data/9 /data/10 /data/11", " "), "allow=/data | drop=far"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMaker()
			for i, folder := range c.folders {
				w := cube("far", "time", []int64{2}, []int64{2})
				if w.v.Elsewhere = folder; folder != "" {
					w.v.Unreadable = "values are in " + folder
				}
				m.day(fmt.Sprint(i), 2*i, 2, w)
			}
			_, _, err := newPlan(m.files, nil)
			var refused *plan.Error
			if !errors.As(err, &refused) || len(refused.Findings) != 1 {
				t.Fatal(err)
			}
			if f := refused.Findings[0]; f.Code != report.VariableElsewhere || f.Array != "/far" || reporttest.Remedies(&f) != c.want {
				t.Errorf("%+v", f)
			}
			if made := planned(t, m, &plan.Options{Drop: []string{"far"}}); slices.ContainsFunc(made.Arrays, func(a manifest.Array) bool { return a.Path == "/far" }) {
				t.Error("/far is in the plan although it was dropped")
			}
		})
	}
}

// TestFewFolders: many folders are replaced by their common parent; without one, all are named.
func TestFewFolders(t *testing.T) {
	for _, c := range []struct{ format, want string }{
		{"/%d/x", "11"}, {"https://h%d.org/x", "11"}, {"https://h.org/%d", "https://h.org"}, {"/data/y%d", "/data"},
	} {
		var folders []string
		for i := range mostExamples + 1 {
			folders = append(folders, fmt.Sprintf(c.format, i))
		}
		got := fewFolders(folders)
		if len(got) == 1 && got[0] != c.want || len(got) > 1 && fmt.Sprint(len(got)) != c.want {
			t.Errorf("%s: %v", c.format, got)
		}
	}
}
