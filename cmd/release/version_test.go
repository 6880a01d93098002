package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"varve/fixtures/machine"
)

func TestDescribe(t *testing.T) {
	machine.Find(t, "git")
	folder := t.TempDir()
	t.Setenv("GIT_COMMITTER_DATE", "1700000000 +0100")
	run := func(args ...string) {
		t.Helper()
		output(t, "git", append([]string{"-C", folder, "-c", "user.name=x", "-c", "user.email=x@localhost"}, args...)...)
	}
	commit := func() { run("commit", "-q", "--allow-empty", "-m", "x") }
	run("init", "-q")
	for _, step := range []struct {
		name    string
		change  func()
		version string // a pattern
	}{
		{"no tag", commit, `0\.0\.0-dev\+[0-9a-f]{12}`},
		{"another tag", func() { run("tag", "nightly") }, `0\.0\.0-dev\+[0-9a-f]{12}`},
		{"a tag", func() { run("tag", "v1.2.3-rc.1") }, `1\.2\.3-rc\.1`},
		{"a commit after it", commit, `1\.2\.3-rc\.1\+1\.g[0-9a-f]{12}`},
		{"a tag with a message", func() { run("tag", "-a", "-m", "x", "v1.2.3") }, `1\.2\.3`},
	} {
		step.change()
		got, err := describe(t.Context(), folder)
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if !regexp.MustCompile("^"+step.version+"$").MatchString(got.version) || len(got.commit) != 40 || !got.time.Equal(time.Unix(1_700_000_000, 0)) {
			t.Errorf("%s: got %v, want the version %s", step.name, got, step.version)
		}
	}
	commit()
	run("tag", "v2")
	if _, err := describe(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "v2-0-g") {
		t.Errorf("the tag v2: got the error %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "new.go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := describe(t.Context(), folder); err == nil || !strings.Contains(err.Error(), "new.go") {
		t.Errorf("a tree with changes: got the error %v", err)
	}
}

func TestParseTargets(t *testing.T) {
	if got, err := parseTargets(""); err != nil || !slices.Equal(got, allTargets) {
		t.Errorf("no list: got %v, %v", got, err)
	}
	if got, err := parseTargets("windows/arm64 linux/amd64"); err != nil || !slices.Equal(got, []target{{"linux", "amd64"}, {"windows", "arm64"}}) {
		t.Errorf("a list: got %v, %v", got, err)
	}
	for _, list := range []string{"plan9/amd64", "linux/amd64 linux/amd64", "linux"} {
		if got, err := parseTargets(list); err == nil {
			t.Errorf("%s: got %v and no error", list, got)
		}
	}
}
