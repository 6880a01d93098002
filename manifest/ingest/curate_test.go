package ingest

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/classic"
	"varve/manifest"
	"varve/manifest/plan"
)

// curatedFiles writes n files of two days each, with equal headers except the attribute history.
func curatedFiles(t *testing.T, n int) (names []string) {
	t.Helper()
	dir := t.TempDir()
	attribute := func(name, value string) []classic.Attribute { return []classic.Attribute{{Name: name, Value: value}} }
	for i := range n {
		f := &classic.File{
			Dims:       []classic.Dim{{Name: "time", Length: 2, Records: true}, {Name: "y", Length: 3}},
			Attributes: append(attribute("history", "made"), attribute("title", "old title")...),
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Attributes: attribute("units", "days since 2000-01-01"), Data: []float64{float64(2 * i), float64(2*i + 1)}},
				{Name: "y", Dims: []string{"y"}, Attributes: attribute("units", "degrees_north"), Data: []float64{1, 2, 3}},
				{Name: "t2m", Dims: []string{"time", "y"}, Attributes: append(attribute("units", "C"), attribute("comment", "old")...), Data: make([]float32, 6)},
				{Name: "t2m_qc", Dims: []string{"time", "y"}, Data: make([]int8, 6)},
			},
		}
		name := filepath.Join(dir, fmt.Sprintf("%02d.nc", i))
		if err := f.Write(name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func curation(t *testing.T, text string) *plan.Curation {
	t.Helper()
	c, err := plan.ParseCuration([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const curatedText = `
attributes: {title: new title, history: null}
variables:
  t2m: {rename: temperature, units: K, attributes: {comment: null, levels: [1, 2]}, coordinates: [lat]}
  "*_qc": {drop: true}
dimensions: {y: lat}
`

// described returns the names and attributes of a snapshot as text.
func described(s *manifest.Snapshot) string {
	var b strings.Builder
	for _, g := range s.Groups {
		fmt.Fprintf(&b, "%s %s\n", g.Path, g.Attributes.JSON())
	}
	for i := range s.Arrays {
		a := &s.Arrays[i]
		fmt.Fprintf(&b, "%s %v %v %s\n", a.Path, a.Dims, a.Schema.Shape, a.Schema.Attributes.JSON())
	}
	return b.String()
}

// TestCuration applies a curation to a build, an append that extends the plan, a sync that plans again, and to an existing
// manifest. All must have the same names and attributes, and each removal of the curation restores those of the files.
func TestCuration(t *testing.T) {
	configured(t)
	files := curatedFiles(t, 4)
	c := curation(t, curatedText)
	want := func(days int) string {
		return fmt.Sprintf(`/ {"title":"new title"}
/lat [/lat] [3] {"units":"degrees_north"}
/temperature [/time /lat] [%d 3] {"units":"K","levels":[1,2],"coordinates":"lat"}
/time [/time] [%d] {"units":"days since 2000-01-01"}
`, days, days)
	}
	check := func(what, out string, days int) {
		t.Helper()
		if got := described(current(t, out)); got != want(days) {
			t.Errorf("%s: got\n%swant\n%s", what, got, want(days))
		}
	}
	out := filepath.Join(t.TempDir(), "a.varve")
	o := optionsFor(files[:2]...)
	o.Plan.Curation = c
	if _, err := Build(t.Context(), out, o); err != nil {
		t.Fatal(err)
	}
	check("build", out, 4)
	appended, err := Append(t.Context(), out, optionsFor(files[2]))
	if err != nil {
		t.Fatal(err)
	}
	if len(appended.Report.Findings) > 0 {
		t.Errorf("the append planned again: %+v", appended.Report.Findings)
	}
	check("append", out, 6)
	if _, err := Sync(t.Context(), out, optionsFor(files[1:]...)); err != nil {
		t.Fatal(err)
	}
	check("sync", out, 6)
	modify(t, files[2:3])
	if result, err := Refresh(t.Context(), out, optionsFor()); err != nil || len(result.Replaced) != 1 {
		t.Fatal(result, err)
	}
	check("refresh", out, 6)

	plainOut := filepath.Join(t.TempDir(), "b.varve")
	o = optionsFor(files[1:]...)
	o.Checksums = true
	built, err := Build(t.Context(), plainOut, o)
	if err != nil {
		t.Fatal(err)
	}
	plainText := described(built.Snapshot)
	if _, err := Curate(t.Context(), plainOut, c, &Options{}); err != nil {
		t.Fatal(err)
	}
	check("curate", plainOut, 6)
	refs := func(s *manifest.Snapshot) (names []string) {
		for _, table := range s.Tables {
			if table.Kind == manifest.Refs {
				names = append(names, table.Name)
			}
		}
		return names
	}
	if now := current(t, plainOut); !now.Checksums || !slices.Equal(refs(now), refs(built.Snapshot)) || now.Sources != 3 {
		t.Errorf("curate changed the refs: %+v, before %+v", now, built.Snapshot)
	}
	if _, err := Curate(t.Context(), plainOut, curation(t, ""), &Options{}); err != nil {
		t.Fatal(err)
	}
	if got := described(current(t, plainOut)); got != plainText {
		t.Errorf("without a curation: got\n%swant\n%s", got, plainText)
	}
}

// TestCurationUnknown refuses names that nothing has, and names similar ones. Later files may lack them.
func TestCurationUnknown(t *testing.T) {
	configured(t)
	out := filepath.Join(t.TempDir(), "a.varve")
	if _, err := Build(t.Context(), out, optionsFor(curatedFiles(t, 2)...)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{"variables: {t2n: {units: K}}", `"t2m"`},
		{"variables: {t2n: {rename: x}}", `"t2m"`},
		{"variables: {t2n: {drop: true}}", `"t2m"`},
		{"variables: {'x*': {drop: true}}", "/t2m"},
		{"variables: {t2m: {attributes: {coment: null}}}", `"comment"`},
		{"attributes: {histori: null}", `"history"`},
		{"variables: {t2m: {coordinates: [z]}}", `"y"`},
		{"coordinates: [tine]", `"time"`},
		{"dimensions: {tine: x}", `"time"`},
		{"groups: {model: {attributes: {a: b}}}", "no group"},
		{"variables: {time: {units: days since 1990-01-01}}", "units of /time are of times"},
		{"variables: {time: {attributes: {units: null}}}", "units of /time are of times"},
		{"variables: {t2m: {units: days since 1990-01-01}}", "units of /t2m are of times"},
	} {
		before := current(t, out).ID
		_, err := Curate(t.Context(), out, curation(t, c.text), &Options{})
		if option, is := errors.AsType[*plan.OptionError](err); !is || !strings.Contains(option.Says, c.want) {
			t.Errorf("%s: got %v, want %s", c.text, err, c.want)
		}
		if current(t, out).ID != before {
			t.Errorf("%s: there is a new snapshot", c.text)
		}
	}
}
