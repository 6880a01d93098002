package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/internal/planner"
	"varve/manifest/internal/planner/plantest"
	"varve/manifest/plan"
	"varve/manifest/repo"
	"varve/manifest/report"
	"varve/zarrjson"
)

// captureFile is a file of cases for the planner, in which lines "scan FILE" stand for the headers of files:
//
//	== the lengths of months
//	# confirmed: xarray
//	option coords first
//	scan /data/jan.nc
//	scan /data/feb.nc
//	--
//
// The test replaces these lines. Then "go test ./manifest/internal/planner -record-plans" writes the expected plan.
var captureFile = flag.String("capture", "", "replace the lines \"scan FILE\" in this file of cases of the planner")

// TestCapture: a plan of headers that were written as text is the plan of the files.
func TestCapture(t *testing.T) {
	if *captureFile == "" {
		for _, lines := range [][]string{
			{"scan ../../fixtures/demo/2021-01.nc", "scan ../../fixtures/demo/2021-02.nc", "scan ../../fixtures/demo/2021-03.nc"},
			{"option drop lon", "scan ../../fixtures/demo/2021-01.nc"},
			{"scan ../../fixtures/clib/classic.nc", "scan ../../fixtures/clib/plain.h5"},
		} {
			if out := capture(t, lines); len(out) < 10 || slices.ContainsFunc(out, isScan) {
				t.Errorf("%q", out)
			}
		}
		return
	}
	text, err := os.ReadFile(*captureFile)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i, part := range strings.Split(strings.TrimSuffix("\n"+string(text), "\n"), "\n== ") {
		lines := strings.Split(part, "\n")
		if i == 0 {
			out = append(out, lines[1:]...)
			continue
		}
		out = append(out, "== "+lines[0])
		if !slices.ContainsFunc(lines, isScan) {
			out = append(out, lines[1:]...)
			continue
		}
		t.Run(lines[0], func(t *testing.T) { out = append(out, capture(t, lines[1:])...) })
	}
	if err := os.WriteFile(*captureFile, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func isScan(line string) bool { return strings.HasPrefix(line, "scan ") }

// capture returns the lines of a case with the headers of its files.
func capture(t *testing.T, lines []string) []string {
	var names, head []string
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "scan "); ok {
			names = append(names, name)
		} else if line != "--" {
			head = append(head, line)
		}
	}
	read, err := plantest.Parse(head)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := scanArchive(t, names, &read.Options)
	if err != nil {
		t.Fatal(err)
	}
	want := planText(t, archive)
	simple, notes := plantest.Simplify(archive)
	text := plantest.Write(simple)
	again, err := plantest.Parse(text)
	if err == nil {
		err = plantest.Equal(simple, again)
	}
	if err != nil {
		t.Fatal(err)
	}
	again.Options = read.Options
	if got := planText(t, again); got != want {
		a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		t.Fatalf("line %d of the plan of the text is %q, and that of the files %q", n, a[n:min(n+9, len(a))], b[n:min(n+9, len(b))])
	}
	for _, note := range notes {
		head = append(head, "# "+note)
	}
	return append(append(head, text...), "--")
}

// scanArchive scans files, and reads the values that a plan requests. Names of files become names within their common folder.
func scanArchive(t *testing.T, names []string, opts *plan.Options) (*plantest.Archive, error) {
	configured(t)
	repository, err := repo.Create(t.Context(), filepath.Join(t.TempDir(), "out"), nil)
	if err != nil {
		return nil, err
	}
	defer repository.Close()
	checked, err := (&Options{Sources: Sources{Names: names}, Plan: *opts}).checked()
	if err != nil {
		return nil, err
	}
	j := newJob(repository, checked)
	defer j.abort()
	if names, err = j.opts.Sources.Expand(t.Context()); err != nil {
		return nil, err
	}
	if err := j.scan(t.Context(), names); err != nil {
		return nil, err
	}
	a := &plantest.Archive{Options: *opts, OnRequest: map[plantest.Place]*manifest.Values{}}
	folder := commonFolder(j.files)
	for _, f := range j.files {
		x := *f
		x.URL = "/archive/" + filepath.ToSlash(strings.TrimPrefix(f.URL, folder))
		if x.Format != "HDF4" { // plans depend on no other format
			x.Format = ""
		}
		x.Values = slices.Clone(f.Values)
		a.Files = append(a.Files, &x)
	}
	// The first plan only finds which values it requests. It keeps them in copies of the files.
	_, err = planner.New(t.Context(), copies(a.Files), opts, &keptValues{j.load(j.files), a.OnRequest})
	var refused *plan.Error
	if errors.As(err, &refused) {
		err = nil
	}
	return a, err
}

// commonFolder returns the folder of all files, with a separator at the end.
func commonFolder(files []*manifest.File) string {
	folder := filepath.Dir(files[0].URL)
	for _, f := range files {
		for !strings.HasPrefix(f.URL, folder+string(filepath.Separator)) {
			folder = filepath.Dir(folder)
		}
	}
	return folder + string(filepath.Separator)
}

func copies(files []*manifest.File) (out []*manifest.File) {
	for _, f := range files {
		x := *f
		x.Values = slices.Clone(f.Values)
		out = append(out, &x)
	}
	return out
}

// keptValues keeps the values that are requested.
type keptValues struct {
	planner.Values
	got map[plantest.Place]*manifest.Values
}

func (k *keptValues) Get(ctx context.Context, requests []planner.Request) ([]*manifest.Values, error) {
	values, err := k.Values.Get(ctx, requests)
	for i, v := range values {
		place := plantest.Place{File: requests[i].File, Variable: requests[i].Variable}
		if old := k.got[place]; v != nil && (old == nil || old.Summed) {
			k.got[place] = v
		}
	}
	return values, err
}

// known answers requests with the values of an archive.
type known struct{ of *plantest.Archive }

func (k known) Get(_ context.Context, requests []planner.Request) (values []*manifest.Values, err error) {
	for _, r := range requests {
		v := k.of.OnRequest[plantest.Place{File: r.File, Variable: r.Variable}]
		if v == nil {
			return nil, fmt.Errorf("%s: no values of variable %d", k.of.Files[r.File].URL, r.Variable)
		}
		values = append(values, v)
	}
	return values, nil
}

// planText returns a plan or its refusals as JSON, without attributes.
func planText(t *testing.T, a *plantest.Archive) string {
	t.Helper()
	made, err := planner.New(t.Context(), copies(a.Files), &a.Options, known{a})
	var refused *plan.Error
	var out struct {
		Findings   []report.Finding
		Arrays     []manifest.Array
		Placements []manifest.Placement
	}
	switch {
	case errors.As(err, &refused):
		out.Findings = refused.Findings
	case err != nil:
		t.Fatal(err)
	default:
		out.Findings, out.Placements = made.Report.Findings, made.Placements
		for _, x := range made.Arrays {
			x.Schema.Attributes = zarrjson.Attributes{}
			out.Arrays = append(out.Arrays, x)
		}
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
