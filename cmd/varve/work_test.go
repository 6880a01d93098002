package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/fixtures/classic"
)

// workArchive makes an archive of n files of one day each.
func workArchive(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		f := classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1, Records: true}, {Name: "x", Length: 2}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Data: []float64{float64(i)}, Attributes: []classic.Attribute{{Name: "units", Value: "days since 2000-01-01"}}},
				{Name: "v", Dims: []string{"time", "x"}, Data: []int16{int16(i), int16(-i)}},
			},
		}
		if err := f.Write(filepath.Join(dir, fmt.Sprintf("%03d.nc", i))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tablesOf returns the names of the tables of a manifest, which depend on their bytes.
func tablesOf(t *testing.T, out string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(out, "tables"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestWork checks that the steps give the tables of one build, in spite of broken files, of slices that run twice or in
// another order, and of damaged parts, and that each step can be repeated.
func TestWork(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	archive, dir := workArchive(t, 9), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	plan := []string{"work", "plan", "-o", file("s.jsonl"), "--files", "2", "build", file("out.varve"), archive, "--skip-broken", "--match", "*.nc", "-m", "a, b"}
	broken := filepath.Join(archive, "004.nc")
	writeFile(t, broken, []byte("CDF\x01 and no more"))
	mustRun(t, plan...)
	first := readText(t, file("s.jsonl"))
	if mustRun(t, plan...); readText(t, file("s.jsonl")) != first {
		t.Error("the same plan has other slices")
	}
	out, code, err := run(t, "work", "finish", file("s.jsonl"))
	if code == 0 || !strings.Contains(err.Error(), "work run "+file("s.jsonl")+" 0 1 2 3 4") {
		t.Errorf("without parts: %d, %v\n%s", code, err, out)
	}
	for _, number := range []string{"3", "0", "3"} {
		mustRun(t, "work", "run", file("s.jsonl"), number)
	}
	mustRun(t, "work", "run", file("s.jsonl"))
	parts, err := filepath.Glob(file("s.parts/*.parquet"))
	if err != nil || len(parts) != 5 {
		t.Fatalf("%q, %v", parts, err)
	}
	whole := readText(t, parts[1])
	for what, text := range map[string]string{"truncated": whole[:len(whole)/2], "empty": "", "of other files": readText(t, parts[0])} {
		writeFile(t, parts[1], []byte(text))
		_, code, err := run(t, "work", "finish", file("s.jsonl"))
		if code == 0 || !strings.Contains(err.Error(), parts[1]) || !strings.Contains(err.Error(), "s.jsonl 1\n") {
			t.Errorf("%s: %d, %v", what, code, err)
		}
		if mustRun(t, "work", "run", file("s.jsonl")); readText(t, parts[1]) != whole {
			t.Errorf("%s: the part is not scanned again", what)
		}
	}
	for range 2 {
		mustRun(t, "work", "finish", file("s.jsonl"))
	}
	mustRun(t, "build", file("local.varve"), archive, "--skip-broken")
	if got, want := tablesOf(t, file("out.varve")), tablesOf(t, file("local.varve")); !slices.Equal(got, want) {
		t.Errorf("got tables %q, want %q", got, want)
	}
	history := inJSON[[]historyJSON](t, "history", file("out.varve"), "--json")
	if len(history) != 1 || !strings.HasPrefix(history[0].Message, "a, b (work ") {
		t.Errorf("%+v", history)
	}
}

// TestWorkNamesBroken checks that a run names all broken files, and scans the other slices.
func TestWorkNamesBroken(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	archive, dir := workArchive(t, 6), t.TempDir()
	for _, name := range []string{"001.nc", "004.nc"} {
		writeFile(t, filepath.Join(archive, name), []byte("CDF\x01 and no more"))
	}
	list := filepath.Join(dir, "s.jsonl")
	mustRun(t, "work", "plan", "-o", list, "--files", "2", "build", filepath.Join(dir, "out.varve"), archive)
	_, code, err := run(t, "work", "run", list)
	if code == 0 || !strings.Contains(err.Error(), "001.nc") || !strings.Contains(err.Error(), "004.nc") {
		t.Errorf("%d, %v", code, err)
	}
	if parts, err := filepath.Glob(filepath.Join(dir, "s.parts/*.parquet")); err != nil || len(parts) != 1 {
		t.Errorf("%q, %v", parts, err)
	}
}

// TestWorkRefuses checks that damaged slices, secrets and other versions are errors that say so.
func TestWorkRefuses(t *testing.T) {
	archive, dir := workArchive(t, 4), t.TempDir()
	list := filepath.Join(dir, "s.jsonl")
	mustRun(t, "work", "plan", "-o", list, "--files", "1", "build", filepath.Join(dir, "out.varve"), archive)
	text := readText(t, list)
	lines := strings.SplitAfter(text, "\n")
	for what, c := range map[string]struct {
		text, says string
		args       []string
	}{
		"a truncated line":    {text[:len(text)-20], "line 4", nil},
		"a missing line":      {lines[0] + lines[2], "slice 1 of 4 is missing", []string{"work", "finish", list}},
		"a repeated line":     {text + lines[2], "slice 2 is there twice", []string{"work", "finish", list}},
		"lines of other work": {lines[0] + strings.Replace(lines[1], `"work":"`, `"work":"x`, 1), "line 2 belongs to other work", nil},
		"another version":     {strings.ReplaceAll(text, versionName(), "0.0.1"), "varve 0.0.1 planned the work", nil},
		"no slice":            {"\n", "there is no slice", nil},
		"a number":            {text, `no slice "4"`, []string{"work", "run", list, "4"}},
		"another command":     {text, `cannot divide the command "append"`, []string{"work", "plan", "-o", list, "append", "o", archive}},
		"a signature": {text, "use an access file",
			[]string{"work", "plan", "-o", list, "build", "o", "https://host/a.nc?X-Amz-Signature=hidden&X-Amz-Expires=1"}},
		"a header": {text, "use an access file", []string{"work", "plan", "-o", list, "build", "o", archive, "--header", "Authorization: hidden"}},
		"data":     {text, "", []string{"work", "plan", "-o", filepath.Join(archive, "000.nc"), "build", "o", archive}},
	} {
		writeFile(t, list, []byte(c.text))
		args := c.args
		if args == nil {
			args = []string{"work", "run", list}
		}
		out, code, err := run(t, args...)
		if code == 0 || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error()+out, "hidden") {
			t.Errorf("%s: exit code %d, %v\n%s", what, code, err, out)
		}
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
