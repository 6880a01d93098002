package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
	user := os.Getenv("XDG_CONFIG_HOME")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // a worker has another key
	for _, number := range []string{"3", "0", "3"} {
		mustRun(t, "work", "run", file("s.jsonl"), number)
	}
	t.Setenv("XDG_CONFIG_HOME", user)
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
	mustRun(t, "read", file("out.varve"), "v", "--stat") // without more permission
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
		"another command":     {text, `cannot divide the command "serve"`, []string{"work", "plan", "-o", list, "serve", "o"}},
		"an export":           {text, `cannot divide the command "export"`, []string{"work", "plan", "-o", list, "export", "table", "o", "t"}},
		"a sample":            {text, "run the command itself", []string{"work", "plan", "-o", list, "verify", "--sample", "1%", "o"}},
		"a forced copy":       {text, "run the command itself", []string{"work", "plan", "-o", list, "export", "zarr", "--force", "o", "z"}},
		"results in a bucket": {text, "give a folder", []string{"work", "plan", "-o", list, "--parts", "s3://b/p", "verify", "o"}},
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

// TestWorkOnManifest checks append, verify, compact and export zarr in slices against the commands themselves: with slices
// that run twice, and damaged results.
func TestWorkOnManifest(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	archive, more, dir := workArchive(t, 6), t.TempDir(), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for i, name := range []string{"004.nc", "005.nc"} {
		if err := os.Rename(filepath.Join(archive, name), filepath.Join(more, name)); err != nil {
			t.Fatal(i, err)
		}
	}
	work := func(list string, command ...string) string {
		t.Helper()
		plan := append([]string{"work", "plan", "-o", list, "--files", "1", "--slices", "3"}, command...)
		mustRun(t, plan...)
		if _, code, err := run(t, "work", "finish", list); code == 0 || !strings.Contains(err.Error(), "work run "+list+" 0 1") {
			t.Errorf("%q without results: %d, %v", command, code, err)
		}
		mustRun(t, "work", "run", list, "1")
		mustRun(t, "work", "run", list)
		parts, err := filepath.Glob(strings.TrimSuffix(list, ".jsonl") + ".parts/*")
		if err != nil || len(parts) < 2 {
			t.Fatalf("%q, %v", parts, err)
		}
		whole := readText(t, parts[1])
		for what, text := range map[string]string{"truncated": whole[:len(whole)/2], "of another slice": readText(t, parts[0])} {
			writeFile(t, parts[1], []byte(text))
			if _, code, err := run(t, "work", "finish", list); code == 0 || !strings.Contains(err.Error(), parts[1]) || !strings.Contains(err.Error(), ".jsonl 1\n") {
				t.Errorf("%q, %s: %d, %v", command, what, code, err)
			}
			mustRun(t, "work", "run", list)
		}
		return mustRun(t, "work", "finish", list)
	}
	out, local := file("out.varve"), file("local.varve")
	for _, name := range []string{out, local} {
		mustRun(t, "build", name, archive, "--checksum")
	}
	work(file("append.jsonl"), "append", out, more)
	mustRun(t, "append", local, more)
	mustRun(t, "work", "finish", file("append.jsonl"))
	if got, want := tablesOf(t, out), tablesOf(t, local); !slices.Equal(got, want) {
		t.Errorf("append: got tables %q, want %q", got, want)
	}
	if history := inJSON[[]historyJSON](t, "history", out, "--json"); len(history) != 2 {
		t.Errorf("%+v", history)
	}

	work(file("export.jsonl"), "export", "zarr", out, file("copy.zarr"), "--chunks", "time=2", "--codec", "zstd")
	mustRun(t, "export", "zarr", local, file("local.zarr"), "--chunks", "time=2", "--codec", "zstd")
	got, want := filesBelow(t, file("copy.zarr")), filesBelow(t, file("local.zarr"))
	delete(got, ".varve/copy.json") // names the snapshot
	delete(want, ".varve/copy.json")
	if !maps.Equal(got, want) {
		t.Errorf("the copies have other files: %d and %d", len(got), len(want))
	}

	if said := work(file("verify.jsonl"), "verify", out, "--deep"); !strings.Contains(said, "6 sources and 7 chunks are unchanged") {
		t.Errorf("verify: %s", said)
	}
	victim := filepath.Join(archive, "002.nc")
	info, err := os.Stat(victim)
	if err != nil {
		t.Fatal(err)
	}
	data := []byte(readText(t, victim))
	data[len(data)-3] ^= 1
	writeFile(t, victim, data)
	if err := os.Chtimes(victim, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	list := file("again.jsonl")
	mustRun(t, "work", "plan", "-o", list, "--slices", "3", "verify", out, "--deep")
	mustRun(t, "work", "run", list)
	_, code, err := run(t, "work", "finish", list)
	_, wantCode, wantErr := run(t, "verify", out, "--deep")
	if code != wantCode || code != exitSource || !strings.Contains(err.Error(), "002.nc") || !strings.Contains(wantErr.Error(), "002.nc") {
		t.Errorf("a damaged source: exit code %d, %v\nwant %d, %v", code, err, wantCode, wantErr)
	}
}

// TestWorkCompact checks that slices of compact leave the same chunks as the command itself.
func TestWorkCompact(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	archive := filepath.Join(dir, "archive")
	for i := range 6 {
		f := classic.File{
			Dims: []classic.Dim{{Name: "time", Length: 1 + i%3, Records: true}, {Name: "x", Length: 2}},
			Vars: []classic.Var{
				{Name: "time", Dims: []string{"time"}, Data: []float64{float64(10 * i), float64(10*i + 1), float64(10*i + 2)}[:1+i%3]},
				{Name: "v", Dims: []string{"time", "x"}, Data: make([]int16, 2*(1+i%3)), Attributes: []classic.Attribute{{Name: "scale_factor", Value: [][]float64{{0.5}, {1}}[i%2]}}},
			},
		}
		if err := errors.Join(os.MkdirAll(archive, 0o777), f.Write(filepath.Join(archive, fmt.Sprintf("%03d.nc", i)))); err != nil {
			t.Fatal(err)
		}
	}
	out, local, list := filepath.Join(dir, "out.varve"), filepath.Join(dir, "local.varve"), filepath.Join(dir, "s.jsonl")
	for _, name := range []string{out, local} {
		mustRun(t, "build", name, archive)
	}
	mustRun(t, "work", "plan", "-o", list, "--slices", "4", "compact", out)
	mustRun(t, "work", "run", list)
	mustRun(t, "work", "finish", list)
	mustRun(t, "work", "finish", list)
	if done := inJSON[struct{ Chunks int }](t, "compact", local, "--json"); done.Chunks == 0 {
		t.Error("no chunk has to be re-encoded")
	}
	type counts struct {
		Arrays []struct {
			Path   string `json:"path"`
			Chunks any    `json:"chunks"`
		} `json:"arrays"`
	}
	got, want := inJSON[counts](t, "info", out, "--json"), inJSON[counts](t, "info", local, "--json")
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// filesBelow returns the contents of all files below a folder, by name.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			key, _ := filepath.Rel(dir, name)
			all[filepath.ToSlash(key)] = readText(t, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
